package memory_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/memory"
	"cairn/prompts"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

type page struct {
	Messages []struct {
		Seq   int64
		Who   string
		Text  string
		Calls []string
	}
	Next, To int64
}

func expandPage(t testing.TB, c *store.Conversation, budget int, arguments string) (p page, err error) {
	t.Helper()
	o := memory.ToolOptions{Turn: func() int64 { return store.MaxSeq }, Budget: func() int { return budget }}
	result, err := storetest.Call(memory.Of(c).Tools(o), "expand", arguments)
	if err == nil {
		check.NoError(t, json.Unmarshal([]byte(result.Text), &p))
		cost := tokens.Estimate(result.Text)
		check.That(t, cost <= budget, "budget %d: got %d tokens", budget, cost)
		for i, m := range p.Messages {
			check.That(t, result.Quotes.Messages[i] == m.Seq, "it quotes %v", result.Quotes)
		}
		check.Len(t, "quotes", result.Quotes.Messages, len(p.Messages))
	}
	return p, err
}

func TestExpandReturnsExactMessages(t *testing.T) {
	c := imported(t, 50)
	j := worker(t, c, 11, 40)
	finish(t, j)
	id := j.ID()
	storetest.ApplyRows(t, c, id)
	remove(t, c, 20)
	for _, budget := range []int{150, 400, 10_000} {
		var seqs []int64
		pages := 0
		for arguments := fmt.Sprintf(`{"compaction": %d}`, id); ; pages++ {
			p := check.Must(expandPage(t, c, budget, arguments))(t)
			for _, m := range p.Messages {
				seqs = append(seqs, m.Seq)
				check.Equal(t, "text", m.Text, fmt.Sprintf("message number %d", m.Seq))
				check.Equal(t, "who", m.Who, said(int(m.Seq), "").Author)
			}
			if p.Next == 0 {
				break
			}
			arguments = fmt.Sprintf(`{"compaction": %d, "from": %d}`, id, p.Next)
			if budget == 150 { // the same by numbers alone
				arguments = fmt.Sprintf(`{"from": %d, "to": %d}`, p.Next, p.To)
			}
		}
		const want = "[11 12 13 14 15 16 17 18 19 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40]"
		check.Equal(t, fmt.Sprint("messages within ", budget), fmt.Sprint(seqs), want)
		check.That(t, budget > 150 || pages >= 3, "got %d pages", pages+1)
	}
}

func TestExpandShowsCallsResultsAndFiles(t *testing.T) {
	c := newTalk(t)
	asked := asking(1, "run it")
	asked.Attachments = []chat.Attachment{{Kind: "file", Name: "a.txt", Text: "ls -l /tmp"}}
	deliver(t, c, asked, said(5, "begin "+strings.Repeat("word ", 5000)+"end"), said(6, "short"))
	storetest.AnswerWith(t, c, storetest.Answer{Turn: 1, First: 4}, map[string]llm.Result{"weather": {Text: "42"}})
	p := check.Must(expandPage(t, c, 30_000, `{"from": 1, "to": 5}`))(t)
	check.Len(t, "messages", p.Messages, 5)
	check.Contains(t, "the file", p.Messages[0].Text, "ls -l /tmp")
	result := p.Messages[4]
	check.That(t, p.Messages[3].Calls[0] == `weather {"query":"42"}` && result.Text == "42" && result.Who == "tool weather", "got %+v", p.Messages)
	// A long message is shortened, and the rest is on the next page.
	p = check.Must(expandPage(t, c, 300, `{"from": 2, "to": 9999999999999}`))(t)
	check.That(t, len(p.Messages) == 1 && p.Next == 3, "got %.300v", p)
	text := p.Messages[0].Text
	check.That(t, strings.HasPrefix(text, "begin ") && strings.HasSuffix(text, "end") && strings.Contains(text, "characters left out"), "got %q", text)
	p = check.Must(expandPage(t, c, 300, `{"from": 3, "to": 3}`))(t)
	check.That(t, len(p.Messages) == 1 && p.Next == 0, "got %+v", p)
}

