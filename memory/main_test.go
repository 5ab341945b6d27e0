package memory_test

import (
	"context"
	"fmt"
	"testing"

	"cairn/compactor/summarize"
	"cairn/llm"
	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

var (
	ctx                  = context.Background()
	said, asking         = storetest.Said, storetest.Asking
	deliver, deliverOnly = storetest.Deliver, storetest.DeliverOnly
	find, keep           = storetest.Find, storetest.Keep
	dump, number, remove = storetest.Dump, storetest.Number, storetest.Remove
	imported, newTalk    = storetest.Imported, storetest.NewConversation
	details, message     = storetest.Memory, storetest.Message
	toolsAt, worker      = storetest.ToolsAt, storetest.Worker
)

func call(t check.Tester, tools []llm.Tool, name, arguments string) string {
	t.Helper()
	return check.Must(storetest.Call(tools, name, arguments))(t).Text
}

// save saves a fact of a message with a tool, and returns its answer; more are further arguments.
func save(t check.Tester, tools []llm.Tool, content string, message int64, more string) string {
	t.Helper()
	return call(t, tools, "memory_save", arguments(content, message, more))
}

func arguments(content string, message int64, more string) string {
	return fmt.Sprintf(`{"content": %q, "kind": "fact", "messages": [%d]%s}`, content, message, more)
}

// finish stores a job's summary, and returns the new memories.
func finish(t testing.TB, j summarize.Job, drafts ...summarize.MemoryDraft) []summarize.MemoryDraft {
	t.Helper()
	return check.Must(j.Store(ctx, summarize.Summary{Text: "summary", Tokens: 2, Memories: drafts}))(t)
}

// searched returns what a search finds, at most limit.
func searched(t testing.TB, c *store.Conversation, query string, limit int) []memory.Memory {
	t.Helper()
	found, _, err := memory.Of(c).List(ctx, memory.Filter{Query: query, Limit: limit})
	check.NoError(t, err)
	return found
}

// wantContents compares the active memories, the newest row last.
func wantContents(t *testing.T, c *store.Conversation, want ...string) {
	t.Helper()
	check.EqualAll(t, "memories", storetest.Contents(t, c), storetest.Map(want, func(content string) string { return "fact: " + content }))
}
