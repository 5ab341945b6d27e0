package task

import (
	"context"
	"log/slog"
	"os"
	"testing"

	"cairn/chat"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

func TestMain(m *testing.M) {
	check.InMemory()
	os.Exit(m.Run())
}

// quiet is a runtime that runs no conversation.
type quiet struct{}

func (quiet) Limits(string) (Limits, bool)       { return Limits{}, true }
func (quiet) Wake(context.Context, string) error { return nil }
func (quiet) Interrupt(string)                   {}
func (quiet) Report(store.Task)                  {}

// terms are what a conversation decides about a task that starts now.
type terms Terms

func (t terms) Terms() (Terms, error) { return Terms(t), nil }

// A message may be deleted after it was read for a task's briefing, and before the task is stored.
func TestDeletionBeforeTaskIsStored(t *testing.T) {
	for name, c := range map[string]struct {
		sources []chat.Message // that the task comes from
		want    string
	}{
		"a task whose briefing had the message begins without it": {nil, ""},
		"a task that comes from the message is refused":           {[]chat.Message{{Seq: 1}}, "message #1, which the task comes from, was deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			records := storetest.NewConversation(t)
			storetest.Deliver(t, records, storetest.Said(1, "the code is 4711"), storetest.Said(2, "count the ships"))
			log := slog.New(slog.DiscardHandler)
			service := &Service{Store: records.Store(), Runtime: quiet{}, Log: log}
			parent := service.Parent(records, terms{Agents: []string{"one"}, Next: 3}, log)
			o := order{assignment: assignment{Agent: "one", Task: "count"}, sources: c.sources, author: "u1"}
			written := check.Must(parent.write(t.Context(), o))(t)
			check.Contains(t, "briefing", written.Message, "4711", "count the ships")
			storetest.Remove(t, records, 1)
			started, err := parent.begin(t.Context(), written, o)
			if c.want != "" {
				check.ErrorContains(t, "begin", err, c.want)
				return
			}
			check.NoError(t, err)
			check.Equal(t, "author of the task", started.Author, "u1")
			child := check.Must(records.Store().Find(t.Context(), started.Conversation))(t)
			due := check.Must(child.Inbox().Due(t.Context()))(t)
			messages := check.Must(child.Inbox().Dequeue(t.Context(), due.Last, 10_000, started.Created.AddDate(-1, 0, 0)))(t)
			check.Contains(t, "briefing without the message", messages[0].Text, "count the ships")
			check.Lacks(t, "briefing without the message", messages[0].Text, "4711")
		})
	}
}
