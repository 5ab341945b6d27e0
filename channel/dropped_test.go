package channel

import (
	"testing"
	"time"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/llm"
	"cairn/prompts"
	"cairn/testkit/check"
)

// Whatever the language, people read in it why a line of a summary was dropped.
func TestReasonsOfDroppedLinesAreTranslated(t *testing.T) {
	at := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	judge := summarize.JudgeOf(summarize.ItemsOf([]chat.Message{
		{Seq: 1, Turn: 1, Time: at, Author: "Ada", AuthorID: "Ada", Role: llm.RoleUser, Text: "The parish hall costs 48,000 EUR to renovate, says the architect."},
		{Seq: 2, Turn: 2, Time: at, Author: "Ben", AuthorID: "Ben", Role: llm.RoleUser, Text: "I talk to the bank on 9 March about the loan."},
		{Seq: 3, Turn: 3, Time: at, Author: "Ada", AuthorID: "Ada", Role: llm.RoleUser, Text: "Could we keep the old oak doors? I like them, and the roof has 3 leaks."},
		{Seq: 4, Turn: 4, Time: at, Author: "Ben", AuthorID: "Ben", Role: llm.RoleUser, Text: "Yes, we can, and I will ask for the permit, which takes six weeks."},
	}, summarize.MostOfMessage))
	for _, line := range []string{
		"- The renovation of the parish hall costs 99,000 EUR (#1).",
		"- Ben talks to the bank about the loan on 19 April (#2).",
		"- The parish hall is to be renovated (#99).",
		"- Ada talks to the bank about the loan (#2).",
		"- Zacharias wants to keep the old oak doors (#3).",
	} {
		wrong := judge.Check("- Ben talks to the bank (#2).\n" + line).Wrong
		check.Len(t, line, wrong, 1)
		for _, code := range prompts.Languages {
			there := Translated(code, wrong[0].Why)
			if code != prompts.English {
				check.That(t, there != wrong[0].Why, "in %s it stays English: %s", code, there)
			}
		}
	}
}
