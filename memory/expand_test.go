package memory_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/memory"
	"cairn/privacy"
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

func expandPage(t testing.TB, c *store.Conversation, budget int, arguments string) (page, error) {
	t.Helper()
	tool := memory.ExpandTool(c, memory.ToolOptions{Budget: func() int { return budget }})
	text, err := tool.Run(ctx, json.RawMessage(arguments))
	var p page
	if err == nil {
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if n := tokens.Estimate(text); n > budget {
			t.Errorf("budget %d: got %d tokens", budget, n)
		}
	}
	return p, err
}

func TestExpandReturnsExactMessages(t *testing.T) {
	c := storetest.Imported(t, 50)
	id := storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 11, 40)
	storetest.ApplyRows(t, c, id)
	check.Must(privacy.Of(c).Delete(ctx, []string{"m20"}))(t)
	for _, budget := range []int{150, 400, 10_000} {
		var seqs []int64
		pages := 0
		for arguments := fmt.Sprintf(`{"compaction": %d}`, id); ; pages++ {
			p := check.Must(expandPage(t, c, budget, arguments))(t)
			for _, m := range p.Messages {
				seqs = append(seqs, m.Seq)
				check.Equal(t, "text", m.Text, fmt.Sprintf("message number %d", m.Seq))
				check.Equal(t, "who", m.Who, []string{"Ann", "Bob"}[m.Seq%2])
			}
			if p.Next == 0 {
				break
			}
			arguments = fmt.Sprintf(`{"compaction": %d, "from": %d}`, id, p.Next)
			if budget == 150 { // the same by numbers alone
				arguments = fmt.Sprintf(`{"from": %d, "to": %d}`, p.Next, p.To)
			}
		}
		want := "11 12 13 14 15 16 17 18 19 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40"
		if got := strings.Trim(fmt.Sprint(seqs), "[]"); got != want || budget == 150 && pages < 3 {
			t.Errorf("budget %d: got %v in %d pages", budget, got, pages+1)
		}
	}
}

func TestExpandShowsCallsResultsAndFiles(t *testing.T) {
	c := storetest.NewConversation(t)
	asked := storetest.Said(1, "run it")
	asked.Addressed, asked.Attachments = true, []chat.Attachment{{Kind: "file", Name: "a.txt", Text: "ls -l /tmp"}}
	turn := storetest.Deliver(t, c, asked)[0].Seq
	rows := []chat.Message{
		{Seq: turn + 1, Turn: turn, Role: llm.RoleAssistant, Calls: []llm.Call{{ID: "1", Name: "look", Arguments: `{"at":"x"}`}}, Time: storetest.Day},
		{Seq: turn + 2, Turn: turn, Role: llm.RoleTool, CallID: "1", Tool: "look", Text: "42", Time: storetest.Day},
		{Seq: turn + 3, Turn: turn, Role: llm.RoleAssistant, Text: "It is 42.", Time: storetest.Day},
	}
	check.NoError(t, c.Turns().Finish(ctx, store.Outcome{Turn: turn, Messages: rows, Reply: "r", Pieces: []string{"x"}}))
	p, err := expandPage(t, c, 1000, `{"from": 1, "to": 4}`)
	if err != nil || len(p.Messages) != 4 || !strings.Contains(p.Messages[0].Text, "ls -l /tmp") || p.Messages[1].Calls[0] != `look {"at":"x"}` || p.Messages[2].Text != "42" || p.Messages[2].Who != "tool look" {
		t.Errorf("got %+v, %v", p, err)
	}
}