const secret = storetest.Secret

func TestDeletionReachesToolResults(t *testing.T) {
	found := func(seq int64) llm.Result {
		text := fmt.Sprintf(`{"messages":[{"seq":%d,"text":"I play the %s"}]}`, seq, secret)
		return llm.Result{Text: text, Quotes: llm.Quotes{Messages: []int64{seq}}}
	}
	t.Run("later search results lose it, and are reported as changed", func(t *testing.T) {
		c := newTalk(t)
		deliver(t, c, said(1, secret), said(2, "b"), asking(3, "what did I play?"))
		memories := llm.Result{
			Text: `{"memories":[{"content":"` + secret + `","messages":[2,1]}],"total":1}`, Quotes: llm.Quotes{Messages: []int64{2, 1}},
		}
		storetest.AnswerWith(t, c, storetest.Answer{Turn: 3, First: 4}, map[string]llm.Result{"recall": found(1), "expand": found(1), "memory_search": memories})
		storetest.Run(t, c.Store(), "UPDATE messages SET calls = '' WHERE role = 'assistant'") // the model's own words
		check.EqualAll(t, "changed", remove(t, c, 1), []int64{1, 5, 6, 7})
		storetest.WantNoSecret(t, c)
		m := message(t, c, 5)
		check.Equal(t, "text", m.Text, store.DeletedCopyText)
		check.Equal(t, "tokens", m.Tokens, chat.TokensOf(m))
	})
	t.Run("results about others stay", func(t *testing.T) {
		c := newTalk(t)
		deliver(t, c, said(1, "a"), said(2, "b"), asking(3, "what did I play?"))
		storetest.AnswerWith(t, c, storetest.Answer{Turn: 3, First: 4, Native: `{"a":1}`}, map[string]llm.Result{"recall": found(2), "expand": {Text: "there are no such messages"}})
		check.EqualAll(t, "changed", remove(t, c, 1), []int64{1, 4})
		check.Equal(t, "answer", message(t, c, 5).Text, found(2).Text)
		check.Len(t, "the reasoning of a later turn", message(t, c, 4).Native, 0)
	})
	t.Run("in its own turn arguments, answers of other programs and the provider's JSON go too", func(t *testing.T) {
		c := newTalk(t)
		deliver(t, c, asking(1, "remember the "+secret))
		storetest.AnswerWith(t, c, storetest.Answer{Turn: 1, First: 2, Native: `{"fields":{"reasoning":"the ` + secret + `"}}`}, map[string]llm.Result{
			"memory_save": {Text: secret}, "recall": {Text: "nothing of " + secret}, "weather": {Text: "rain on the " + secret},
		})
		storetest.Run(t, c.Store(), "UPDATE messages SET text = 'Noted.' WHERE tool = 'memory_save'")
		remove(t, c, 1)
		storetest.Run(t, c.Store(), "DELETE FROM message_terms WHERE seq > 1 AND term LIKE 'xyl%'")
		storetest.WantNoSecret(t, c)
		m := message(t, c, 2)
		check.That(t, len(m.Native) == 0 && len(m.Calls) == 3 && m.Calls[2].Arguments == "{}" && m.Tokens == chat.TokensOf(m), "got %+v", m)
	})
	t.Run("an answer that is written later repeats nothing either", func(t *testing.T) {
		c := newTalk(t)
		deliver(t, c, said(1, secret), asking(2, "remember my "+secret), asking(3, "well?"))
		remove(t, c, 1, 2)
		storetest.AnswerWith(t, c, storetest.Answer{Turn: 2, First: 4, Native: `{"a":"` + secret + `"}`}, map[string]llm.Result{"recall": found(1), "memory_save": {Text: secret}})
		storetest.Run(t, c.Store(), "DELETE FROM message_terms WHERE term LIKE 'xyl%'") // the double's result of memory_save repeats it
		storetest.Run(t, c.Store(), "UPDATE messages SET text = '' WHERE tool = 'memory_save'")
		storetest.WantNoSecret(t, c)
	})
}

