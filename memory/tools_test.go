package memory_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/memory"
	"cairn/prompts"
	"cairn/store"
)

func TestPassage(t *testing.T) {
	const start = "The minutes of the meeting begin with the list of who was there."
	long := start + strings.Repeat(" Then somebody spoke about the weather.", 60) + " The vault opens with the number 7461." + strings.Repeat(" It rained on.", 60)
	for _, test := range []struct {
		claim    string
		said     chat.Message
		question string
		has, not []string
	}{
		{"a short message is shown whole", chat.Message{Text: "the vault is shut"}, "vault", []string{"the vault is shut"}, []string{"…"}},
		{"of a long message the part that matched", chat.Message{Text: long}, "which number opens the vault?", []string{"… ", "vault opens with the number 7461.", " …"}, []string{start}},
		{"in other forms too", chat.Message{Text: strings.ReplaceAll(strings.Repeat("Es war wieder alles ruhig und wir haben nichts gesehen. ", 40)+"Die Fahrräder stehen jetzt auf dem Hof. ", "  ", " ")}, "Fahrrad", []string{"Die Fahrräder stehen"}, nil},
		{"a caption", chat.Message{Attachments: []chat.Attachment{{Kind: "image", Name: "a.png", Caption: "a vault in the cellar"}}}, "vault", []string{"[image: a.png, a vault in the cellar]"}, nil},
		{"what stands in a file, and its name", chat.Message{Text: "look", Attachments: []chat.Attachment{{Kind: "file", Name: "b.txt", Text: "about the wind"}, {Kind: "file", Name: "a.txt", Text: long}}}, "vault number", []string{"look\n", "[file: b.txt]", "[file: a.txt]\n… ", "vault opens with the number 7461."}, []string{start, "about the wind"}},
		{"Chinese, where nothing is blank", chat.Message{Text: strings.Repeat("我们在河边散步聊天", 100) + "钥匙在花盆下面" + strings.Repeat("然后大家都回家了", 100)}, "钥匙在哪", []string{"钥匙在花盆下面"}, nil},
		{"a word without end", chat.Message{Text: "vault " + strings.Repeat("a", 3000)}, "vault", []string{"vault"}, nil},
	} {
		t.Run(test.claim, func(t *testing.T) {
			m := said(1, test.said.Text)
			m.Attachments = test.said.Attachments
			found := recallAll(t, talked(t, m), memory.Question{Text: test.question, Limit: 1})
			check.Len(t, "got nothing", found, 1)
			passage := found[0].Passage(200)
			check.That(t, utf8.RuneCountInString(passage) <= 500, "got %d characters", utf8.RuneCountInString(passage))
			check.Contains(t, "the passage", passage, test.has...)
			check.Lacks(t, "passage", passage, test.not...)
		})
	}
	t.Run("the recall tool shows it", func(t *testing.T) {
		m := said(1, long)
		m.Attachments = []chat.Attachment{{Kind: "image", Name: "a.png", Caption: "a cellar"}}
		answer := call(t, toolsAt(talked(t, m), 2), "recall", `{"query":"vault number"}`)
		check.Contains(t, "answer", answer, "vault opens with the number 7461.", "[image: a.png, a cellar]")
		check.Lacks(t, "answer", answer, start)
	})
}

func TestTools(t *testing.T) {
	c := newTalk(t)
	deliver(t, c, said(1, "I like <tea> & cake"), said(2, strings.Repeat("long ", memory.PassageShown)+"end"))
	tools := toolsAt(c, 3)
	draft := summarize.MemoryDraft{Kind: "preference", Content: "Bob likes <tea>", Messages: []int64{1}}
	check.Must(memory.Of(c).Keep(ctx, memory.KeepRequest{Person: "Bob", MemoryDraft: draft}))(t)
	for _, name := range regexp.MustCompile("memory_[a-z]+").FindAllString(prompts.In(prompts.English).Help["memory"], -1) {
		known := slices.ContainsFunc(tools, func(tool llm.Tool) bool { return tool.Name == name })
		check.That(t, known, "the help of the prompts names %s", name)
	}
	for _, tool := range tools {
		check.That(t, json.Valid(tool.Parameters), "%s: %s", tool.Name, tool.Parameters)
	}
	// What they find, who said it, when, and where it comes from.
	const quoted = `{"messages":[{"seq":1,"who":"Bob","when":"2026-03-01 09:01","text":"I like <tea> & cake"}`
	for _, test := range []struct{ name, arguments, want string }{
		{"memory_search", `{"query": "tea"}`, `{"memories":[{"id":1,"kind":"preference","content":"Bob likes <tea>","who":"Bob","when":"2026-03-01 09:01","messages":[1]}],"total":1}`},
		{"memory_search", `{"query": "", "kind": "todo"}`, `{"memories":[],"total":0}`},
		{"recall", `{"query": "tea", "limit": 1}`, quoted + "]}"},
		{"recall", `{"query": "tea", "limit": 1000000}`, quoted + "]}"},
	} {
		check.Equal(t, test.arguments, call(t, tools, test.name, test.arguments), test.want)
	}
	deliver(t, c, said(3, "Which tea do I like?"))
	got := call(t, tools, "recall", `{"query": "which tea"}`)
	check.HasPrefix(t, "in the turn that asks", got, quoted)
	check.Lacks(t, "in the turn that asks", got, `"seq":3`)
	got = call(t, tools, "recall", `{"query": "long"}`)
	check.That(t, len(got) <= memory.PassageShown+200 && !strings.Contains(got, "end"), "a long message is not clipped: got %d bytes", len(got))
	for _, test := range []struct{ name, arguments, want string }{
		{"memory_search", `{"query": "tea", "kind": "rumour"}`, "use one of identity"},
		{"memory_search", `{"query": 7}`, "query and kind are texts"},
		{"recall", `{"query": "tea", "limit": -3}`, "from 1 to 50"},
		{"recall", `[]`, "cannot be read"},
	} {
		check.ErrorContains(t, test.arguments, check.ErrorOf(storetest.Call(tools, test.name, test.arguments)), test.want)
	}
}

func TestSearchBudget(t *testing.T) {
	c := newTalk(t)
	for n := range 40 {
		deliverOnly(t, c, said(n+1, "the lighthouse was painted again, "+strings.Repeat("coat after coat ", 10)))
	}
	deliver(t, c)
	for _, budget := range []int{0, 100, 300, 1000} {
		tools := memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return store.MaxSeq }, Budget: func() int { return budget }})
		text := call(t, tools, "recall", `{"query": "lighthouse", "limit": 30}`)
		var answer struct{ Messages []struct{ Seq int64 } }
		check.NoError(t, json.Unmarshal([]byte(text), &answer))
		n, cost := len(answer.Messages), tokens.Estimate(text)
		fits := n > 0 && (n == 1 || cost <= budget) && (n >= 30 || n <= 1 || cost >= budget/2)
		check.That(t, fits, "budget %d: got %d results for %d tokens", budget, n, cost)
	}
}