func TestExpandIsBounded(t *testing.T) {
	c := storetest.NewConversation(t)
	check.Must(c.Past().Import(ctx, []store.Inbound{storetest.Said(1, "begin "+strings.Repeat("word ", 5000)+"end"), storetest.Said(2, "short")}))(t)
	p, err := expandPage(t, c, 300, `{"from": 1, "to": 9999999999999}`)
	if err != nil || len(p.Messages) != 1 || p.Next != 2 || !strings.HasPrefix(p.Messages[0].Text, "begin ") || !strings.HasSuffix(p.Messages[0].Text, "end") || !strings.Contains(p.Messages[0].Text, "characters left out") {
		t.Errorf("got %.300v, %v", p, err)
	}
	if p, err = expandPage(t, c, 300, `{"from": 2, "to": 2}`); err != nil || len(p.Messages) != 1 || p.Next != 0 {
		t.Errorf("got %+v, %v", p, err)
	}
}

func TestExpandIsScopedToConversation(t *testing.T) {
	c := storetest.Imported(t, 10)
	there := storetest.Find(t, c.Store(), "terminal:there")
	storetest.Deliver(t, there, storetest.Said(1, "a"), storetest.Said(2, "b"))
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

func TestMemoriesMaskSecrets(t *testing.T) {
	key := "ghp_" + "k7Zq2WvR9xLbT4mYc8HsJ5nPd3GfA6uEoKi1"
	c := storetest.Imported(t, 20)
	job := func(by transcript.By, from int64) summarize.Job {
		return storetest.Begin(t, c, transcript.Leaf, by, from, from+4)
	}
	draft := func(content string, messages ...int64) summarize.MemoryDraft {
		return summarize.MemoryDraft{Kind: "fact", Content: content, Messages: messages}
	}
	arguments := func(content string, message int) string {
		return fmt.Sprintf(`{"content": %q, "kind": "fact", "messages": [%d]}`, content, message)
	}
	for name, save := range map[string]func(content string) error{
		"in conversation": func(content string) error {
			return check.ErrorOf(storetest.Call(memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return 1 }}), "memory_save", arguments(content, 1)))
		},
		"by a worker": func(content string) error {
			j := job(transcript.Worker, 1)
			_, err := storetest.Call(j.Tools(5), "memory_save", arguments(content, 2))
			return errors.Join(err, check.ErrorOf(j.Store(ctx, summarize.Summary{Text: "x", Tokens: 5})))
		},
		"by the extractive summarizer": func(content string) error {
			return check.ErrorOf(job(transcript.Extractive, 6).Store(ctx, summarize.Summary{Text: "x", Tokens: 5, Memories: []summarize.MemoryDraft{draft(content, 7)}}))
		},
		"by a person": func(content string) error {
			return check.ErrorOf(memory.Of(c).Keep(ctx, memory.KeepRequest{MemoryDraft: draft(content), Person: "Ann"}))
		},
	} {
		if err := save(name + ": the token is " + key); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		found, err := storetest.Search(memory.Of(c), ctx, name, 1)
		if err != nil || len(found) != 1 || found[0].Content != name+": the token is [masked: github pat]" {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
	check.Equal(t, "found by the secret", len(check.Must(storetest.Search(memory.Of(c), ctx, key, 10))(t)), 0)
}

func TestRepetitionSavesNothingTwice(t *testing.T) {
	c := storetest.Imported(t, 10)
	j := storetest.Begin(t, c, transcript.Leaf, transcript.Worker, 1, 5)
	save := func(content string, seq int) {
		t.Helper()
		check.Must(j.Tools(5)[0].Run(ctx, json.RawMessage(fmt.Sprintf(`{"content": %q, "kind": "fact", "messages": [%d]}`, content, seq))))(t)
	}
	save("first", 1)
	takeBack := j.Mark()
	save("second", 2)
	save("first", 3) // which gives the first one another source
	takeBack()
	save("third", 4)
	check.Must(j.Store(ctx, summarize.Summary{Text: "x", Tokens: 5, Model: "another"}))(t)
	found, err := storetest.Search(memory.Of(c), ctx, "", 10)
	var got []string
	for _, m := range found {
		got = append(got, fmt.Sprint(m.Content, m.Sources))
	}
	check.NoError(t, err)
	check.Equal(t, "the order", strings.Join(got, " "), "third[4] first[1]")
}
