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
	"cairn/internal/observe"
	"cairn/llm"
	"cairn/store"
)

// conversation is a channel, a thread or a direct message. Its loop owns it: one goroutine that runs what others post to the
// inbox, in order. Long work runs in a child, at most one at a time besides summaries; it reaches the loop's fields through do.
type conversation struct {
	hub       *Hub
	name      string
	connector Connector // nil: it is not open, and only the operator works on the conversation
	records   *store.Conversation
	log       *slog.Logger
	calls     access.Calls // its limit of model calls

	usage  []store.Usage               // of models, which the database does not have yet; guarded by hub.mu
	inbox  inbox                       // safe for concurrent use, like the next
	sender sender                      // of replies
	turn   atomic.Pointer[runningTurn] // nil: no turn is running

	// The loop writes these, and any goroutine may read them.
	engineStatus atomic.Pointer[func() compactor.Status]
	speaks       atomic.Pointer[string] // code of the language; nil until the conversation has been opened

	// Only the loop uses these fields.
	service             // who answers; zero until the conversation has been opened
	runs        runs    // of the child
	arrivals    arrival // messages that wait or came last
	edits       edits
	unannounced *compactor.Event // the last compaction that people have not heard of

	// Only the child uses these fields.
	backfill
	failures failures
}

// service is who answers. It is replaced as a whole, while no turn runs.
type service struct {
	agent   Agent
	rules   *access.Rules        // as of the last read of the settings
	engine  *compactor.Compactor // only the loop uses it
	policy  *policy
	tools   []llm.Tool
	window  *window
	unfit   map[int64]bool // pictures the model refused, by file
	inWords bool           // the model refused the form of tool calls, so they are sent as text
	filter  promptFilter

	elsewhere int64 // see store.Upkeep.WrittenElsewhere
	seen      int64 // the same, of the last change while a summary was being written
}

// arrival is what the loop knows about incoming messages.
type arrival struct {
	incoming map[string]compactor.Patch // the settings that came with messages without a place, by id
	awaited  string                     // the newest message that waits for an answer; "": none
	asked    chan struct{}              // closed while a message waits for an answer, see Awaited
	newest   string                     // the newest message with a place that the platform knows; "": none since the conversation was opened
}

// runningTurn is a turn while the model answers it.
type runningTurn struct {
	store.Turn
	stop      context.CancelCauseFunc
	step      *observe.Step // nil: no one observes the turn
	outcome   string        // one of observe.Outcomes, so far
	sawChange bool          // something was edited or deleted since the turn began; only the loop uses it
	half      string        // what an attempt that failed had written; "": nothing
	outdated  bool          // the same since its tools began to run; of another agent, since its last request

	approval atomic.Pointer[Approval] // the tool call that waits for permission; nil: none
}

// turnSeq returns the seq of the running turn; 0: none.
func (c *conversation) turnSeq() int64 {
	if turn := c.turn.Load(); turn != nil {
		return turn.Seq
	}
	return 0
}

func newConversation(h *Hub, name string, connector Connector, records *store.Conversation) *conversation {
	c := &conversation{
		hub: h, name: name, connector: connector, records: records, log: h.o.Log.With("conversation", name),
		inbox:    inbox{signal: make(chan struct{}, 1), ended: make(chan struct{})},
		arrivals: arrival{incoming: make(map[string]compactor.Patch), asked: make(chan struct{})},
	}
	c.calls = h.access.Calls(c.account(), c.log)
	c.sender = sender{c: c, writers: make(map[string]Writer)}
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
