package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"cairn/words/wordstest"
)

// FuzzRecord reads any line of a recorded conversation.
func FuzzRecord(f *testing.F) {
	for _, line := range []string{
		`{"id":"D1:1","time":"2023-05-08T13:56:00Z","author":"Ada","text":"Look!","attachments":[{"kind":"image","caption":"a dog"}]}`,
		"", "null", "[]", `{"id":1}`, `{"id":"a","time":"never"}`, `{"id":"a","author":"b","text":"c"}`, `{"id":"\ud800","time":"0001-01-01T00:00:00Z","author":" ","text":""}`, strings.Repeat("[", 9999),
	} {
		f.Add([]byte(line))
	}
	for _, text := range wordstest.Texts() {
		f.Add([]byte(`{"id":"` + text + `","time":"2023-05-08T13:56:00Z","author":"` + text + `","text":"` + text + `"}`))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var m record
		err := parseLine(line, &m)
		if err == nil {
			err = m.check()
		}
		switch {
		case err != nil && err.Error() == "":
			t.Fatal("no words")
		case err == nil && (m.ID == "" || strings.TrimSpace(m.Author) == "" || m.Time.IsZero() || strings.TrimSpace(m.Text) == "" && len(m.Attachments) == 0):
			t.Fatalf("%q: got %+v", line, m)
		case err == nil && !utf8.ValidString(m.Text+m.Author+m.ID):
			t.Fatalf("%q: invalid text: %+v", line, m)
		}
	})
}
