package privacy_test

import (
	"context"
	"fmt"
	"testing"

	"cairn/llm"
	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

var (
	ctx                  = context.Background()
	asking, said         = storetest.Asking, storetest.Said
	deliver, deliverOnly = storetest.Deliver, storetest.DeliverOnly
	find, keep, remove   = storetest.Find, storetest.Keep, storetest.Remove
	imported, newTalk    = storetest.Imported, storetest.NewConversation
	message              = storetest.Message
	number, wantNoSecret = storetest.Number, storetest.WantNoSecret
)

const secret = storetest.Secret

// wantSeqs compares the messages of a conversation that are not deleted.
func wantSeqs(t *testing.T, c *store.Conversation, want ...int64) {
	t.Helper()
	check.EqualAll(t, "transcript", storetest.Seqs(check.Must(c.Transcript().Page(ctx, 1, 500))(t)), want)
}

func wantNoMemory(t *testing.T, c *store.Conversation, ids ...int64) {
	t.Helper()
	for _, id := range ids {
		check.Error(t, check.ErrorOf(memory.In(c.Store()).Details(ctx, id)), store.ErrNotFound)
	}
}

func foundBy(t *testing.T, c *store.Conversation, turn int64, tool, query string) llm.Result {
	t.Helper()
	return check.Must(storetest.Call(storetest.ToolsAt(c, turn), tool, fmt.Sprintf(`{"query":%q}`, query)))(t)
}

// answerFinding answers a turn in which a tool found something, which the answer quotes as the one without a model does.
func answerFinding(t *testing.T, c *store.Conversation, turn int64, tool string, found llm.Result) {
	t.Helper()
	storetest.AnswerWith(t, c, storetest.Answer{Turn: turn, First: turn + 1}, map[string]llm.Result{tool: found, "reply": {Text: "This is what I found:\n- Ann: “" + found.Text + "”"}})
	storetest.Run(t, c.Store(), "UPDATE messages SET calls = '' WHERE role = 'assistant'") // the double's call repeats it
}
