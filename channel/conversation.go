package channel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"cairn/channel/access"
	"cairn/compactor"
	"cairn/llm"
	"cairn/store"
)

// conversation is a channel, a thread or a direct message. Its loop owns it: one goroutine that runs what others post to the
// inbox, in order. Long work runs in a child, at most one at a time besides summaries; it reaches the loop's fields through do.
type conversation struct {
	site
	hub   *Hub
	calls access.Calls // its limit of model calls

	loop // what runs here

	// These are safe for concurrent use.
	published        // what the loop shows to others
	sender    sender // of replies
	usage     usage  // of models
	edits     *edits

	// Only the loop uses these fields.
	service                      // who answers; zero until the conversation has been opened
	arrivals    arrivals         // messages that wait or came last
	unannounced *compactor.Event // the last compaction that people have not heard of

	// Only the child uses these fields, and the loop while no child runs; others set what imports reads.
	backfill  backfill
	imports   importReader
	failures  failures
	lookAgain time.Time // when a task looks for work; zero: when something arrives
}

// published is what any goroutine may read and write of a conversation.
type published struct {
	turn         atomic.Pointer[turn]     // nil: no turn is running
	approval     atomic.Pointer[Approval] // the tool call that waits for permission; nil: none
	engineStatus atomic.Pointer[func() compactor.Status]
	speaks       atomic.Pointer[string] // code of the language; nil until the conversation has been opened
}

// publish shows the fill of the window.
func (p *published) publish(e *compactor.Compactor) {
	status := e.StatusReader()
	p.engineStatus.Store(&status)
}

// turnSeq returns the seq of the running turn; 0: none.
func (p *published) turnSeq() int64 {
	if turn := p.turn.Load(); turn != nil {
		return turn.Seq
	}
	return 0
}

// status returns the fill of the window. The conversation must be open.
func (p *published) status() compactor.Status { return (*p.engineStatus.Load())() }

// activity returns what the conversation is doing; ok is false while it is being opened.
func (p *published) activity() (g Activity, ok bool) {
	if p.engineStatus.Load() == nil {
		return g, false
	}
	now := p.status()
	return Activity{
		Used: now.Used, Window: now.Window, Answering: p.turn.Load() != nil,
		Summarizing: now.Running != nil, Paused: now.Paused != "" && now.Policy.Enabled,
	}, true
}

// site is where a conversation is held. It never changes.
type site struct {
	name      string
	connector Connector // nil: it is not open, and only the operator works on the conversation
	records   *store.Conversation
	log       *slog.Logger
}

// service is who answers, and by which rules. It is replaced as a whole, while no turn runs.
type service struct {
	answerer
	rules  *access.Rules        // as of the last read of the settings
	engine *compactor.Compactor // only the loop uses it
	policy *policy

	elsewhere int64 // see store.Upkeep.WrittenElsewhere
	seen      int64 // the same, of the last change while a summary was being written
}

// answerer is the agent that answers, with what it needs for that, and what is known of its model. A running turn uses it.
type answerer struct {
	agent    Agent
	tools    []llm.Tool
	window   *window
	pictures pictures
	inWords  bool // the model refused the form of tool calls, so they are sent as text
	filter   promptFilter
}

func newConversation(h *Hub, name string, connector Connector, records *store.Conversation) *conversation {
	at := site{name: name, connector: connector, records: records, log: h.o.Log.With("conversation", name)}
	observer, _ := connector.(Observer)
	c := &conversation{
		site: at, hub: h, calls: h.access.Calls(at.account(), at.log),
		loop:  loop{life: h.ctx, inbox: inbox{signal: make(chan struct{}, 1), ended: make(chan struct{})}},
		usage: usage{site: at, access: h.access, observer: observer, counted: h.o.Counted},
	}
	c.sender = sender{site: at, host: c, writers: make(map[string]Writer)}
	c.edits = &edits{records: records, wake: c.wake}
	c.arrivals = newArrivals(name, observer, c.inbox.post)
	c.backfill = backfill{
		site: at, access: h.access, catchUp: h.o.CatchUp, completion: completion{at}, edits: c.edits, host: c,
	}
	c.imports = importReader{site: at, host: c}
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
	return h.find(name, newConversation(h, name, connector, records))
}

// wake makes a conversation check for work, and opens it if necessary.
func (h *Hub) wake(ctx context.Context, name string) error {
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

// panicked has the conversation be loaded again from storage. Only the loop calls it.
func (c *conversation) panicked(p any, stack []byte) {
	c.log.Error("conversation_panicked", "panic", p, "stack", string(stack))
	c.runs.broken = true
	c.runs.panics++
	if c.engine != nil {
		c.engine.Close()
	}
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
