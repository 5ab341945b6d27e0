package channel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"cairn/channel/access"
	"cairn/channel/task"
	"cairn/compactor"
	"cairn/llm"
	"cairn/store"
)

// conversation is a channel, a thread or a direct message. Its loop owns it: one goroutine that runs what others post to the
// inbox, in order. Long work runs in a child, at most one at a time besides summaries; it reaches the loop's fields through do.
type conversation struct {
	*site
	loop // what runs here

	// These are safe for concurrent use.
	voice     // in which the bot speaks
	sender    sender
	approvals approvals
	usage     usage // of models
	edits     edits
	tasks     *task.Parent // that it starts

	// The loop replaces it while the child waits for that; zero until the conversation has been opened.
	service

	// Only the loop uses these fields.
	arrivals    arrivals         // messages that wait or came last
	unannounced *compactor.Event // the last compaction that people have not heard of

	// Only the child uses these fields, and the loop while no child runs; others set what imports reads.
	backfill backfill
	imports  importReader
	failures failures
	task     *task.Run // that the conversation is; nil: none
}

// site is where a conversation is held. It never changes.
type site struct {
	*environment
	name      string
	connector Connector // nil: it is not open, and only the operator works on the conversation
	records   *store.Conversation
	log       *slog.Logger
}

// observer returns the connector if it follows its conversations, and otherwise nil.
func (s *site) observer() Observer {
	observer, _ := s.connector.(Observer)
	return observer
}

// calls returns the limit of model calls here.
func (s *site) calls() access.Calls { return s.access.Calls(s.account(), s.log) }

// remembered reports a new memory to those who follow the conversation.
func (s *site) remembered(id int64, kind, content string) {
	if observer := s.observer(); observer != nil {
		observer.Remembered(s.name, id, kind, content)
	}
	if hook := s.o.Remembered; hook != nil {
		hook(s.name, id, kind, content)
	}
}

// service is who answers, and by which rules. It is replaced as a whole, while no turn runs.
type service struct {
	answerer

	// Only the loop uses these.
	rules     *access.Rules // as of the last read of the settings; nil: they must be read again
	elsewhere int64         // see store.Upkeep.WrittenElsewhere
	seen      int64         // the same, of the last change while a summary was being written
}

// answerer is the agent that answers, with what it needs for that, and what is known of its model. A running turn uses it.
type answerer struct {
	agent    Agent
	policy   *policy
	tools    []llm.Tool
	window   *window
	standsIn bool // the model is one of the agent's fallback, and the engine measures prompts for another one
	pictures pictures
	inWords  bool // the model refused the form of tool calls, so they are sent as text
	filter   promptFilter
}

func newConversation(env *environment, name string, connector Connector, records *store.Conversation) *conversation {
	at := env.place(name, connector, records)
	life, end := context.WithCancel(env.life)
	c := &conversation{
		site:  at,
		loop:  loop{life: life, end: end, inbox: inbox{signal: make(chan struct{}, 1), ended: make(chan struct{})}},
		voice: voice{site: at},
		usage: usage{site: at},
		edits: edits{records: records, forgotten: env.forgotten},
	}
	c.edits.wake = c.wake
	c.sender = sender{voice: &c.voice, loop: &c.loop, writers: make(map[string]Writer)}
	c.approvals = approvals{sender: &c.sender}
	c.arrivals = newArrivals(name, at.observer(), c.inbox.post)
	c.backfill = backfill{site: at, catchUp: env.o.CatchUp, edits: &c.edits, loop: &c.loop, arrivals: &c.arrivals}
	c.imports = importReader{site: at, loop: &c.loop, arrivals: &c.arrivals}
	c.tasks = env.tasks.Parent(records, c, at.log)
	c.task = env.tasks.Run(records, at.log)
	if c.task != nil { // which has its own limit
		c.backfill.catchUp = 0
	}
	return c
}

// use returns a conversation, opened if necessary, that stays open until release.
func (h *Hub) use(ctx context.Context, name string) (*conversation, error) {
	connector, known := h.connectors[connectorOf(name)]
	if !known {
		return nil, fmt.Errorf("no connector is open for %q", name)
	}
	if c, err := h.find(name, nil); c != nil || err != nil {
		return c, err
	}
	records, err := h.o.Store.Conversation(ctx, name)
	if err != nil {
		return nil, err
	}
	return h.enter(ctx, name, connector, records)
}

// enter is use for a conversation that is stored. ErrOwned: another process owns it.
func (h *Hub) enter(ctx context.Context, name string, connector Connector, records *store.Conversation) (*conversation, error) {
	owned, err := h.fleet.own(ctx, records)
	if err != nil {
		return nil, err
	}
	return h.find(name, newConversation(h.environment, name, connector, owned))
}

// wake makes a conversation check for work, and opens it if necessary. If another process owns it, that one does.
func (h *Hub) wake(ctx context.Context, name string) error {
	err := h.wakeOwn(ctx, name)
	if !errors.Is(err, store.ErrOwned) {
		return err
	}
	records, err := h.o.Store.Find(ctx, name)
	if err != nil {
		return err
	}
	return records.Wake(ctx)
}

// wakeOwn is wake for a conversation of this process.
func (h *Hub) wakeOwn(ctx context.Context, name string) error {
	c, err := h.use(ctx, name)
	if err == nil {
		c.wake()
		h.release(c)
	}
	return err
}

// How a conversation handles a bug in its own code.

// guard runs a step of the loop.
func (c *conversation) guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			c.panicked(p, debug.Stack())
		}
	}()
	f()
}

// panicked notes a bug: once the child has ended, the loop drops the engine, and the next child loads it again. Only the loop calls it.
func (c *conversation) panicked(p any, stack []byte) {
	c.log.Error("conversation_panicked", "panic", p, "stack", string(stack))
	c.runs.broken = true
	c.runs.panics++
	if c.engine != nil {
		c.engine.Close()
	}
	c.inbox.post(func() {}) // the loop notices it even if nothing else happens
}

var errPanicked = errors.New("a bug: the conversation panicked, and is loaded again")

// delay returns how long to wait before a retry: longer with each panic.
func (r *runs) delay() time.Duration { return retryDelay << min(max(r.panics-1, 0), 6) }

// workGuarded is work; a panic becomes an error.
func (c *conversation) workGuarded(ctx context.Context, resume bool) (err error) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case any(ErrClosed), any(errPanicked): // the loop has logged it
			err = p.(error)
		default:
			err = errPanicked
			stack := debug.Stack()
			c.inbox.post(func() { c.panicked(p, stack) })
		}
	}()
	return c.work(ctx, resume)
}

// askWaiters asks who still waits.
func (c *conversation) askWaiters() {
	c.runs.waiters = slices.DeleteFunc(c.runs.waiters, func(ask func() bool) bool {
		ended := true
		c.guard(func() { ended = ask() })
		return ended
	})
}
