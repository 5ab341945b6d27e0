package memory

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/quick"

	"cairn/compactor"
	"cairn/llm"
)

var hostile = []string{
	`"`, `'; DROP TABLE messages; --`, `NEAR(a b)`, `a* OR b`, `-tea`, `%`, `_`, "\x00", "\xff\xfe", `\`, "(((", "tea:", "^", "🙂", "",
	strings.Repeat("tea ", 1<<18), strings.Repeat("a", 1<<20), strings.Repeat("\u0301", 1<<18),
}

func TestRecall(t *testing.T) {
	c := newConversation(t)
	texts := []string{
		"I adopted a dog from the shelter in Bergen", "Nice! What is the dog called?", "Her name is Pepper and she likes the sea",
		"We went to the sea last summer", "日本語の勉強をしています", "The deploy command is make ship-prod PORT=8443", "Pepper Pepper Pepper", "Ünïcode is fün",
	}
	for n, text := range texts {
		m := said(n+1, text)
		if n == 3 {
			m.Attachments = []compactor.Attachment{
				{Kind: "image", Name: "beach.png", Caption: "a lighthouse at dusk"},
				{Kind: "file", Name: "notes.txt", Text: "Shopping:\n- oysters\n- lemons"},
			}
		}
		m.Addressed = n == len(texts)-1
		deliver(t, c, m)
	}
	if err := c.Finish(ctx, Outcome{Turn: 8, Reply: "r", Pieces: []string{"."}, Messages: []compactor.Message{
		{Seq: 9, Turn: 8, Role: llm.RoleTool, Tool: "recall", Text: "Pepper the dog", Time: day},
		{Seq: 10, Turn: 8, Role: llm.RoleTool, Tool: "shell", Text: "exit status 42: no quorum", Time: day},
		{Seq: 11, Turn: 8, Role: llm.RoleAssistant, Text: "The harbour is closed", Time: day},
	}}); err != nil {
		t.Fatal(err)
	}
	// find tells the messages in which a word of the query stands.
	find := func(query string, limit int, before int64) (list []int64) {
		t.Helper()
		found, err := c.Recall(ctx, Question{Text: query, Limit: limit, Before: before})
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
			if !slices.Equal(got, test.want) {
				t.Errorf("found %v, want %v", got, test.want)
			}
		})
	}
	t.Run("nothing from the seq given on is found, and no more than the limit", func(t *testing.T) {
		if got := find("pepper", 10, 7); !slices.Equal(got, []int64{3}) {
			t.Errorf("found %v", got)
		}
		if got := find("pepper", 1, 100); len(got) != 1 {
			t.Errorf("found %v", got)
		}
		if got := find("pepper", -1, 100); got != nil {
			t.Errorf("found %v", got)
		}
		if got := find("pepper", 10, -5); got != nil {
			t.Errorf("found %v", got)
		}
	})
	t.Run("no query does harm", func(t *testing.T) {
		before := dump(t, c.store)
		for _, query := range hostile {
			find(query, 5, 100)
			if _, err := c.SearchMemories(ctx, query, 5); err != nil {
				t.Errorf("%.40q: %v", query, err)
			}
		}
		if err := quick.Check(func(query string) bool {
			_, err := c.Recall(ctx, Question{Text: query, Limit: 5, Before: 100})
			return err == nil
		}, nil); err != nil {
			t.Error(err)
		}
		if dump(t, c.store) != before {
			t.Error("a query changed something")
		}
	})
	t.Run("a word in most messages tells little, and finds where it is all there is", func(t *testing.T) {
		c := newConversation(t)
		past := make([]Inbound, 300)
		for i := range past {
			text := "weather report"
			if i == 5 {
				text = "weather balloon"
			}
			past[i] = said(i, text)
		}
		if _, err := c.Import(ctx, past); err != nil {
			t.Fatal(err)
		}
		found, err := c.Recall(ctx, Question{Text: "weather balloon", Limit: 10, Before: 1000})
		if err != nil || len(found) != 10 || found[0].Seq != 6 || found[0].Score <= found[1].Score {
			t.Errorf("found %+v, %v", found, err)
		}
		if found, err = c.Recall(ctx, Question{Text: "weather", Limit: 10, Before: 1000}); err != nil || len(found) != 10 {
			t.Errorf("%d found, %v", len(found), err)
		}
	})
}

func TestSearchMemories(t *testing.T) {
	s := openStore(t, t.TempDir())
	c, other := find(t, s, "terminal:general"), find(t, s, "terminal:other")
	remember := func(c *Conversation, kind, content string, importance float64) {
		t.Helper()
		if _, fresh, err := c.Remember(ctx, compactor.MemoryDraft{Kind: kind, Content: content, Importance: importance}, "Ann"); err != nil || !fresh {
			t.Fatal(fresh, err)
		}
	}
	remember(c, "preference", "Ann drinks black tea", 0.9)
	remember(c, "preference", "Ann drinks green tea", 0.2)
	remember(c, "fact", "Ann's bicycle is red", 0.5)
	remember(other, "fact", "Carol sells tea", 0.5)
	remember(c, "event", "The meeting is in May", 0.5)
	if err := c.Forget(ctx, 5); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		claim string
		f     Filter
		want  []int64
		total int
	}{
		{"of equal matches the more important comes first", Filter{Conversation: c.Name(), Query: "drinks"}, []int64{1, 2}, 2},
		{"without a query the newest come first", Filter{Conversation: c.Name()}, []int64{3, 2, 1}, 3},
		{"all conversations can be searched", Filter{Query: "Carol bicycle"}, []int64{4, 3}, 2},
		{"all conversations can be listed", Filter{}, []int64{4, 3, 2, 1}, 4},
		{"one kind can be asked for", Filter{Kind: "fact"}, []int64{4, 3}, 2},
		{"one kind can be searched", Filter{Kind: "fact", Query: "tea"}, []int64{4}, 1},
		{"what was forgotten is there for who asks for it", Filter{State: "forgotten", Query: "meeting"}, []int64{5}, 1},
		{"pages leave the total as it is", Filter{Limit: 2, Offset: 1}, []int64{3, 2}, 4},
		{"a page behind the end is empty", Filter{Limit: 2, Offset: 9}, nil, 4},
		{"a negative page is the first", Filter{Limit: -1, Offset: -7}, []int64{4, 3, 2, 1}, 4},
		{"a query of words that tell nothing finds nothing", Filter{Query: "the?"}, nil, 0},
	} {
		t.Run(test.claim, func(t *testing.T) {
			// Memories of one millisecond are told apart by their numbers.
			run(t, s, "UPDATE memories SET said_at = 0")
			found, total, err := s.Memories(ctx, test.f)
			if err != nil {
				t.Fatal(err)
			}
			var list []int64
			for _, m := range found {
				list = append(list, m.ID)
			}
			if !slices.Equal(list, test.want) || total != test.total {
				t.Errorf("found %v of %d, want %v of %d", list, total, test.want, test.total)
			}
		})
	}
	for _, f := range []Filter{{Kind: "rumour"}, {State: "lost"}, {Conversation: "terminal:none"}} {
		if _, _, err := s.Memories(ctx, f); err == nil {
			t.Errorf("%+v: no error", f)
		}
	}
	if _, _, err := s.Memory(ctx, 99); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if found, err := c.SearchMemories(ctx, "tea", 1); err != nil || len(found) != 1 || found[0].ID != 1 {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestTools(t *testing.T) {
	c := newConversation(t)
	long := strings.Repeat("long ", passageShown) + "end"
	deliver(t, c, said(1, "I like <tea> & cake"), said(2, long))
	tools := c.Tools(ToolOptions{Turn: func() int64 { return 3 }})
	if _, _, err := c.Remember(ctx, compactor.MemoryDraft{Kind: "preference", Content: "Bob likes <tea>", Messages: []int64{1}}, "Bob"); err != nil {
		t.Fatal(err)
	}
	t.Run("their parameters are valid JSON", func(t *testing.T) {
		for _, tool := range tools {
			if !json.Valid(tool.Parameters) {
				t.Errorf("%s: %s", tool.Name, tool.Parameters)
			}
		}
	})
	t.Run("memory_search tells who said it, when, and where it comes from", func(t *testing.T) {
		got, err := call(tools, "memory_search", `{"query": "tea"}`)
		want := `{"memories":[{"id":1,"kind":"preference","content":"Bob likes <tea>","who":"Bob","when":"2026-03-01 09:01","messages":[1]}],"total":1}`
		if err != nil || got != want {
			t.Errorf("got  %s\nwant %s, %v", got, want, err)
		}
		if got, err = call(tools, "memory_search", `{"query": "", "kind": "todo"}`); err != nil || got != `{"memories":[],"total":0}` {
			t.Errorf("got %s, %v", got, err)
		}
	})
	t.Run("recall quotes, long messages clipped", func(t *testing.T) {
		got, err := call(tools, "recall", `{"query": "tea", "limit": 1}`)
		want := `{"messages":[{"seq":1,"who":"Bob","when":"2026-03-01 09:01","text":"I like <tea> & cake"}]}`
		if err != nil || got != want {
			t.Errorf("got  %s\nwant %s, %v", got, want, err)
		}
		deliver(t, c, said(3, "Which tea do I like?"))
		if got, err = call(tools, "recall", `{"query": "which tea"}`); err != nil || !strings.HasPrefix(got, strings.TrimSuffix(want, "]}")) || strings.Contains(got, `"seq":3`) {
			t.Errorf("in the turn that asks: %s, %v", got, err)
		}
		got, err = call(tools, "recall", `{"query": "long"}`)
		if err != nil || len(got) > passageShown+200 || strings.Contains(got, "end") {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	})
	t.Run("what they cannot do they say", func(t *testing.T) {
		for _, test := range []struct{ name, arguments, want string }{
			{"memory_search", `{"query": "tea", "limit": 0}`, "from 1 to 50"},
			{"memory_search", `{"query": "tea", "kind": "rumour"}`, "use one of identity"},
			{"memory_search", `{"query": 7}`, "query and kind are texts"},
			{"recall", `{"query": "tea", "limit": -3}`, "from 1 to 50"},
			{"recall", `[]`, "cannot be read"},
		} {
			if got, err := call(tools, test.name, test.arguments); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s %s: %s, %v", test.name, test.arguments, got, err)
			}
		}
		if got, err := call(tools, "recall", `{"query": "tea", "limit": 1000000}`); err != nil || !strings.Contains(got, "tea") {
			t.Errorf("a huge limit: %s, %v", got, err)
		}
	})
}

func TestRankingIsDeterministic(t *testing.T) {
	c := newConversation(t)
	var past []Inbound
	for n := range 150 {
		past = append(past, said(n, fmt.Sprintf("red green blue word%d", n%7)))
	}
	if _, err := c.Import(ctx, past); err != nil {
		t.Fatal(err)
	}
	first, err := c.Recall(ctx, Question{Text: "blue word3 green red word5", Limit: 60, Before: 1000})
	if err != nil || len(first) != 60 {
		t.Fatal(len(first), err)
	}
	for range 5 {
		again, err := c.Recall(ctx, Question{Text: "red word5 green word3 blue red red green", Limit: 60, Before: 1000})
		for i := range again {
			again[i].query = first[i].query // the order of its words differs
		}
		if err != nil || !reflect.DeepEqual(first, again) {
			t.Fatalf("another order, %v", err)
		}
	}
}
