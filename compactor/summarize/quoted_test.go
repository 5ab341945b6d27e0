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

// Short answers are joined to one line of an extract, and each of them alone says too little to be found again.
func TestExtractOfShortSentencesRestsOnThem(t *testing.T) {
	var messages []chat.Message
	day := time.Date(2026, 5, 8, 9, 0, 0, 0, time.UTC)
	for n := range 10 {
		m := chat.Message{Seq: int64(n + 1), Turn: int64(n + 1), Time: day, Role: llm.RoleUser, Author: "Ada", AuthorID: "a"}
		m.Text = fmt.Sprintf("note %d the tea of the north pier is cold again", n)
		if n%2 == 1 {
			m.Role, m.Author, m.AuthorID, m.Text = llm.RoleAssistant, "", "", fmt.Sprint("answer ", n)
		}
		messages = append(messages, m)
	}
	s := Extract(messages, 100, 0, "")
	lines := WithQuoted(s.Text, JudgeOf(ItemsOf(messages, MostOfMessage)).Lines(s.Text), messages)
	check.That(t, len(lines) >= 2, "got %d lines of %q", len(lines), s.Text)
	for _, l := range lines {
		check.That(t, l.HasEvidence(), "%q rests on nothing", strings.Split(s.Text, "\n")[l.At])
	}
}
