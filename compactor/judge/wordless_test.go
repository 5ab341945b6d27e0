package judge

import (
	"strings"
	"testing"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/llm"
	"cairn/testkit/check"
)

// A part of a long message may have no words at all. A summary of it can only say what it looks like.
func TestSummaryOfSpanWithoutWords(t *testing.T) {
	m := chat.Message{Seq: 63, Role: llm.RoleUser, Author: "Ada", AuthorID: "u1", Text: strings.Repeat("- ", 4000)}
	j := Of(summarize.ItemsOf([]chat.Message{m}, summarize.MaxMessage))
	for text, want := range map[string]Refusal{
		"Summary 38 of messages #63 to #63, in Ada's words.": "",
		"I can't summarize these messages.":                  RefusedDeclined,
	} {
		check.Equal(t, text, j.Refuses(text, "", "", 1000), want)
	}
}
