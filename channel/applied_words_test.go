package channel

import (
	"testing"

	"cairn/compactor"
	"cairn/internal/check"
)

// A fold of earlier summaries that is applied together with a summary adds no messages.
func TestAppliedWordsCountMessagesOnce(t *testing.T) {
	language := "en"
	c := &conversation{hub: &Hub{}}
	c.speaks.Store(&language)
	row := func(kind compactor.Kind, from, to int64) compactor.Compaction {
		return compactor.Compaction{Kind: kind, Span: compactor.Span{From: from, To: to}, Messages: int(to - from + 1), Focus: "tea"}
	}
	e := compactor.Event{From: 121, To: 130, BeforeTokens: 900, AfterTokens: 500, Window: 1000, Set: []compactor.Compaction{
		row(compactor.Rollup, 1, 100), row(compactor.Leaf, 101, 120), row(compactor.Leaf, 121, 130),
	}}
	check.Equal(t, "words", c.appliedWords(e, "tea"), "Summarized 30 messages (#101 to #130): 900 → 500 tokens of 1000.")
}
