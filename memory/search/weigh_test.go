package search_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/memory/search"
)

var day = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// spoken returns a message by author, sent hours after day.
func spoken(hours float64, author, text string) search.Message {
	return search.Message{Author: author, Text: text, Time: day.Add(time.Duration(hours * float64(time.Hour))), Length: len(text) / 12}
}

// filling returns n messages about nothing that is asked for, from hours after day on, an hour
// apart.
func filling(n int, hours float64) (all talk) {
	for i := range n {
		all = append(all, spoken(hours+float64(i), "Zoe", fmt.Sprintf("nothing of note, entry %d", i)))
	}
	return all
}

// ranking is a question, and which message has to come first.
type ranking struct {
	claim           string
	said            talk
	question, asker string
	first           int64
	part            string // that raises it, or lowers the others
}

func TestRanking(t *testing.T) {
	lake := talk{spoken(0, "Ann", "I love sailing on the lake"), spoken(30, "Bob", "I love sailing on the lake")}
	twice := talk{spoken(0, "Ann", "the meeting went well"), spoken(24*70, "Ann", "the meeting went well")}
	parrot := append(filling(8, 0), spoken(9, "Ann", "What is your parrot called?"))
	const island = "the ferry has left for the island, so we all have to wait here at the old pier until tomorrow"
	for _, test := range []ranking{
		{
			"an answer without the words stands behind its question",
			append(slices.Clone(parrot), spoken(9.1, "Bob", "He listens to Captain Nemo")), "what's the parrot's name", "", 10, "neighbours",
		},
		{
			"who goes on after a question of their own does not answer it",
			append(slices.Clone(parrot), spoken(9.1, "Ann", "Mine bites")), "what's the parrot's name", "", 9, "own",
		},
		{
			"what has the words itself comes before what stands among them",
			slices.Concat(talk{spoken(0, "Ann", island)}, filling(8, 20), talk{
				spoken(60, "Ann", "the ferry"), spoken(60.1, "Bob", "it was here"), spoken(60.2, "Ann", "which island"),
			}), "ferry island", "", 1, "own",
		},
		{"who is named in the question has said it", lake, "Where does Ann go sailing?", "", 1, "speaker"},
		{"I am who asks", lake, "where do I go sailing?", "ann", 1, "speaker"},
		{
			"a misspelt name is still the person's",
			talk{spoken(0, "Caroline", "I love sailing on the lake"), lake[1]},
			"Where does Carolien go sailing?", "", 1, "speaker",
		},
		{"what was said in the month that is asked for", twice, "How did the meeting go in March 2026?", "", 1, "date"},
		{"last week is told from when it is asked", twice, "How did the meeting go last week?", "", 1, "date"},
		{
			"who asks when wants a time",
			talk{spoken(0, "Ann", "we visited the museum last weekend"), spoken(30, "Ann", "we visited the museum with lots of friends")},
			"When did they visit the museum?", "", 1, "date",
		},
		{
			"statements come before questions",
			talk{spoken(0, "Ann", "the ferry leaves at nine"), spoken(30, "Ann", "the ferry leaves at nine?")},
			"ferry", "", 1, "",
		},
		{
			"a question in Arabic is one, too",
			append(filling(8, 0), spoken(9, "Ann", "القطار يغادر غدا"), spoken(9+48, "Ann", "القطار يغادر غدا؟")), "متى يغادر القطار", "", 9, "",
		},
		{
			"what people say of themselves is theirs in other languages, too",
			slices.Concat(talk{spoken(0, "Ann", "поезд уходит")}, filling(8, 20), talk{spoken(60, "Bob", "поезд уходит")}),
			"когда уходит мой поезд", "Ann", 1, "speaker",
		},
		{
			"what people said comes before what the bot made of it",
			talk{spoken(0, "Ann", "the lighthouse is white"), {Author: "bot", Text: "the lighthouse: the lighthouse is white", Time: day, Assistant: true}},
			"lighthouse", "", 1, "",
		},
		{
			"what names something comes first",
			talk{spoken(0, "Ann", "we read a novel, it was Middlemarch I think"), spoken(30, "Ann", "we read a novel, it was very long I think")},
			"which novel did they read", "", 1, "names",
		},
	} {
		t.Run(test.claim, func(t *testing.T) {
			found := search.Parse(test.question, test.asker, day.AddDate(0, 0, 6)).Messages(test.said, 1, int64(len(test.said)), 5)
			check.Require(t, len(found) != 0 && found[0].Seq == test.first, "got %+v", found)
			lifted := slices.ContainsFunc(found[0].Parts, func(p search.Part) bool { return p.Name == test.part && p.Value > 0 })
			check.That(t, lifted || test.part == "", "%s has no effect: %+v", test.part, found[0].Parts)
		})
	}
}
