package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/memory/search"
	"cairn/testkit/check"
)

var day = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// spoken returns messages written as "HOURS AUTHOR TEXT", hours after day, separated by " | ". "fill HOURS" is eight messages
// about nothing that is asked for, an hour apart; the bot is an assistant.
func spoken(messages string) (all talk) {
	for m := range strings.SplitSeq(messages, " | ") {
		add := func(hours float64, author, text string) {
			at := day.Add(time.Duration(hours * float64(time.Hour)))
			all = append(all, search.Message{Author: author, Text: text, Time: at, Length: len(text) / 12, Assistant: author == "bot"})
		}
		var hours float64
		var author string
		if n, _ := fmt.Sscanf(m, "fill %f", &hours); n == 1 {
			for i := range 8 {
				add(hours+float64(i), "Zoe", fmt.Sprintf("nothing of note, entry %d", i))
			}
			continue
		}
		_, _ = fmt.Sscanf(m, "%f %s", &hours, &author)
		add(hours, author, strings.SplitN(m, " ", 3)[2])
	}
	return all
}

func TestRanking(t *testing.T) {
	const (
		lake   = "0 Ann I love sailing on the lake | 30 Bob I love sailing on the lake"
		twice  = "0 Ann the meeting went well | 1680 Ann the meeting went well"
		parrot = "fill 0 | 9 Ann What is your parrot called?"
		island = "0 Ann the ferry has left for the island, so we all have to wait here at the old pier until tomorrow"
	)
	for _, test := range []struct {
		claim, said, question, asker string
		first                        int64  // which message has to come first
		part                         string // that raises it, or lowers the others
	}{
		{"an answer without the words stands behind its question", parrot + " | 9.1 Bob He listens to Captain Nemo", "what's the parrot's name", "", 10, "neighbours"},
		{"who goes on after a question of their own does not answer it", parrot + " | 9.1 Ann Mine bites", "what's the parrot's name", "", 9, "own"},
		{
			"what has the words itself comes before what stands among them",
			island + " | fill 20 | 60 Ann the ferry | 60.1 Bob it was here | 60.2 Ann which island", "ferry island", "", 1, "own",
		},
		{"who is named in the question has said it", lake, "Where does Ann go sailing?", "", 1, "speaker"},
		{"I am who asks", lake, "where do I go sailing?", "ann", 1, "speaker"},
		{"a misspelt name is still the person's", strings.Replace(lake, "Ann", "Caroline", 1), "Where does Carolien go sailing?", "", 1, "speaker"},
		{"what was said in the month that is asked for", twice, "How did the meeting go in March 2026?", "", 1, "date"},
		{"last week is told from when it is asked", twice, "How did the meeting go last week?", "", 1, "date"},
		{
			"a day leads to its messages, whatever their words",
			"0 Ann what happened yesterday was a long talk | fill 20 | 120 Ann the roof leaks | 140 Ann the sun shines", "What happened yesterday?", "", 10, "time",
		},
		{"to those of the person who is named", "118 Bob the sun shines on all of us here | 120 Ann the roof leaks", "What did Ann say yesterday?", "", 2, "time"},
		{"a day alone is a question, too", "0 Ann hello | 120 Ann the roof leaks", "yesterday", "", 2, "time"},
		{
			"how it is now is what was said last", "0 Ann the site runs its deploy on fridays | fill 20 | 60 Ann the site has its deploy on mondays",
			"Does the deploy of the site still run?", "", 10, "newer",
		},
		{
			"who asks when wants a time", "0 Ann we visited the museum last weekend | 30 Ann we visited the museum with lots of friends",
			"When did they visit the museum?", "", 1, "date",
		},
		{"statements come before questions", "0 Ann the ferry leaves at nine | 30 Ann the ferry leaves at nine?", "ferry", "", 1, ""},
		{"a question in Arabic is one, too", "fill 0 | 9 Ann القطار يغادر غدا | 57 Ann القطار يغادر غدا؟", "متى يغادر القطار", "", 9, ""},
		{
			"what people say of themselves is theirs in other languages, too", "0 Ann поезд уходит | fill 20 | 60 Bob поезд уходит",
			"когда уходит мой поезд", "Ann", 1, "speaker",
		},
		{
			"what people said comes before what the bot made of it",
			"0 Ann the lighthouse is white | 0 bot the lighthouse: the lighthouse is white", "lighthouse", "", 1, "",
		},
		{
			"what names something comes first",
			"0 Ann we read a novel, it was Middlemarch I think | 30 Ann we read a novel, it was very long I think", "which novel did they read", "", 1, "names",
		},
	} {
		t.Run(test.claim, func(t *testing.T) {
			said := spoken(test.said)
			found := search.Parse(test.question, test.asker, day.AddDate(0, 0, 6)).Messages(said, 1, int64(len(said)), 5)
			check.Require(t, len(found) != 0 && found[0].Seq == test.first, "got %+v", found)
			lifted := slices.ContainsFunc(found[0].Parts, func(p search.Part) bool { return p.Name == test.part && p.Value > 0 })
			check.That(t, lifted || test.part == "", "%s has no effect: %+v", test.part, found[0].Parts)
		})
	}
}

func TestTalkAroundTheBestMessageComesFirst(t *testing.T) {
	said := spoken("0 Ann the roof leaks above the workbench | fill 1 | 5 Bob the roof needs slate | fill 60 | 120 Bob the roof needs slate")
	found := search.Parse("leaks of the roof above the workbench", "", day.AddDate(0, 0, 6)).Messages(said, 1, int64(len(said)), 30)
	at := func(seq int64) int {
		return slices.IndexFunc(found, func(h search.Hit) bool { return h.Seq == seq })
	}
	check.That(t, at(1) == 0 && at(10) > 0 && at(10) < at(19), "found %+v", found)
}
