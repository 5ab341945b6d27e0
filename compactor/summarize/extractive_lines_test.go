package summarize

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/chat"
	"cairn/llm"
	"cairn/testkit/check"
)

// A sentence rests on the message it was taken from, however many others say the same.
func TestLineOfExtractRestsOnItsMessages(t *testing.T) {
	day := time.Date(2026, 5, 8, 9, 0, 0, 0, time.UTC)
	var messages []chat.Message
	for n, text := range []string{"ok", "ok", "The ferry to the north pier leaves at noon.", "ok", "Bring the red lamp."} {
		author := []string{"Ada", "Bob"}[n%2]
		messages = append(messages, chat.Message{Seq: int64(n + 1), Turn: int64(n + 1), Time: day, Role: llm.RoleUser, Author: author, AuthorID: author, Text: text})
	}
	s := Extract(messages, 200, 0, "")
	lines := strings.Split(s.Text, "\n")
	rests := map[string]string{}
	for _, l := range s.Lines {
		speaker, _, _ := strings.Cut(lines[l.At], ":")
		rests[speaker] = fmt.Sprint(l.Seqs)
	}
	check.Equal(t, "a line with a day", lines[0], "8 May 2026:")
	check.Equal(t, "of Ada", rests["Ada"], "[3 5]")
	check.That(t, rests["Bob"] == "" || rests["Bob"] == "[2]" || rests["Bob"] == "[4]", "of Bob: %s\n%s", rests["Bob"], s.Text)
}

// Short answers are joined to one line of an extract, and each of them alone says too little to be found again.
func TestExtractOfShortSentencesRestsOnThem(t *testing.T) {
	var messages []chat.Message
	day := time.Date(2026, 5, 8, 9, 0, 0, 0, time.UTC)
	for n := range 10 {
		m := chat.Message{Seq: int64(n + 1), Turn: int64(n + 1), Time: day, Role: llm.RoleUser, Author: "Ada", AuthorID: "a"}
		m.Text = fmt.Sprintf("note %d the tea of the north pier is cold again", n)
		if n%2 == 1 {
			m.Role = llm.RoleAssistant
			m.Author = ""
			m.AuthorID = ""
			m.Text = fmt.Sprint("answer ", n)
		}
		messages = append(messages, m)
	}
	s := Extract(messages, 100, 0, "")
	check.That(t, len(s.Lines) >= 2, "got %d lines of %q", len(s.Lines), s.Text)
	for _, l := range s.Lines {
		check.That(t, l.HasEvidence(), "%q rests on nothing", strings.Split(s.Text, "\n")[l.At])
	}
}
