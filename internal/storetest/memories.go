// Memories, and search results.

package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/memory"
	"cairn/store"
)

// Call runs the tool with a name.
func Call(tools []llm.Tool, name, arguments string) (string, error) {
	for _, tool := range tools {
		if tool.Name == name {
			return tool.Run(Ctx, json.RawMessage(arguments))
		}
	}
	return "", fmt.Errorf("no tool %s", name)
}

// Recalled returns the messages that match a word of the query.
func Recalled(t *testing.T, c *store.Conversation, query string) []int64 {
	t.Helper()
	found := check.Must(memory.Of(c).Recall(Ctx, memory.Question{Text: query, Limit: 10, Before: store.MaxSeq}))(t)
	var list []int64
	for _, f := range found {
		if f.Parts[0].Name == "words" {
			list = append(list, f.Seq)
		}
	}
	return list
}

// Contents lists the active memories, the newest row last, as "kind: content".
func Contents(t *testing.T, c *store.Conversation) []string {
	t.Helper()
	found, _, err := memory.In(c.Store()).List(Ctx, memory.Filter{Conversation: c.Name()})
	check.NoError(t, err)
	slices.SortFunc(found, func(a, b memory.Memory) int { return int(a.ID - b.ID) })
	var list []string
	for _, m := range found {
		list = append(list, m.Kind+": "+m.Content)
	}
	return list
}

// Memory returns a memory in any state.
func Memory(t *testing.T, s *store.Store, id int64) memory.Memory {
	t.Helper()
	return check.Must(memory.In(s).Details(Ctx, id))(t).Memory
}

// Part returns how much a part adds to the score of a found message.
func Part(f memory.Found, name string) float64 {
	for _, p := range f.Parts {
		if p.Name == name {
			return p.Value
		}
	}
	return 0
}

// Keep saves a fact, from messages if any are named.
func Keep(t testing.TB, c *store.Conversation, person, content string, messages ...int64) memory.Saved {
	t.Helper()
	return check.Must(memory.Of(c).Keep(Ctx, memory.KeepRequest{MemoryDraft: summarize.MemoryDraft{Kind: "fact", Content: content, Messages: messages}, Person: person, PersonID: People[person]}))(t)
}

// People are the IDs of the authors in Said.
var People = map[string]string{"Ann": "0", "Bob": "1"}
