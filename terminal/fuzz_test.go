package terminal

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"cairn/words/wordstest"
)

// FuzzRequest parses any line of the protocol: it is rejected with a message, or has everything a
// message needs.
func FuzzRequest(f *testing.F) {
	for _, text := range append(wordstest.Texts(), "hello", "/stop", " ") {
		quoted, _ := json.Marshal(text)
		f.Add(`{"text":` + string(quoted) + `,"user":` + string(quoted) + `,"channel":"c","id":"1"}`)
		f.Add(text)
	}
	f.Add(`{"channel":"general","user":"Ada","text":"hello","id":"42","time":"2026-01-31T15:04:05Z","mention":true,"dm":false}`)
	f.Add(`{"text":"a","time":null,"mention":null,"id":"\ud800"}`)
	p := newProtocol(Options{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Channel: "general", User: "Ada"})
	f.Fuzz(func(t *testing.T, text string) {
		r, err := p.parse(Line{Number: 1, Text: strings.ToValidUTF8(text, "\ufffd")})
		switch {
		case err != nil && err.Error() == "":
			t.Fatal("no words")
		case err != nil || strings.TrimSpace(text) == "":
		default:
			m := r.inbound()
			if m.ID == "" || m.Author == "" || strings.TrimSpace(m.Text) == "" || m.Time.IsZero() || !strings.HasPrefix(r.conversation, prefix) ||
				checkName("", m.ID) != nil || checkName("", m.Author) != nil || checkName("", r.Channel) != nil {
				t.Fatalf("%q: got %+v", text, r)
			}
		}
	})
}

// FuzzPrintable checks Printable's promises for any text.
func FuzzPrintable(f *testing.F) {
	for _, text := range wordstest.Texts() {
		f.Add(text, 40)
	}
	f.Fuzz(func(t *testing.T, text string, width int) {
		width = 1 + max(width, 0)%200
		shown := printable(text)
		if Printable(shown) != shown || strings.ContainsAny(shown, "\x1b\x07\r\x00\u009b\u009d\u0090\u202e\u2066") {
			t.Fatalf("%q: got %q", text, shown)
		}
		for _, rows := range []string{renderMarkdown(readable(text), width), wrap(shown, width)} {
			for _, style := range [][2]string{bold, italic, struck, code} {
				rows = strings.NewReplacer(style[0], "", style[1], "").Replace(rows)
			}
			if rows = strings.ReplaceAll(rows, "\x1b[m", ""); strings.ContainsAny(rows, "\x1b\x07\r\x00\u009b\u009d\u0090\u202e\u2066") {
				t.Fatalf("%q in rows of %d: %q", text, width, rows)
			}
		}
	})
}
