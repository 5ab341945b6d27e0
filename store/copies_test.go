package store_test

import (
	"testing"

	"cairn/llm"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
	"cairn/transcript"
)

// A text that looks like the result of another call, or like a sentence of the bot, quotes nothing.
func TestTextIsNoQuote(t *testing.T) {
	for tool, text := range map[string]string{
		"recall":        `{"messages":[{"seq":1,"text":"b"}]}`,
		"expand":        `{"messages":[{"seq":2,"te`,
		"memory_search": `{"memories":[{"id":1,"content":"b","messages":[1]}],"total":1}`,
		"memory_save":   `Noted. Memory 1 says: "b".`,
	} {
		t.Run(tool, func(t *testing.T) {
			c := newTalk(t)
			deliver(t, c, said(1, "I play the theremin"), said(2, "b"))
			storetest.Keep(t, c, "Ann", "Ann plays the theremin.", 1)
			deliver(t, c, asking(3, "what did I say?"))
			storetest.AnswerWith(t, c, storetest.Answer{Turn: 3, First: 4}, map[string]llm.Result{tool: {Text: text}})
			check.Equal(t, "quotes", number(t, c.Store(), "SELECT count(*) FROM quotes"), 0)
			remove(t, c, 1)
			check.Equal(t, "text", message(t, c, 5).Text, text)
		})
	}
}

// A context that quotes a message of another conversation is stored only if the message is still as it was quoted.
func TestQuotesFromElsewhereChange(t *testing.T) {
	c := newTalk(t)
	other := find(t, c.Store(), "terminal:other")
	deliver(t, other, said(1, "the boat is blue"))
	n := 0
	stored := func(versions ...int64) bool {
		n++
		turn := deliver(t, c, asking(n, "which boat?"))[0].Turn
		context := transcript.Context{Seq: turn, Text: "recalled"}
		for _, version := range versions {
			context.Quotes.Elsewhere = append(context.Quotes.Elsewhere, llm.Elsewhere{Number: other.ID()<<32 | 1, Version: version})
		}
		return check.Must(c.Turns().Finish(ctx, store.Outcome{Turn: turn, Version: storetest.Version(t, c), Context: context}))(t)
	}
	first := storetest.Version(t, other)
	check.That(t, stored(first), "unchanged: it was not stored")
	edit(t, other, 1, "the boat is red")
	edited := storetest.Version(t, other)
	check.That(t, !stored(first), "edited: it was stored")
	check.That(t, stored(edited), "quoted after the edit: it was not stored")
	check.That(t, !stored(first, edited) && !stored(edited, first), "quoted before and after the edit: it was stored")
	remove(t, other, 1)
	check.That(t, !stored(storetest.Version(t, other)), "deleted: it was stored")
}
