package memory_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/llm"
	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// by returns a message of a person with an id of their own.
func by(n int, hours float64, id, name, text string) store.Inbound {
	m := spoken(n, hours, name, text)
	m.AuthorID = id
	return m
}

// seqsFound returns the seqs of what a question finds.
func seqsFound(t testing.TB, c *store.Conversation, q memory.Question) (seqs []int64) {
	t.Helper()
	for _, f := range recallAll(t, c, q) {
		seqs = append(seqs, f.Seq)
	}
	return seqs
}

// answered lets the bot answer the newest turn.
func answered(t *testing.T, c *store.Conversation, turn, first int64, text string) {
	t.Helper()
	storetest.AnswerWith(t, c, storetest.Answer{Turn: turn, First: first}, map[string]llm.Result{"reply": {Text: text}})
}

func TestAskingByPersonAndTime(t *testing.T) {
	c := talked(
		t,
		by(1, 0, "7", "Ada Lovelace", "the hotel has a garden"),
		by(2, 1, "8", "Ada King", "the hotel is full"),
		by(3, 2, "9", "Bob", "which hotel?"),
		by(4, 30, "7", "ada l.", "the hotel answered"),
		by(5, 60, "9", "Bob", "I paid for the hotel"),
		by(6, 61, "5", "Will", "👍"),
	)
	at := func(hours int) time.Time { return storetest.Day.Add(time.Duration(hours) * time.Hour) }
	for _, test := range []struct {
		claim string
		q     memory.Question
		want  []int64
	}{
		{"a name is a part of two people's", memory.Question{Text: "hotel", By: "Ada", Order: "oldest"}, []int64{1, 2, 4}},
		{"a whole name means one person, under all their names", memory.Question{Text: "hotel", By: "ada LOVELACE", Order: "newest"}, []int64{4, 1}},
		{"an id", memory.Question{Text: "hotel", By: "9", Order: "oldest"}, []int64{3, 5}},
		{"a mention", memory.Question{Text: "hotel", By: "<@!9>", Order: "oldest"}, []int64{3, 5}},
		{"a mention with a name", memory.Question{Text: "hotel", By: "<@9|bob>", Order: "oldest"}, []int64{3, 5}},
		{"a name with @", memory.Question{Text: "hotel", By: " @bob", Order: "oldest"}, []int64{3, 5}},
		{"me", memory.Question{Text: "hotel", By: "me", Asker: "Bob", Order: "oldest"}, []int64{3, 5}},
		{"a time", memory.Question{Text: "hotel", Since: at(1), Until: at(30), Order: "oldest"}, []int64{2, 3}},
		{"a person and a time", memory.Question{Text: "hotel", By: "bob", Since: at(3)}, []int64{5}},
		{"a person without words", memory.Question{By: "Ada"}, []int64{4, 2, 1}},
		{"a person whose name is a stop word", memory.Question{By: "will"}, []int64{6}},
		{"words that are none", memory.Question{Text: "?", By: "9"}, []int64{5, 3}},
		{"a time without words", memory.Question{Since: at(2)}, []int64{6, 5, 4, 3}},
		{"the oldest first", memory.Question{Until: at(30), Order: "oldest"}, []int64{1, 2, 3}},
		{"nothing but an order", memory.Question{Order: "oldest"}, []int64{1, 2, 3, 4, 5, 6}},
		{"a time in which nobody wrote", memory.Question{Since: at(100)}, nil},
		{"nothing", memory.Question{}, nil},
		{"messages before a seq", memory.Question{By: "9", Before: 5}, []int64{3}},
	} {
		test.q.Limit = 10
		check.EqualAll(t, test.claim, seqsFound(t, c, test.q), test.want)
		test.q.Limit = 1
		check.EqualAll(t, test.claim+", at most one", seqsFound(t, c, test.q), test.want[:min(1, len(test.want))])
	}
	_, err := memory.Of(c).Recall(ctx, memory.Question{Text: "hotel", By: "Eve", Limit: 1})
	check.ErrorContains(t, "an unknown name", err, `nobody here is called "Eve": use one of these names: Ada King, Ada Lovelace, Bob, Will, ada l.`)
	_, err = memory.Of(newTalk(t)).Recall(ctx, memory.Question{By: "Eve", Limit: 1})
	check.ErrorContains(t, "nobody", err, "nobody has written anything yet")
}

