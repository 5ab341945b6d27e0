package memory_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/memory"
	"cairn/prompts"
	"cairn/store"
)

func TestSearchBudget(t *testing.T) {
	c := storetest.NewConversation(t)
	var past []store.Inbound
	for n := range 40 {
		past = append(past, storetest.Said(n+1, "the lighthouse was painted again, "+strings.Repeat("coat after coat ", 10)))
	}
	check.Must(c.Past().Import(ctx, past))(t)
	for _, budget := range []int{0, 100, 300, 1000} {
		tools := memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return store.MaxSeq }, Budget: func() int { return budget }})
		text := check.Must(tools[1].Run(ctx, json.RawMessage(`{"query": "lighthouse", "limit": 30}`)))(t)
		var answer struct{ Messages []struct{ Seq int64 } }
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatalf("budget %d: %v in %s", budget, err, text)
		}
		n, cost := len(answer.Messages), tokens.Estimate(text)
		if n == 0 || n > 1 && cost > budget || n < 30 && n > 1 && cost < budget/2 {
			t.Errorf("budget %d: got %d results for %d tokens", budget, n, cost)
		}
	}
}

func TestTools(t *testing.T) {
	c := storetest.NewConversation(t)
	long := strings.Repeat("long ", memory.PassageShown) + "end"
	storetest.Deliver(t, c, storetest.Said(1, "I like <tea> & cake"), storetest.Said(2, long))
	tools := memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return 3 }})
	kept := memory.KeepRequest{Person: "Bob", MemoryDraft: summarize.MemoryDraft{Kind: "preference", Content: "Bob likes <tea>", Messages: []int64{1}}}
	check.Must(memory.Of(c).Keep(ctx, kept))(t)
	t.Run("the help of the prompts names no others", func(t *testing.T) {
		for _, name := range regexp.MustCompile("memory_[a-z]+").FindAllString(prompts.In(prompts.English).Help["memory"], -1) {
			if !slices.ContainsFunc(tools, func(tool llm.Tool) bool { return tool.Name == name }) {
				t.Errorf("there is no tool %s", name)
			}
		}
	})
	t.Run("their parameters are valid JSON", func(t *testing.T) {
		for _, tool := range tools {
			check.That(t, json.Valid(tool.Parameters), "%s: %s", tool.Name, tool.Parameters)
		}
	})
	t.Run("memory_search tells who said it, when, and where it comes from", func(t *testing.T) {
		got, err := storetest.Call(tools, "memory_search", `{"query": "tea"}`)
		want := `{"memories":[{"id":1,"kind":"preference","content":"Bob likes <tea>","who":"Bob","when":"2026-03-01 09:01","messages":[1]}],"total":1}`
		check.NoError(t, err)
		check.Equal(t, "result", got, want)
		if got, err = storetest.Call(tools, "memory_search", `{"query": "", "kind": "todo"}`); err != nil || got != `{"memories":[],"total":0}` {
			t.Errorf("got %s, %v", got, err)
		}
	})
	t.Run("recall quotes, long messages clipped", func(t *testing.T) {
		got, err := storetest.Call(tools, "recall", `{"query": "tea", "limit": 1}`)
		want := `{"messages":[{"seq":1,"who":"Bob","when":"2026-03-01 09:01","text":"I like <tea> & cake"}]}`
		check.NoError(t, err)
		check.Equal(t, "result", got, want)
		storetest.Deliver(t, c, storetest.Said(3, "Which tea do I like?"))
		if got, err = storetest.Call(tools, "recall", `{"query": "which tea"}`); err != nil || !strings.HasPrefix(got, strings.TrimSuffix(want, "]}")) || strings.Contains(got, `"seq":3`) {
			t.Errorf("in the turn that asks: %s, %v", got, err)
		}
		got, err = storetest.Call(tools, "recall", `{"query": "long"}`)
		if err != nil || len(got) > memory.PassageShown+200 || strings.Contains(got, "end") {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	})
	t.Run("what they cannot do they say", func(t *testing.T) {
		for _, test := range []struct{ name, arguments, want string }{
			{"memory_search", `{"query": "tea", "kind": "rumour"}`, "use one of identity"},
			{"memory_search", `{"query": 7}`, "query and kind are texts"},
			{"recall", `{"query": "tea", "limit": -3}`, "from 1 to 50"},
			{"recall", `[]`, "cannot be read"},
		} {
			if got, err := storetest.Call(tools, test.name, test.arguments); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s %s: %s, %v", test.name, test.arguments, got, err)
			}
		}
		check.Contains(t, "a huge limit", check.Must(storetest.Call(tools, "recall", `{"query": "tea", "limit": 1000000}`))(t), "tea")
	})
}
