package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cairn/internal/check"
)

// leaveRecordings writes files into a folder.
func leaveRecordings(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

func TestReadRecordings(t *testing.T) {
	dir := leaveRecordings(t, map[string]string{
		"b.jsonl": `{"id":"1:1","time":"2026-01-02T10:00:00Z","author":"Ann","text":"I moved to Turin"}
{"id":"1:2","time":"2026-01-02T10:01:00Z","author":"Bob","text":"Look","attachments":[{"kind":"image","caption":"a bridge"}]}`,
		"b.qa.jsonl": `{"question":"Where is Ann?","answer":"Turin","evidence":["1:1","1:1"],"category":4}
{"question":"How many?","answer":2,"evidence":["1:2; 1:1","9:9"],"category":1}
{"question":"Why?","evidence":[],"category":5}`,
		"a.jsonl": "", "a.qa.jsonl": "",
	})
	all, err := readRecordings(dir)
	check.Require(t, err == nil && len(all) == 2 && all[0].name == "a" && all[1].name == "b", "%+v, %v", all, err)
	b := all[1]
	for i, want := range [][]int64{{1}, {1, 2}, nil} {
		if !slices.Equal(b.asked[i].seqs, want) {
			t.Errorf("question %d: evidence %v, want %v", i, b.asked[i].seqs, want)
		}
	}
	if b.asked[0].AnswerText() != "Turin" || b.asked[1].AnswerText() != "2" || b.asked[2].AnswerText() != "" {
		t.Error("answers are texts, whatever they were")
	}
	if past := b.said; len(past) != 2 || past[1].Author != "Bob" || past[1].Attachments[0].Caption != "a bridge" || past[0].Time.Hour() != 10 {
		t.Errorf("%+v", past)
	}
}

func TestFoldersThatHoldNoRecordings(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"nothing":         {nil, "NAME.qa.jsonl"},
		"questions alone": {map[string]string{"a.qa.jsonl": ""}, "open a.jsonl"},
		"no JSON":         {map[string]string{"a.qa.jsonl": "", "a.jsonl": "{}\nhello"}, "object 2"},
	} {
		if _, err := readRecordings(leaveRecordings(t, test.files)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
