package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"cairn/channel"
)

// BenchmarkAPI measures answers with 1 000 conversations and 100 000 messages, a tenth of them in
// one conversation.
func BenchmarkAPI(b *testing.B) {
	r := newRig(b, rigOptions{window: 64_000})
	fillStore(b, r)
	large := at("terminal:0000", "")
	for _, path := range []string{
		list, list + "?q=terminal:05", large, large + "/messages", large + "/messages?q=tulips+of+plot+77", large + "/history", large + "/summaries",
		large + "/usage", "/api/memories", "/api/recall?q=tulips&conversation=terminal:0000", "/api/usage",
	} {
		b.Run(path, func(b *testing.B) {
			for b.Loop() {
				req := httptest.NewRequestWithContext(b.Context(), http.MethodGet, path, nil)
				req.Host, req.RemoteAddr = "localhost", "127.0.0.1:1"
				r.forgetGuesses()
				answered := httptest.NewRecorder()
				r.server.Handler().ServeHTTP(answered, req)
				if answered.Code != http.StatusOK {
					b.Fatal(answered.Code, answered.Body)
				}
			}
		})
	}
}

// fillStore imports the messages.
func fillStore(b *testing.B, r *rig) {
	b.Helper()
	began := time.Now().Add(-24 * time.Hour)
	for n := range 1000 {
		c := must(r.store.Conversation(b.Context(), fmt.Sprintf("terminal:%04d", n)))
		messages := 90
		if n == 0 {
			messages = 10_000
		}
		var past []channel.Inbound
		for i := range messages {
			past = append(past, channel.Inbound{
				ID: fmt.Sprint(i), AuthorID: "ada", Author: "Ada", Time: began.Add(time.Duration(i) * time.Second),
				Text: fmt.Sprintf("The tulips of plot %d need water, said the note at gate %d.", i, n),
			})
		}
		must(c.Past().Import(b.Context(), past))
	}
}
