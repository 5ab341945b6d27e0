package memory_test

import (
	"strings"
	"testing"

	"cairn/chat"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/llm"
	"cairn/memory"
	"cairn/store"
)

func TestRecall(t *testing.T) {
	c := storetest.NewConversation(t)
	texts := []string{
		"I adopted a dog from the shelter in Bergen", "Nice! What is the dog called?", "Her name is Pepper and she likes the sea",
		"We went to the sea last summer", "日本語の勉強をしています", "The deploy command is make ship-prod PORT=8443", "Pepper Pepper Pepper", "Ünïcode is fün",
	}
	for n, text := range texts {
		m := storetest.Said(n+1, text)
		if n == 3 {
			m.Attachments = []chat.Attachment{
				{Kind: "image", Name: "beach.png", Caption: "a lighthouse at dusk"},
				{Kind: "file", Name: "notes.txt", Text: "Shopping:\n- oysters\n- lemons"},
			}
		}
		m.Addressed = n == len(texts)-1
		storetest.Deliver(t, c, m)
	}
	check.NoError(t, c.Turns().Finish(ctx, store.Outcome{Turn: 8, Reply: "r", Pieces: []string{"."}, Messages: []chat.Message{
		{Seq: 9, Turn: 8, Role: llm.RoleTool, Tool: "recall", Text: "Pepper the dog", Time: storetest.Day},
		{Seq: 10, Turn: 8, Role: llm.RoleTool, Tool: "shell", Text: "exit status 42: no quorum", Time: storetest.Day},
		{Seq: 11, Turn: 8, Role: llm.RoleAssistant, Text: "The harbour is closed", Time: storetest.Day},
	}}))
	for _, test := range []struct {
		claim, query string
		want         []int64
	}{
		{"any of the words will do, the more and the rarer the better", "which dog did she adopt from a shelter", []int64{1, 2}},
		{"a word is found in its other forms", "going, adoption", []int64{1, 4}},
		{"case and accents do not matter", "UNICODE FUN", []int64{8}},
		{"two characters of Japanese are a word", "勉強", []int64{5}},
		{"a picture is found by its caption", "lighthouse", []int64{4}},
		{"a file is found by what it holds", "lemon", []int64{4}},
		{"commands and numbers are found", "8443", []int64{6}},
		{"what tools said is found, but not what the bot itself has recalled", "dog quorum", []int64{10, 1, 2}},
		{"what a person said is found by the name", "Bob", []int64{3, 7, 1, 5}},
		{"what the bot said is found", "harbour", []int64{11}},
		{"words that tell nothing find nothing", "what is the", nil},
	} {
		t.Run(test.claim, func(t *testing.T) {
			check.EqualAll(t, "found", storetest.Recalled(t, c, test.query), test.want)
		})
	}
}

func TestHugeQueries(t *testing.T) {
	c := talked(t, spoken(1, 0, "Ann", "I like tea"))
	for _, query := range []string{strings.Repeat("tea ", 1<<18), strings.Repeat("a", 1<<20), strings.Repeat("\u0301", 1<<18)} {
		check.NoError(t, check.ErrorOf(memory.Of(c).Recall(ctx, memory.Question{Text: query, Limit: 5})))
		check.NoError(t, check.ErrorOf(storetest.Search(memory.Of(c), ctx, query, 5)))
	}
}
