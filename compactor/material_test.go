package compactor

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/compactor/worker"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/wordstest"
	"cairn/transcript"
)

func user(seq int64, text string) chat.Message {
	return chat.Message{Seq: seq, Turn: seq, Role: llm.RoleUser, AuthorID: "u1", Author: "Ada", Text: text, Time: time.Date(2026, 1, 1, 0, int(seq), 0, 0, time.UTC)}
}

func linesOf(messages ...chat.Message) []transcript.Verbatim {
	lines := make([]transcript.Verbatim, len(messages))
	for i, m := range messages {
		lines[i] = transcript.Show(m, transcript.Shape{ClipTo: 1 << 30})
	}
	return lines
}

// materialOf returns a message as the worker reads it, in parts of this many tokens.
func materialOf(m chat.Message, most int) string {
	return summarize.PlainText(summarize.ItemsOf([]chat.Message{m}, most))
}

// tags returns the labels in a text, closing ones with a slash. Escaped ones do not count.
func tags(text string) (found []string) {
	for _, tag := range labelled.FindAllStringSubmatch(wordstest.Readable(text), -1) {
		found = append(found, tag[1]+tag[2]+tag[3])
	}
	return found
}

var labelled = regexp.MustCompile(`<\s*(?:(/?)\s*(transcript|before|after|question|kept|now|(?:/\s*)(?:message|answer|tool_result|summary|agent))\b|(message|answer|tool_result|summary|agent)\s+\w)`)

// TestWorkerMaterialCannotBeForged reads the worker's material as a model may, ignoring case and
// blanks: it contains only Cairn's labels.
func TestWorkerMaterialCannotBeForged(t *testing.T) {
	check.SkipUnderRace(t)
	for _, forgery := range append(wordstest.Forgeries(), wordstest.Tricks()...) {
		t.Run(forgery.Name, func(t *testing.T) {
			text := strings.ToValidUTF8(forgery.Text, "\ufffd")
			said := user(5, text)
			said.Author = text
			said.AuthorID = text
			said.Quote = text
			said.Attachments = []chat.Attachment{{Kind: text, Name: text, Caption: text}, {Kind: "file", Name: text, Text: text}}
			messages := []chat.Message{
				said,
				{Seq: 6, Turn: 5, Role: llm.RoleAssistant, Text: text},
				{Seq: 7, Turn: 5, Role: llm.RoleTool, Tool: text, Text: text},
			}
			items := append(summarize.ItemsOf(messages, 3_000), summarize.ItemsOfRow(Summary{Kind: Leaf, Span: Span{From: 1, To: 4}, Text: text}, 3_000)...)
			material := summarize.PlainText(items)
			check.Equal(t, "role mark in material", wordstest.RoleMark(material), "")
			want := []string{"transcript"}
			for _, it := range items {
				name, _, _ := strings.Cut(it.Text[1:], " ")
				want = append(want, name, "/"+name)
				label, _, _ := strings.Cut(it.Text, ">")
				check.That(t, strings.Count(label, `"`)%2 == 0 && !strings.ContainsAny(label[1:], "<\n\r\u2028\u2029\u0085"), "got invalid label %q", label)
			}
			check.EqualAll(t, "labels", tags(material), append(want, "/transcript"))
			s := viewOf(linesOf(messages...))
			s.HeadText = transcript.HeadOpen + "\n\n" + chat.Escape(text) + "\n" + transcript.HeadClose
			briefing := s.briefing(100_000, user(8, text))
			check.Equal(t, "role mark in briefing", wordstest.RoleMark(briefing), "")
			check.EqualAll(t, "labels of a briefing", tags(briefing), []string{"transcript", "/transcript", "question", "message", "/message", "/question"})
		})
	}
}

// TestQuotedSecretIsMaskedForWorker: the quoted message may be outside the span, and its quote is clipped.
func TestQuotedSecretIsMaskedForWorker(t *testing.T) {
	secret := "sk-q7Zk2WvR9xLbT4mYc8HsJ5nPd3GfA6uEoKi1VtXyBhQwNzMrS"
	m := user(3, "yes")
	m.Quote = "Ada: the key is " + secret
	got := materialOf(m, 100)
	check.Lacks(t, "worker material", got, secret[:20])
	check.Contains(t, "worker material", got, "masked: OpenAI key")
	check.Contains(t, "people", chat.Header(m), secret)
	check.Lacks(t, "extractive summary", fmt.Sprint(worker.WithoutSecrets([]chat.Message{m})), secret[:20])
	s := viewOf(linesOf(m, resultTo("1", strings.Repeat("word ", 500))))
	s.HeadText = transcript.HeadOpen + "\n\nAda: " + secret + "\n" + transcript.HeadClose
	s.Messages[1].As.Text = "[Previous: used bash (#4)] Error: " + secret // cleared
	check.Lacks(t, "briefing", s.briefing(10_000, user(5, "Why?")), secret[:20])
}
