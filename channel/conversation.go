package channel

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"cairn/compactor"
	"cairn/llm"
	"cairn/memory"
)

// conversation is a channel, a thread or a direct message. The goroutine that runs own, its
// loop, is the only one that uses the engine. Turns, and what has to be read before them, run
// in a child of it, summaries in others; they and commands reach the engine through do.
type conversation struct {
	hub       *Hub
	name      string
	connector Connector
	records   *memory.Conversation
	log       *slog.Logger
	cacheKey  string // the same for all requests of the conversation
	users     int    // guarded by hub.mu
	sender    sender
	usage     pendingUsage
	reactions sync.WaitGroup

	loop
	service
	progress
	shared
}

// loop is how others reach the loop.
type loop struct {
	signal   chan struct{} // room for one: "look again"
	calls    chan func()   // for the loop to run
	finished chan func()   // what children of the engine bring back
	worked   chan error    // what the child that works has ended with
	ended    chan struct{} // closed when the loop runs no calls any more
	opened   chan struct{} // closed when there is an engine
	gauge    atomic.Pointer[func() compactor.Gauge]
}

// service is who answers. The loop replaces it while nothing works; others ask current.
type service struct {
	agent    Agent
	engine   *compactor.Compactor // the loop's alone
	policy   *policy
	tools    []llm.Tool
	window   *window
	byWorker llm.Learnt     // of a worker that remembers nothing itself
	byOther  *llm.Learnt    // what is known of the model that was handed a question; nil: none was
	unfit    map[int64]bool // pictures it refused, by file
	inWords  bool           // it refused how tools were used; they are told in words
	empty    bool           // nothing had been said when it was opened, and it has not looked again
}

// progress belongs to the child that works.
type progress struct {
	started       started      // the last turn that was taken up here
	unsettled     bool         // a turn may have been begun and not finished
	toldUnwritten bool         // people know that an answer cannot be written
	toldFailed    bool         // people know that the last turn failed
	failing       llm.Incident // turns fail here, for reasons of their own
	covered       bool         // turns failed here while the model's server was down
	toldGap       bool         // the log knows that a gap cannot be read
	newest        string       // platform id of the newest message that was taken up; "": none was since the conversation was opened
	hasReadBack   bool         // what was said before the bot came has been read
	gapRest       time.Time    // until then a gap that cannot be read is left alone
	pastRest      time.Time    // until then what was said before the bot came is, too
}

// shared is what everybody may ask or tell the conversation.
type shared struct {
	mu        sync.Mutex             // guards everything below
	asked     int64                  // wakes so far
	settled   int64                  // wakes that were dealt with
	tried     int64                  // wakes the last try knew of; 0 while there is another
	err       error                  // of the last try, which will be repeated; nil: it went well
	ackTimers map[string]*time.Timer // of messages whose place the connector does not know yet, by id
	awaited   string                 // the newest message that somebody wants an answer to; empty: none
	left      bool                   // the loop has ended
	busy      bool                   // a summary is being made
	changed   chan struct{}          // closed, and made again, when one of these has changed
	turn      int64                  // the running turn, as the tools see it; 0: none
	stop      context.CancelCauseFunc

	settings          bool                          // /settings changed what is stored
	outdated          bool                          // somebody else may answer by now
	news              *compactor.Event              // a compaction nobody was told of
	reads             bool                          // the connector reads history
	late              []func(context.Context) error // edits and deletions since
	deletedDuringTurn bool                          // something was deleted since the running turn began
	changes           []int64                       // messages that were edited or deleted, which the engine does not know yet
	parent            bool                          // what a thread has of its channel has changed
	botTurns          []string                      // messages of other programs that were answered since a person spoke
}

func newConversation(h *Hub, name string, connector Connector, records *memory.Conversation) *conversation {
	c := &conversation{
		hub: h, name: name, connector: connector, records: records, cacheKey: cacheKey(name), log: h.o.Log.With("conversation", name),
		loop: loop{
			signal: make(chan struct{}, 1), calls: make(chan func()), finished: make(chan func()), worked: make(chan error),
			ended: make(chan struct{}), opened: make(chan struct{}),
		},
		progress: progress{unsettled: true},
		shared:   shared{changed: make(chan struct{}), ackTimers: make(map[string]*time.Timer)},
	}
	c.sender = sender{c: c, writers: make(map[string]Writer)}
	return c
}

