package platform

import (
	"context"
	"errors"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/internal/check"
)

func TestThePicturesAndTextsOfOneMessageAreBounded(t *testing.T) {
	long := channel.Attachment{Name: "a.txt", Type: "text/plain", URL: "text"}
	all := []channel.Attachment{long, long, {Name: "gone.txt", URL: "gone"}, {Name: "b.zip", Type: "application/zip", URL: "zip"}}
	for range MaxPictures + 1 {
		all = append(all, channel.Attachment{Name: "p.png", Type: "image/png", URL: "picture"})
	}
	fetched := map[string]int{}
	f := Files{Tokens: 60, Pictures: true, Fetch: func(_ context.Context, url string, limit int) ([]byte, error) {
		fetched[url]++
		switch {
		case url == "gone":
			return nil, errors.New("no answer")
		case url == "text" && limit == MaxText:
			return []byte(strings.Repeat("alpha ", 500)), nil
		}
		return []byte("\x89PNG\r\n\x1a\n"), nil
	}}
	got, err := f.Complete(t.Context(), all)
	check.ErrorContains(t, "the error", err, "fetch gone.txt")
	check.Equal(t, "fetches", fetched["text"]*100+fetched["picture"]*10+fetched["zip"], 200+10*MaxPictures)
	pictures := 0
	for _, a := range got {
		if len(a.Data) > 0 {
			pictures++
		}
		if len(a.Text) > 600 || a.URL == "text" && a.Text == "" {
			t.Errorf("%s has %d characters, which is no third of 60 tokens", a.Name, len(a.Text))
		}
	}
	check.Equal(t, "pictures", pictures, MaxPictures)
}

func TestAFileIsTextByItsNameWhateverItsMediaType(t *testing.T) {
	for _, c := range []struct {
		kind, name string
		want       bool
	}{
		{"video/mp2t", "door.ts", true},
		{"application/x-python-code", "a.py", true},
		{"application/rls-services+xml", "main.rs", true},
		{"text/plain; charset=utf-8", "notes", true},
		{"video/mp4", "film.mp4", false},
		{"application/zip", "notes.zip", false},
		{"image/png", "log.md", false},
	} {
		if got := isText(channel.Attachment{Type: c.kind, Name: c.name}); got != c.want {
			t.Errorf("%s, %s: text %v", c.name, c.kind, got)
		}
	}
}
