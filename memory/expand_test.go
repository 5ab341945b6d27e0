package memory_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/internal/tokens"
	"cairn/memory"
	"cairn/store"
	"cairn/transcript"
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
	text, err := memory.ExpandTool(c, memory.ToolOptions{Budget: func() int { return budget }}).Run(ctx, json.RawMessage(arguments))
	if err == nil {
		check.NoError(t, json.Unmarshal([]byte(text), &p))
		check.That(t, tokens.Estimate(text) <= budget, "budget %d: got %d tokens", budget, tokens.Estimate(text))
	}
	return p, err
}

func TestExpandReturnsExactMessages(t *testing.T) {
	c := imported(t, 50)
	id := storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 11, 40)
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
	storetest.AnswerWith(t, c, 1, 4, "", map[string]string{"weather": "42"})
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

func TestExpandIsScopedToConversation(t *testing.T) {
	c := imported(t, 10)
	there := find(t, c.Store(), "terminal:there")
	deliver(t, there, said(1, "a"), said(2, "b"))
	id := storetest.StoreSummary(t, there, transcript.Leaf, transcript.Worker, 1, 2)
	for arguments, want := range map[string]string{
		fmt.Sprintf(`{"compaction": %d}`, id):    "no compaction",
		`{"from": 4294967297, "to": 8589934592}`: "no messages",
		`{"from": 11, "to": 20}`:                 "no messages",
		`{"from": 5, "to": 4}`:                   "name a range",
		`{"from": -5, "to": 4}`:                  "name a range",
		`{}`:                                     "name a range",
		`{"from": "x"}`:                          "are integers",
	} {
		check.ErrorContains(t, arguments, check.ErrorOf(expandPage(t, c, 1000, arguments)), want)
	}
}

const secret = storetest.Secret

func TestDeletionReachesToolResults(t *testing.T) {
	found := func(seq int) string {
		return fmt.Sprintf(`{"messages":[{"seq":%d,"text":"I play the %s"}]}`, seq, secret)
	}
	t.Run("later search results lose it, and are reported as changed", func(t *testing.T) {
		c := newTalk(t)
		deliver(t, c, said(1, secret), said(2, "b"), storetest.Asking(3, "what did I play?"))
		storetest.AnswerWith(t, c, 3, 4, "", map[string]string{
			"recall": found(1), "expand": found(1), "memory_search": `{"memories":[{"content":"` + secret + `","messages":[2,1]}],"total":1}`,
		})
		storetest.Run(t, c.Store(), "UPDATE messages SET calls = '' WHERE role = 'assistant'") // the model's own words
		check.EqualAll(t, "changed", remove(t, c, 1), []int64{1, 5, 6, 7})
		storetest.WantNoSecret(t, c)
		m := message(t, c, 5)
		check.Equal(t, "text", m.Text, store.DeletedCopyText)
		check.Equal(t, "tokens", m.Tokens, chat.TokensOf(m))
	})
	t.Run("results about others stay", func(t *testing.T) {
		c := newTalk(t)
		deliver(t, c, said(1, "a"), said(2, "b"), storetest.Asking(3, "what did I play?"))
		storetest.AnswerWith(t, c, 3, 4, `{"a":1}`, map[string]string{"recall": found(2), "expand": "no messages stand there"})
		check.EqualAll(t, "changed", remove(t, c, 1), []int64{1, 4})
		check.Equal(t, "answer", message(t, c, 5).Text, found(2))
		check.Len(t, "the reasoning of a later turn", message(t, c, 4).Native, 0)
	})
	t.Run("in its own turn arguments, answers of other programs and the provider's JSON go too", func(t *testing.T) {
		c := newTalk(t)
		deliver(t, c, storetest.Asking(1, "remember the "+secret))
		storetest.AnswerWith(t, c, 1, 2, `{"fields":{"reasoning":"the `+secret+`"}}`, map[string]string{"memory_save": secret, "recall": "nothing of " + secret, "weather": "rain on the " + secret})
		storetest.Run(t, c.Store(), "UPDATE messages SET text = 'Noted.' WHERE tool = 'memory_save'")
		remove(t, c, 1)
		storetest.Run(t, c.Store(), "DELETE FROM message_terms WHERE seq > 1 AND term LIKE 'xyl%'")
		storetest.WantNoSecret(t, c)
		m := message(t, c, 2)
		check.That(t, len(m.Native) == 0 && len(m.Calls) == 3 && m.Calls[2].Arguments == "{}" && m.Tokens == chat.TokensOf(m), "got %+v", m)
	})
	t.Run("an answer that is written later repeats nothing either", func(t *testing.T) {
		c := newTalk(t)
		deliver(t, c, said(1, secret), storetest.Asking(2, "remember my "+secret), storetest.Asking(3, "well?"))
		remove(t, c, 1, 2)
		storetest.AnswerWith(t, c, 2, 4, `{"a":"`+secret+`"}`, map[string]string{"recall": found(1), "memory_save": secret})
		storetest.Run(t, c.Store(), "DELETE FROM message_terms WHERE term LIKE 'xyl%'") // the double's result of memory_save repeats it
		storetest.Run(t, c.Store(), "UPDATE messages SET text = '' WHERE tool = 'memory_save'")
		storetest.WantNoSecret(t, c)
	})
}

func message(t *testing.T, c *store.Conversation, seq int64) chat.Message {
	t.Helper()
	return check.Must(c.Transcript().Message(ctx, seq))(t)
}

func TestRememberingDeletedMessage(t *testing.T) {
	c := newTalk(t)
	deliver(t, c, said(1, "a"), said(2, secret), asking(3, secret))
	d := memory.DraftOf(summarize.MemoryDraft{Kind: "fact", Content: secret, Messages: []int64{2}}, "assistant", "", 0)
	check.NoError(t, c.Store().Update(ctx, func(tx *store.Tx) error { return memory.CheckDraft(c, tx, &d, 1, 3) }))
	remove(t, c, 2)
	err := c.Store().Update(ctx, func(tx *store.Tx) error { return memory.Recheck(c, tx, &d) })
	check.Error(t, err, memory.ErrUnsaid)
	// The model saves nothing of what it is asked when that is deleted.
	remove(t, c, 3)
	_, err = storetest.Call(toolsAt(c, 3), "memory_save", `{"content":"`+secret+`","kind":"fact"}`)
	check.Error(t, err, memory.ErrUnsaid)
	storetest.WantNoSecret(t, c)
}
