package slack

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"cairn/channel"
	"cairn/internal/platform"
)

// zeros never end by themselves.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestAFileIsReadUpToItsLimit: however long it is, and however small it was sent.
func TestAFileIsReadUpToItsLimit(t *testing.T) {
	t.Parallel()
	const size = 64 << 20
	for claim, send := range map[string]func(w http.ResponseWriter){
		"as it is": func(w http.ResponseWriter) { _, _ = io.CopyN(w, zeros{}, size) }, // the client hangs up
		"compressed": func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.CopyN(z, zeros{}, size) // likewise
			_ = z.Close()
		},
	} {
		t.Run(claim, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { send(w) }))
			defer server.Close()
			s := &Slack{api: newAPI(Options{BotToken: "xoxb-1", APIBase: server.URL + "/api/"})}
			defer s.api.close()
			data, err := s.fetch(context.Background(), server.URL+"/files-pri/a.txt", platform.MaxText)
			if err != nil || len(data) != platform.MaxText {
				t.Errorf("%d bytes were read, want %d; %v", len(data), platform.MaxText, err)
			}
			resp, err := s.api.http.Get(server.URL + "/api/conversations.history")
			if err == nil {
				_ = resp.Body.Close()
				t.Errorf("an answer of more than %d bytes was read", channel.MaxAnswer)
			}
		})
	}
}
