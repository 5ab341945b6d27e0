package summarize

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/chat"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/transcript"
)

func TestShortSentenceQuotesItsSpeaker(t *testing.T) {
	var messages []chat.Message
	for n := range 5000 {
		m := chat.Message{Seq: int64(n + 1), Role: llm.RoleUser, Author: "Ada", Text: "ok"}
		if n%2 == 1 {
			m.Author = "Bob"
		}
		messages = append(messages, m)
	}
	lines := WithQuoted("Bob: ok", []transcript.Line{{}}, messages)
	check.That(t, len(lines[0].Seqs) > 0 && len(lines[0].Seqs) <= mostQuoted, "got %d messages", len(lines[0].Seqs))
	for _, seq := range lines[0].Seqs {
		check.Equal(t, "author of the message", messages[seq-1].Author, "Bob")
	}
}

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

func TestFoldWithoutModelRestsOnWhatItsRowsRestOn(t *testing.T) {
	row := transcript.Summary{By: transcript.Worker, Span: transcript.Span{From: 1, To: 9}, Text: "- Ada sails to the north pier on Monday\n- Bob mends the red boat"}
	row.Lines = []transcript.Line{{At: 0, Seqs: []int64{3, 4}}, {At: 1}}
	messages := []chat.Message{WrittenOf(row)}
	s := Extract(messages, 200, 0, "")
	lines := JudgeOf(ItemsOf(messages, MostOfMessage)).Lines(s.Text)
	lines = WithFolded(s.Text, lines, []transcript.Summary{row})
	check.Equal(t, "text", s.Text, row.Text)
	check.Equal(t, "lines", fmt.Sprint(lines), fmt.Sprint(row.Lines))
}
