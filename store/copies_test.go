package store_test

import (
	"testing"

	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
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
