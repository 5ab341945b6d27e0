package command

import (
	"testing"

	"cairn/channel/sentences"
	"cairn/compactor"
	"cairn/testkit/check"
)

// A fold of earlier summaries that is applied together with a summary adds no messages.
func TestAppliedWordsCountMessagesOnce(t *testing.T) {
	row := func(kind compactor.Kind, from, to int64) compactor.Summary {
		return compactor.Summary{Kind: kind, Span: compactor.Span{From: from, To: to}, Messages: int(to - from + 1), Focus: "tea"}
	}
	e := compactor.Event{From: 121, To: 130, BeforeTokens: 900, AfterTokens: 500, Window: 1000, Set: []compactor.Summary{
		row(compactor.Rollup, 1, 100), row(compactor.Leaf, 101, 120), row(compactor.Leaf, 121, 130),
	}}
	check.Equal(t, "words", appliedWords(sentences.Speaker{}, e, "tea"), "Summarized 30 messages (#101 to #130): 900 → 500 tokens of 1000.")
}

func TestUnknownCommandIsNotGuessedFromItsSlash(t *testing.T) {
	for name, want := range map[string]string{"contxt": "Did you mean /context?", "bogus": "no command /bogus. /help"} {
		_, err := Find(name)
		check.Contains(t, name, err.Error(), want)
	}
}
