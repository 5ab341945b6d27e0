package channel

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"cairn/compactor"
	"cairn/internal/observe"
	"cairn/llm"
	"cairn/memory"
)

// conversation is a channel, a thread or a direct message. Its loop owns it: one goroutine
// that runs what others post to the inbox, one event after the other. What takes long runs
// in a child, at most one at a time besides summaries; it reaches the loop's fields by do.
type conversation struct {
	hub       *Hub
	name      string
	connector Connector
	records   *memory.Conversation
	log       *slog.Logger

	users     int          // guarded by hub.mu
	inbox     inbox        // safe for concurrent use, as what follows
	sender    sender       // of replies
	usage     pendingUsage // of models
	bots      botTurns
	turn      atomic.Pointer[runningTurn] // nil: none runs
	published                             // by the loop

	// Of the loop alone.
	service          // who answers; the zero value before the conversation was opened
	runs     runs    // of the child
	arrivals arrival // messages that wait or came last
	edits    edits
	news     *compactor.Event // the last compaction that people do not know of

	// Of the child alone.
	backfill backfill
	failures failures
	taskLeft int // calls that the task may still make when a part begins; 0: not known
}

// published is what any goroutine may read of the loop's.
type published struct {
	gauge   atomic.Pointer[func() compactor.Gauge]
	settled atomic.Pointer[settled] // language; nil before the conversation was opened
}

// service is who answers. It is replaced as a whole, while no turn runs.
type service struct {
	agent   Agent
	rules   *Rules               // of the time when the settings were read
	engine  *compactor.Compactor // only the loop uses it
	policy  *policy
	tools   []llm.Tool
	window  *window
	unfit   map[int64]bool // pictures the model refused, by file
	inWords bool           // it refused how tools were used: that is sent as text

	headChanged bool // summaries replaced messages since the language was settled
}

// arrival is what the loop knows of messages that arrived.
type arrival struct {
	acks    map[string]*time.Timer     // of messages whose place the connector does not know yet, by id
	awaited string                     // the newest message that somebody wants an answer to; "": none
	newest  string                     // the newest one with a place; "": none since the conversation was opened
	own     map[string]compactor.Patch // settings of messages that wait for an answer, by id
}

// runningTurn is a turn while the model answers it.
type runningTurn struct {
	seq  int64
	stop context.CancelCauseFunc
	step *observe.Step // nil: nobody observes it
	lost bool          // something was deleted since it began; the loop's
}

func newConversation(h *Hub, name string, connector Connector, records *memory.Conversation) *conversation {
	c := &conversation{
		hub: h, name: name, connector: connector, records: records, log: h.o.Log.With("conversation", name),
		inbox:    inbox{signal: make(chan struct{}, 1), ended: make(chan struct{})},
		arrivals: arrival{acks: make(map[string]*time.Timer), own: make(map[string]compactor.Patch)},
	}
	c.sender = sender{c: c, writers: make(map[string]Writer)}
	return c
}
