package memory_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/quick"

	"cairn/chat"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/llm"
	"cairn/memory"
	"cairn/store"
)

var hostile = []string{
	`"`, `'; DROP TABLE messages; --`, `NEAR(a b)`, `a* OR b`, `-tea`, `%`, `_`, "\x00", "\xff\xfe", `\`, "(((", "tea:", "^", "🙂", "",
	strings.Repeat("tea ", 1<<18), strings.Repeat("a", 1<<20), strings.Repeat("\u0301", 1<<18),
}

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
	// find lists the messages that contain a word of the query.
	find := func(query string, limit int, before int64) (list []int64) {
		t.Helper()
		found, err := memory.Of(c).Recall(ctx, memory.Question{Text: query, Limit: limit, Before: before})
		if err != nil {
			t.Fatalf("%.40q: %v", query, err)
		}
		for _, m := range found {
			if m.Parts[0].Name == "words" {
				list = append(list, m.Seq)
			}
		}
		return list
	}
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
			got := find(test.query, 10, 100)
			check.EqualAll(t, "found", got, test.want)
		})
	}
	t.Run("nothing from the seq given on is found, and no more than the limit", func(t *testing.T) {
		check.EqualAll(t, "found", find("pepper", 10, 7), []int64{3})
		check.Equal(t, "found", len(find("pepper", 1, 100)), 1)
		if got := find("pepper", -1, 100); got != nil {
			t.Errorf("got %v", got)
		}
		if got := find("pepper", 10, -5); got != nil {
			t.Errorf("got %v", got)
		}
	})
}

func TestRankingIsDeterministic(t *testing.T) {
	c := storetest.NewConversation(t)
	var past []store.Inbound
	for n := range 150 {
		past = append(past, storetest.Said(n, fmt.Sprintf("red green blue word%d", n%7)))
	}
	check.Must(c.Past().Import(ctx, past))(t)
	first := check.Must(memory.Of(c).Recall(ctx, memory.Question{Text: "blue word3 green red word5", Limit: 60, Before: 1000}))(t)
	check.Len(t, "first", first, 60)
	for range 5 {
		again, err := memory.Of(c).Recall(ctx, memory.Question{Text: "red word5 green word3 blue red red green", Limit: 60, Before: 1000})
		for i := range again {
			again[i] = again[i].As(first[i]) // the order of its words differs
		}
		if err != nil || !reflect.DeepEqual(first, again) {
			t.Fatalf("got another order, %v", err)
		}
	}
}

func TestHostileQueries(t *testing.T) {
	c := talked(t, spoken(1, 0, "Ann", "I like tea"))
	storetest.Keep(t, c, "Ann", "Ann likes tea")
	before := storetest.Dump(t, c.Store())
	for _, query := range hostile {
		if _, err := memory.Of(c).Recall(ctx, memory.Question{Text: query, Limit: 5}); err != nil {
			t.Errorf("%.40q: %v", query, err)
		}
		if _, err := memory.Of(c).Search(ctx, query, 5); err != nil {
			t.Errorf("%.40q: %v", query, err)
		}
	}
	check.NoError(t, quick.Check(func(query string) bool {
		_, err := memory.Of(c).Recall(ctx, memory.Question{Text: query, Limit: 5})
		return err == nil
	}, nil))
	check.Equal(t, "a query changed the database", storetest.Dump(t, c.Store()), before)
}
