package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cairn/internal/check"

	"cairn/channel"
	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/llm"
	"cairn/memory"
	"cairn/store"
)

// TestOutputOfHostileText: a pager may pass control characters to the terminal, too.
func TestOutputOfHostileText(t *testing.T) {
	t.Parallel()
	p := newFolder(t)
	const said = "red \x1b[31malert\u202e \u009b2J\tend\nnext"
	db := check.Must(store.Open(t.Context(), store.Options{Dir: filepath.Join(p.dir, "data")}))(t)
	conversation := check.Must(db.Conversation(t.Context(), "terminal:general"))(t)
	check.Must(conversation.Past().Import(t.Context(), []channel.Inbound{{ID: "1", AuthorID: "Bo", Author: "Bo", Text: said}}))(t)
	check.Must(memory.Of(conversation).Keep(t.Context(), memory.KeepRequest{MemoryDraft: summarize.MemoryDraft{Kind: "fact", Content: "Bo \u202esaid\u202c \u009bit"}, Person: "Bo"}))(t)
	check.Must(conversation.Inbox().Deliver(t.Context(), channel.Inbound{ID: "2", Author: "Bo", Text: "So?", Addressed: true}))(t)
	check.Must(conversation.Inbox().Dequeue(t.Context(), store.All, 1000, time.Time{}))(t)
	check.NoError(t, conversation.Turns().Finish(t.Context(), store.Outcome{Turn: 2, Messages: []chat.Message{
		{Seq: 3, Turn: 2, Role: llm.RoleAssistant, Calls: []llm.Call{{ID: "c", Name: "recall", Arguments: "{}"}}},
		{Seq: 4, Turn: 2, Role: llm.RoleTool, CallID: "c", Tool: "recall", Text: "nothing"},
		{Seq: 5, Turn: 2, Role: llm.RoleAssistant},
	}}))
	check.NoError(t, db.Close())

	t.Run("what a stranger wrote cannot change a terminal", func(t *testing.T) {
		for _, args := range [][]string{
			{"transcript"}, {"transcript", "--json"}, {"recall", "next"}, {"recall", "next", "--json"}, {"memories", "list"}, {"memories", "show", "1"}, {"context"},
		} {
			out := p.must("", args...)
			check.That(t, out != "" && !strings.ContainsAny(out, "\x1b\u202e\u202c\u009b\a"), "%s: %q", args, out)
		}
		check.Contains(t, "output", p.must("", "transcript"), "Bo: red [31malert 2J\tend\n       next\n")
	})
	t.Run("JSON is given it as it is", func(t *testing.T) {
		rows := parse[chat.Record](t, p.must("", "transcript", "--json"))
		check.Len(t, "rows", rows, 5)
		check.Equal(t, "first row", rows[0].Text, said)
	})
	t.Run("people see a call, and no row that says nothing", func(t *testing.T) {
		out := p.must("", "transcript")
		check.Contains(t, "out", out, "assistant: → recall {}\n")
		check.Lacks(t, "out", out, "#5")
	})
}

func TestRows(t *testing.T) {
	call := llm.Call{Name: "memory_search", Arguments: "{\"query\":\n  \"" + strings.Repeat("tea ", 100) + "\"}"}
	for _, test := range []struct {
		name   string
		row    chat.Message
		want   string
		silent bool
	}{
		{"a message", chat.Message{Role: llm.RoleUser, Author: "Ada", Text: "hi"}, "Ada: hi", false},
		{"an answer", chat.Message{Role: llm.RoleAssistant, Text: "hi"}, "assistant: hi", false},
		{"an empty answer", chat.Message{Role: llm.RoleAssistant, Text: " "}, "", true},
		{"a call", chat.Message{Role: llm.RoleAssistant, Calls: []llm.Call{call}}, `assistant: → memory_search {"query": "tea tea `, false},
		{"words and a call", chat.Message{Role: llm.RoleAssistant, Text: "I look.", Calls: []llm.Call{call}}, "assistant: I look.\n       → memory_search", false},
	} {
		r := chat.RecordOf(test.row)
		text := r.String()
		if r.Empty() != test.silent || !strings.Contains(text, test.want) || len([]rune(text)) > 160 {
			t.Errorf("%s: silent %t, %q", test.name, r.Empty(), text)
		}
	}
}