// searchShare is the share of the window one search may answer with: 1/16.
const searchShare = 16

// work opens the conversation if need be, and does what there is to do until
// nothing waits.
func (c *conversation) work(ctx context.Context) error {
	opens := c.engine == nil
	if opens {
		if _, err := c.load(ctx); err != nil {
			return err
		}
		c.sender.start(ctx) // with what an earlier process left
	}
	if err := c.renew(ctx); err != nil {
		return err
	}
	if c.unsettled {
		if err := c.resume(ctx); err != nil {
			return err
		}
		c.unsettled = false
	}
	if opens {
		c.check() // what an earlier process could not summarize is repaired in silence
	}
	for ctx.Err() == nil {
		more, err := c.step(ctx)
		if !more {
			c.flushUsage(ctx)
		}
		if err != nil || !more {
			return err
		}
	}
	return ctx.Err()
}

// step takes up what waits, and answers it if anybody asked. Where nothing waits it
// begins a new session if somebody wants one.
func (c *conversation) step(ctx context.Context) (more bool, err error) {
	if err := c.renew(ctx); err != nil {
		return false, err
	}
	if err := c.takeChanges(ctx); err != nil {
		return false, err
	}
	c.announce(ctx)
	due, err := c.gather(ctx)
	if err != nil {
		return false, err
	}
	burst, err := c.takeUp(ctx, due)
	if err != nil {
		return false, err
	}
	if len(burst) == 0 && due.Session {
		return c.begin(ctx)
	}
	if len(burst) == 0 {
		return false, nil
	}
	// What comes after the look wakes the owner, who looks again.
	more = len(burst) < due.Waiting || due.Session
	c.append(burst)
	turn, authors := turnOf(burst)
	c.started = started{turn.Seq, time.Now()}
	c.newest = burst[len(burst)-1].ID
	for _, m := range burst {
		c.accepted(m.ID, m.Seq)
	}
	if turn.Seq == 0 {
		c.check()
		return more, nil
	}
	if ok, told := c.hub.turns.take(c.hub.rules.Load().TurnsPerMinute, authors, !turn.Optional, time.Now()); !ok {
		return more, c.putOff(ctx, turn, told)
	}
	return more, c.answer(ctx, turn)
}

// takeUp returns what is taken up of what waits; nobody writes where nothing does.
func (c *conversation) takeUp(ctx context.Context, due memory.Due) ([]compactor.Message, error) {
	if due.Last == 0 {
		return nil, nil
	}
	c.window.look(ctx)
	return c.records.TakeUp(ctx, due.Last, c.window.burst(), time.Now().Add(-c.hub.o.CatchUp))
}

// started is a turn, and when it was taken up: by the time that passes, for clocks are set.
type started struct {
	turn int64
	at   time.Time
}

// turnOf returns the turn that was taken up, and who wants it; none if nobody does.
func turnOf(burst []compactor.Message) (turn memory.Turn, authors []string) {
	turn.Attempts, turn.Optional = 1, true
	for _, m := range burst {
		if !m.Addressed {
			continue
		}
		turn.Seq = m.Turn
		turn.To = append(turn.To, m.ID)
		turn.Optional = turn.Optional && m.Optional
		if !slices.Contains(authors, m.AuthorID) {
			authors = append(authors, m.AuthorID)
		}
	}
	return turn, authors
}

// resume takes up a turn that was begun and not finished, by an earlier process or
// because the disk refused the answer. What is too old is left as context.
func (c *conversation) resume(ctx context.Context) error {
	for {
		turn, found, err := c.records.Unanswered(ctx)
		if err != nil || !found {
			return err
		}
		if turn.Seq == c.started.turn {
			turn.Since = c.started.at
		}
		if time.Since(turn.Since) > c.hub.o.CatchUp {
			if err := c.records.Finish(ctx, memory.Outcome{Turn: turn.Seq, Count: ask(c, (*compactor.Compactor).Count)}); err != nil {
				return err
			}
			c.answered()
			continue
		}
		if turn.Attempts, err = c.records.Retry(ctx, turn.Seq); err != nil {
			return err
		}
		if err := c.answer(ctx, turn); err != nil {
			return err
		}
	}
}
