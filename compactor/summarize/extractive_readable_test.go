package summarize

import (
	"strings"
	"testing"

	"cairn/internal/tokens"
	"cairn/testkit/check"
)

// What a person reads of invented talk. Before, the first was "Ada: I rented garden at canal. It has two apple trees. Sold piano
// last week." and the second "Finn: Pump broke yesterday (3 March), so we fix it tomorrow (5 March)."
func TestExtractIsReadable(t *testing.T) {
	for claim, c := range map[string]struct {
		said []string
		want string
	}{
		"whole sentences, with the one that says what it is; no small talk": {
			[]string{"Ada: Wow, Bo! I just rented the garden at the canal. It has two old apple trees.", "Bo: That's great!", "Ada: By the way, I sold the piano last week."},
			"4 March 2024:\nAda: I just rented the garden at the canal. It has two old apple trees. By the way, I sold the piano last week. (#1, #3)",
		},
		"times in the words of their messages": {
			[]string{"Finn: The pump at the mill broke yesterday, so we fix it tomorrow.", "Lea: The miller Jo pays for the new valve."},
			"4 March 2024:\nFinn: The pump at the mill broke yesterday, so we fix it tomorrow. (#1)\nLea: The miller Jo pays for the new valve. (#2)",
		},
	} {
		check.Equal(t, claim, Extract(said(c.said...), 200, 0, "").Text, c.want)
	}
}

func TestSentenceIsNotParted(t *testing.T) {
	talk := said("Ada: Our garden at the canal is small. It has two old apple trees, and a hut of 1911.", "Bo: It opens in Lisbon on Friday with 40 boats.", "Bo: My sister Ida repairs cellos.")
	for target := 12; target < 90; target++ {
		text := Extract(talk, target, 0, "hut apple").Text
		check.That(t, !strings.Contains(text, "It has") || strings.Contains(text, "small. It has"), "at %d tokens a sentence is without the one that it needs:\n%s", target, text)
	}
	check.Lacks(t, "what says nothing alone", Extract(talk, 50, 0, "").Text, "It opens")
}

func TestLongSentenceEndsAfterAClause(t *testing.T) {
	long := "The harbour of Faro has 1,200 berths" + strings.Repeat(", each with a lamp of red glass", 40) + "."
	short := firstClauses(long)
	check.HasPrefix(t, "shortened", short, "The harbour of Faro has 1,200 berths, each with")
	check.That(t, strings.HasSuffix(short, "a lamp of red glass…") && tokens.Estimate(short) <= maxSentence+1, "got %q", short)
	check.That(t, strings.HasSuffix(firstClauses(strings.Repeat("whale ", 200)), "whale…"), "a word is parted")
	check.Equal(t, "a sentence that fits", firstClauses("I live in Faro, Portugal."), "I live in Faro, Portugal.")
}

func TestDanglingSentences(t *testing.T) {
	for text, want := range map[string]bool{
		"It has two trees.": true, "That's great!": true, "She’s a nurse.": true, "Their boat sank.": true,
		"This week I paint.": false, "That Friday we left.": false, "Items are sold.": false, "I like it.": false, "": false,
	} {
		check.Equal(t, text, dangles(text), want)
	}
}