// TestMeIsOnePerson although two people have the name of the one who asks.
func TestMeIsOnePerson(t *testing.T) {
	c := talked(t, by(1, 0, "7", "Ada", "the hotel has a garden"), by(2, 1, "8", "Ada", "the hotel is full"))
	for id, content := range map[string]string{"7": "likes hotels with a garden", "8": "never stays in a hotel"} {
		check.Must(memory.Of(c).Keep(ctx, memory.KeepRequest{MemoryDraft: summarize.MemoryDraft{Kind: "preference", Content: content}, Person: "Ada", PersonID: id}))(t)
	}
	asks := by(3, 2, "8", "Ada", "what did I say about the hotel?")
	asks.Addressed = true
	deliver(t, c, asks)
	tools := toolsAt(c, 3)
	found := call(t, tools, "recall", `{"query": "hotel", "by": "me"}`)
	check.Contains(t, "messages", found, "hotel is full")
	check.Lacks(t, "messages", found, "has a garden")
	for _, field := range []string{"by", "about"} {
		found = call(t, tools, "memory_search", fmt.Sprintf(`{"query": "hotel", %q: "me"}`, field))
		check.Contains(t, "memories "+field, found, "never stays")
		check.Lacks(t, "memories "+field, found, "with a garden")
	}
	_, err := memory.Of(c).Recall(ctx, memory.Question{By: "me", Asker: "Eve", AskerID: "99", Limit: 1})
	check.ErrorContains(t, "who has not written yet", err, `nobody here is called "Eve"`)
}

func TestAskingForTheBotsWords(t *testing.T) {
	c := newTalk(t)
	deliver(t, c, asking(1, "which hotel?"))
	answered(t, c, 1, 2, "the hotel by the sea")
	for _, q := range []memory.Question{{Text: "hotel"}, {}} {
		q.By = "assistant"
		q.Limit = 5
		found := recallAll(t, c, q)
		check.That(t, len(found) == 1 && found[0].Role == llm.RoleAssistant, "got %+v", found)
	}
}

// The newest and the oldest messages with a word are found, however many have it, and those of a person, however few.
func TestAskingInALongConversation(t *testing.T) {
	check.SkipUnderRace(t)
	const n = 5000
	past := make([]store.Inbound, n)
	for i := range past {
		past[i] = by(i+1, float64(i), "1", "Zoe", fmt.Sprintf("report of the weather station, day %d", i))
	}
	past[700] = by(701, 700, "2", "Ada", "some weather "+strings.Repeat("and much else that is written down here ", 9))
	c := talked(t, past...)
	for _, test := range []struct {
		claim string
		q     memory.Question
		want  []int64
	}{
		{"the newest", memory.Question{Text: "weather", Order: "newest"}, []int64{n, n - 1}},
		{"the oldest", memory.Question{Text: "weather", Order: "oldest"}, []int64{1, 2}},
		{"the oldest of a time", memory.Question{Text: "weather", Order: "oldest", Since: past[99].Time}, []int64{100, 101}},
		{"the newest of a time", memory.Question{Text: "weather", Order: "newest", Until: past[1099].Time}, []int64{1099, 1098}},
		{"of a person who rarely writes", memory.Question{Text: "weather", By: "Ada"}, []int64{701}},
		{"of a time long ago", memory.Question{Text: "weather", Since: past[699].Time, Until: past[701].Time, Order: "oldest"}, []int64{700, 701}},
		{"the newest of a person", memory.Question{By: "Zoe", Until: past[701].Time}, []int64{700, 699}},
	} {
		test.q.Limit = 2
		check.EqualAll(t, test.claim, seqsFound(t, c, test.q), test.want)
	}
}

// An imported file may hold earlier messages than the one imported before it.
func TestAskingByTimeInAnyOrder(t *testing.T) {
	c := talked(t, append(filling(1, 30, 1000), filling(31, 30, 1)...)...)
	from := storetest.Day.Add(20 * time.Hour)
	check.EqualAll(t, "newest", seqsFound(t, c, memory.Question{Since: from, Until: from.Add(1003 * time.Hour), Limit: 30})[:4], []int64{23, 22, 21, 20})
	check.EqualAll(t, "oldest", seqsFound(t, c, memory.Question{Since: from, Order: "oldest", Limit: 3}), []int64{50, 51, 52})
	check.EqualAll(t, "by words", seqsFound(t, c, memory.Question{Text: "entry", Since: from, Until: from.Add(time.Hour), Limit: 3}), []int64{50})
}

// A memory found by Recall shows what was said.
func TestAskedMessagesAreShown(t *testing.T) {
	c := newTalk(t)
	m := said(1, "")
	m.Attachments = []chat.Attachment{{Kind: "image", Name: "a.png", Caption: "a cellar"}}
	deliver(t, c, m)
	found := recallAll(t, c, memory.Question{By: m.Author, Limit: 1})
	check.Require(t, len(found) == 1, "got %+v", found)
	check.Contains(t, "the passage", found[0].Passage(100), "[image: a.png, a cellar]")
}
