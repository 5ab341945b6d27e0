package channel

import (
	"context"
	"errors"
	"slices"
	"strings"

	"cairn/channel/task"
	"cairn/compactor"
	"cairn/store"
)

// What package task needs of the hub and of a conversation, and the connector of tasks.

// errPart ends a part of a task.
var errPart = errors.New("this part of the task is done")

// account returns whose limits count the calls made here: for a task, the people's conversation above it.
func (s *site) account() string {
	root, _ := store.RootOf(s.name)
	return root
}

// Terms returns those of a task that the conversation starts now.
func (c *conversation) Terms() (terms task.Terms, err error) {
	err = c.tryDo(func(e *compactor.Compactor) {
		terms = task.Terms{
			Agents: c.agent.Spawn, Limits: c.agent.Tasks, Above: compactor.Merge(c.agent.layers(), c.policy.stored),
			Next: e.View().Next, Turn: c.turnSeq(),
		}
	})
	return terms, err
}

// taskRuntime runs the conversations of tasks.
type taskRuntime struct{ hub *Hub }

func (r taskRuntime) Limits(agent string) (task.Limits, bool) {
	a, known := r.hub.agents().named(agent)
	return a.Tasks, known
}

func (r taskRuntime) Wake(ctx context.Context, conversation string) error {
	return r.hub.wake(ctx, conversation)
}

func (r taskRuntime) Interrupt(conversation string) {
	for c := range r.hub.all() {
		for above := c.name; connectorOf(above) == store.TaskConnector; above = store.ParentOf(above) {
			if above == conversation {
				c.interrupt()
			}
		}
	}
}

func (r taskRuntime) Report(t store.Task) {
	root, _ := store.RootOf(t.Conversation)
	if o, ok := r.hub.connectors[connectorOf(root)].(Observer); ok {
		o.Task(root, t)
	}
	if r.hub.o.Task != nil {
		r.hub.o.Task(t)
	}
}

// taskConnector is the connector of tasks, and the writer of one: their answers go to the conversation above.
type taskConnector struct {
	service      *task.Service
	conversation string // of the writer
}

var (
	_ Connector = taskConnector{}
	_ Attended  = taskConnector{}
)

func (taskConnector) Name() string               { return store.TaskConnector }
func (taskConnector) Split(text string) []string { return []string{text} }
func (taskConnector) Attended(string) bool       { return false }
func (taskConnector) Show(string)                {}
func (taskConnector) Cancel()                    {}

func (w taskConnector) Reply(conversation string, _ []string) Writer {
	return taskConnector{w.service, conversation}
}

// Send gives the task its answer.
func (w taskConnector) Send(ctx context.Context, piece Piece) (id string, err error) {
	run, err := w.service.Find(ctx, w.conversation)
	if err != nil {
		return "", err
	}
	switch {
	case parseReplyID(piece.Reply).kind == replyFailed:
		err = run.End(ctx, store.TaskFailed, strings.TrimSuffix(piece.Text, "."))
	case !piece.Failure: // otherwise it is a notice, for people
		err = run.Answer(ctx, piece.Text, piece.To)
	}
	return piece.Reply, err
}

// openTasks returns the open tasks of the matching conversations that are not paused.
func (o Operator) openTasks(ctx context.Context, match func(conversation string) bool) ([]store.Task, error) {
	open, err := o.hub.o.Store.OpenTasks(ctx)
	return slices.DeleteFunc(open, func(t store.Task) bool {
		root, _ := store.RootOf(t.Conversation)
		here, all, _ := o.Paused(ctx, root)
		return !match(root) || here || all
	}), err
}