func TestRememberingDeletedMessage(t *testing.T) {
	c := newTalk(t)
	deliver(t, c, said(1, "a"), said(2, secret), asking(3, secret))
	var again func(tx *store.Tx)
	check.NoError(t, c.Store().Update(ctx, func(tx *store.Tx) {
		again = memory.CheckDraft(c, tx, summarize.MemoryDraft{Kind: "fact", Content: secret, Messages: []int64{2}}, 3)
	}))
	remove(t, c, 2)
	err := c.Store().Update(ctx, again)
	check.Error(t, err, memory.ErrUnsaid)
	// The model saves nothing of what it is asked when that is deleted.
	remove(t, c, 3)
	_, err = storetest.Call(toolsAt(c, 3), "memory_save", `{"content":"`+secret+`","kind":"fact"}`)
	check.Error(t, err, memory.ErrUnsaid)
	storetest.WantNoSecret(t, c)
}

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
		{"what is said in a voice message", chat.Message{Attachments: []chat.Attachment{{Kind: chat.Voice, Seconds: 34, Text: long}}}, "vault number", []string{"[voice message, 0:34, transcribed]\n… ", "vault opens with the number 7461."}, []string{start}},
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
		{"memory_search", `{"query": 7}`, "limit is an integer, all others are texts"},
		{"recall", `{"query": "tea", "limit": -3}`, "from 1 to 50"},
		{"recall", `[]`, "cannot be read"},
		{"expand", `{"compaction": 1}`, "no compaction"},
		{"expand", `{"from": 4294967297, "to": 8589934592}`, "no such messages"},
		{"expand", `{"from": 11, "to": 20}`, "no such messages"},
		{"expand", `{"from": 5, "to": 4}`, "name a range"},
		{"expand", `{"from": -5, "to": 4}`, "name a range"},
		{"expand", `{}`, "name a range"},
		{"expand", `{"from": "x"}`, "are integers"},
	} {
		check.ErrorContains(t, test.arguments, check.ErrorOf(storetest.Call(tools, test.name, test.arguments)), test.want)
	}
}

// In Berlin the hour from 2:00 on 25 October 2026 exists twice.
func TestToolsSayWhichOfTwoHoursItWas(t *testing.T) {
	local := time.Local
	t.Cleanup(func() { time.Local = local })
	time.Local = check.Must(time.LoadLocation("Europe/Berlin"))(t)
	c := newTalk(t)
	deliver(t, c, said(1, "I like tea"), said(2, "I like cake"))
	for seq, hour := range []int{0, 1} {
		at := time.Date(2026, 10, 25, hour, 30, 0, 0, time.UTC)
		storetest.Run(t, c.Store(), "UPDATE messages SET said_at = ? WHERE seq = ?", at.UnixMilli(), seq+1)
	}
	check.Must(memory.Of(c).Keep(ctx, memory.KeepRequest{Person: "Bob", MemoryDraft: summarize.MemoryDraft{Kind: "preference", Content: "Bob likes tea", Messages: []int64{1}}}))(t)
	tools := toolsAt(c, 3)
	check.Contains(t, "recall", call(t, tools, "recall", `{"query": "like"}`), `"2026-10-25 02:30 +02:00"`, `"2026-10-25 02:30 +01:00"`)
	check.Contains(t, "memory_search", call(t, tools, "memory_search", `{"query": "tea"}`), `"2026-10-25 02:30 +02:00"`)
	read := check.Must(memory.Until("2026-10-25 02:30 +01:00", time.Now()))(t)
	check.That(t, read.Equal(time.Date(2026, 10, 25, 1, 30, 0, 0, time.UTC)), "read back as %s", read)
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
		n := len(answer.Messages)
		cost := tokens.Estimate(text)
		fits := n > 0 && (n == 1 || cost <= budget) && (n >= 30 || n <= 1 || cost >= budget/2)
		check.That(t, fits, "budget %d: got %d results for %d tokens", budget, n, cost)
	}
}
