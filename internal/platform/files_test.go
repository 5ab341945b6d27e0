package platform

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"cairn/channel"
	"cairn/internal/check"
	"cairn/words/wordstest"
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
		check.That(t, len(a.Text) <= 600 && (a.URL != "text" || a.Text != ""), "%s has %d characters, which is no third of 60 tokens", a.Name, len(a.Text))
	}
	check.Equal(t, "pictures", pictures, MaxPictures)
	check.That(t, !(Files{}).Wanted(all[0]) && !(Files{}).Wanted(all[len(all)-1]), "something is fetched without a budget")
}

func TestAFileIsTextByItsNameWhateverItsMediaType(t *testing.T) {
	for want, files := range map[bool]map[string]string{
		true:  {"door.ts": "video/mp2t", "a.py": "application/x-python-code", "main.rs": "application/rls-services+xml", "notes": "text/plain; charset=utf-8"},
		false: {"film.mp4": "video/mp4", "notes.zip": "application/zip", "log.md": "image/png"},
	} {
		for name, kind := range files {
			check.Equal(t, name+" is text", isText(channel.Attachment{Type: kind, Name: name}), want)
		}
	}
}

func TestTextFilesAreReadInTheEncodingsOfWindows(t *testing.T) {
	const text = "Größe;Menge;Straße\nfür die Küche über drei Türen;4;Müller\n"
	read := func(data []byte) string {
		f := Files{Tokens: 500, Fetch: func(context.Context, string, int) ([]byte, error) { return data, nil }}
		return check.Must(f.Complete(t.Context(), []channel.Attachment{{Name: "a.csv", URL: "x"}}))(t)[0].Text
	}
	for name, e := range map[string]encoding.Encoding{
		"UTF-8": unicode.UTF8, "UTF-8 with a byte order mark": unicode.UTF8BOM, "Western Europe": charmap.Windows1252,
		"PowerShell's UTF-16": unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), "big-endian UTF-16": unicode.UTF16(unicode.BigEndian, unicode.UseBOM),
	} {
		check.Equal(t, name, read(check.Must(e.NewEncoder().Bytes([]byte(text)))(t)), text)
	}
	check.Equal(t, "an archive is not text", read([]byte("PK\x03\x04\x00\x00\xff\xfe\x80")), "")
	check.Equal(t, "noise is not text", read([]byte("\x00\x01\xfe\xff\x00")), "")
	check.Equal(t, "UTF-8 with a flaw", read([]byte(text+"a broken \xe4, and the beginning of \xe2\x82")), text+"a broken , and the beginning of ")
}

func FuzzDecodeText(f *testing.F) {
	for _, text := range wordstest.Texts() {
		f.Add([]byte(text))
	}
	f.Add([]byte("\xff\xfeH\x00i\x00"))
	f.Add([]byte("Stra\xdfe"))
	f.Fuzz(func(t *testing.T, data []byte) {
		text := decodeText(data)
		if !utf8.ValidString(text) || utf8.Valid(data) && text != strings.TrimPrefix(string(data), "\ufeff") {
			t.Fatalf("%q is read as %q", data, text)
		}
	})
}
