package compactor_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
	"cairn/store"
	"cairn/testkit/check"

	"pgregory.net/rapid"
)

// machine is one history: a rig, a worker whose behavior is drawn, and the layer between the engine and the world.
type machine struct {
	f       *file
	r       *rig
	disk    *disk
	tally   *tally
	channel string // the channel above this thread; empty: no thread

	limits
	manner
	heldWorker
	clock
	refusing  bool          // the disk refuses what compactions write
	asked     *chat.Message // the question of the running turn; nil: none runs
	steerings int           // messages to running turns

	problem atomic.Pointer[string]
	last    view // the last request
	oracle
}

// manner is how people and program behave in a history.
type manner struct {
	loose  bool // nobody waits for the worker
	hooked bool // a hook is asked before each job
	silent bool // no message is addressed to the bot
}

// heldWorker is a worker that can be held at a gate.
type heldWorker struct {
	mood   atomic.Int32 // how the worker behaves
	next   atomic.Pointer[gate]
	gate   *gate // the last one
	parked chan struct{}
	held   bool // the worker waits at the gate
}

// oracle is what is known of the summaries, besides the engine.
type oracle struct {
	applied    atomic.Int64
	preparedIn int    // the step of the owner in which something was prepared last
	preparedBy *owner // the owner of that step: a new one counts from 0
	before     int    // the usage then
	lastly     int    // tokens used after what was applied last
	written    int    // lines of summaries that people wrote
}

// clock is the time in a history.
type clock struct {
	ticks atomic.Int64 // since start, in seconds
	start time.Time
}

func (c *clock) now() time.Time { return c.start.Add(time.Duration(c.ticks.Load()) * time.Second) }

func (c *clock) advanceClock(d time.Duration) { c.ticks.Add(int64(d / time.Second)) }

type operation struct {
	name   string
	weight int
	fault  bool
	do     func(m *machine, rt *rapid.T)
}

// steps are all operations, the simplest first: rapid shrinks towards these.
var steps = []operation{
	{"look", 2, false, func(m *machine, _ *rapid.T) { m.r.c.Check(context.Background()) }},
	{"hear", 17, false, (*machine).deliverMessages},
	{"burst", 5, false, (*machine).burst},
	{"talk", 14, false, (*machine).runTurn},
	{"time passes", 4, false, func(m *machine, rt *rapid.T) {
		m.advanceClock(one(rt, "time", time.Minute, 10*time.Minute, 2*time.Hour))
		m.r.c.Check(context.Background())
	}},
	{"deliver again", 3, false, (*machine).redeliver},
	{"settle", 3, false, func(m *machine, rt *rapid.T) { m.releaseAndWait(rt); m.r.waitIdle() }},
	{"compact", 3, false, (*machine).compact},
	{"compact otherwise", 3, false, (*machine).compactOtherwise},
	{"brief", 1, false, (*machine).brief},
	{"clock goes back", 1, false, func(m *machine, rt *rapid.T) { // as after a start with a wrong one
		m.advanceClock(-one(rt, "back", time.Minute, time.Hour, 50*time.Hour))
		m.r.c.Check(context.Background())
	}},
	{"edit", 2, false, func(m *machine, rt *rapid.T) { m.editOrDelete(rt, false) }},
	{"delete", 2, false, func(m *machine, rt *rapid.T) { m.editOrDelete(rt, true) }},
	{"undo", 2, false, (*machine).undo},
	{"compact and undo", 1, false, (*machine).requestAndUndo},
	{"pin", 2, false, (*machine).pin},
	{"rewrite", 3, false, (*machine).rewrite},
	{"new session", 1, false, func(m *machine, rt *rapid.T) { m.newSession(rt) }},
	{"new session while it is summarized", 1, false, func(m *machine, rt *rapid.T) { m.compact(rt); m.newSession(rt) }},
	{"delete above", 1, false, (*machine).deleteInChannel},
	{"another window", 2, false, func(m *machine, rt *rapid.T) { // a learned limit, or another model
		m.r.resize(one(rt, "another window", 2500, 3000, 4000, 6000, 12_000))
		m.reshaped()
	}},
	{"other settings", 2, false, func(m *machine, rt *rapid.T) {
		p := drawPolicy(rt)
		m.r.set(func(now *compactor.Policy) { *now = p })
		m.reshaped()
	}},
	{"render, restart, render", 1, false, (*machine).checkRestartRendersSame},
	{"all is well again", 4, false, func(m *machine, rt *rapid.T) {
		m.repairFaults(rt)
		m.lift()
		m.mood.Store(int32(below(rt, len(moods)-faultyMoods, "good mood")))
	}},
	{"worker's mood", 3, true, func(m *machine, rt *rapid.T) { m.mood.Store(int32(below(rt, len(moods), "mood"))) }},
	{"budget is nearly spent", 2, true, func(m *machine, rt *rapid.T) { m.credit.Store(int64(below(rt, 4, "requests left"))) }},
	{"hook forbids", 1, true, func(m *machine, _ *rapid.T) { m.vetoes.Store(true) }},
	{"worker held", 3, true, func(m *machine, rt *rapid.T) {
		m.holdWorkerAt(rt, one(rt, "place", atWork, atStarted, atMade, atPlanned, atWritten))
	}},
	{"disk refuses", 2, true, func(m *machine, rt *rapid.T) { m.failDisk(rt, below(rt, 12, "statements it takes still")) }},
	{"crash", 1, true, func(m *machine, rt *rapid.T) { m.disk.dead.Store(true); m.reopen(rt) }},
	{"crash soon", 2, true, func(m *machine, rt *rapid.T) { m.disk.arm(1+below(rt, 12, "calls"), chance(rt, 2, "on disk")) }},
	{"end and begin", 1, true, (*machine).restart},
}

// deck has each step as often as its weight.
var deck []stepIndex

type stepIndex int

func (c stepIndex) String() string { return steps[c].name }

func init() {
	time.Local = time.UTC // the program's default: rendered text must not depend on the machine
	for i, s := range steps {
		deck = append(deck, slices.Repeat([]stepIndex{stepIndex(i)}, s.weight)...)
	}
}

func (m *machine) step(rt *rapid.T) {
	s := steps[one(rt, "operation", deck...)]
	m.advanceClock(20 * time.Second)
	under := s.fault || m.underFault()
	before := m.allTheirs()
	s.do(m, rt)
	m.checkLinesStay(rt, s.name, before)
	m.tally.add(1, "steps:", s.name)
	if under || m.underFault() {
		m.tally.add(1, "steps under a fault")
	}
}

func (m *machine) underFault() bool {
	return m.held || m.refusing || m.vetoes.Load() || m.credit.Load() < plenty/2 || m.disk.armed() ||
		m.r.worker != nil && int(m.mood.Load()) >= len(moods)-faultyMoods
}

func (m *machine) text(rt *rapid.T) string {
	return filler(one(rt, "size", 1, 10, 30, 30, 60, 100, 200, 900))
}

func (m *machine) importHistory(rt *rapid.T) {
	n := below(rt, 25, "imported")
	var said []store.Inbound
	for i := range n {
		said = append(said, m.inbound(i+1, fmt.Sprintf("note %d %s", i, filler(one(rt, "imported size", 1, 20, 60)))))
	}
	taken, err := m.r.conv.Past().Import(context.Background(), said)
	check.Require(rt, err == nil && len(taken) == n, "%d of %d messages were imported: %v", len(taken), n, err)
	m.r.messages = append(m.r.messages, taken...)
	m.r.restart()
}

func (m *machine) inbound(n int, text string) store.Inbound {
	return store.Inbound{
		ID: fmt.Sprint("m", n), AuthorID: "u1", Author: "Ada", Text: text,
		Time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Minute),
	}
}

func (m *machine) deliverMessages(rt *rapid.T) {
	m.r.quiet = m.silent || chance(rt, 3, "nobody speaks to the bot")
	m.r.deliverNotes(fmt.Sprintf("note %d %s", len(m.r.messages), m.text(rt)))
}

// burst delivers some messages before any is dequeued, some of them twice, and some known ones.
func (m *machine) burst(rt *rapid.T) {
	r := m.r
	ctx := context.Background()
	n := 2 + below(rt, 3, "messages")
	if len(r.messages) == 0 {
		m.deliverMessages(rt)
		return
	}
	first := len(r.messages)
	for i := range n {
		in := m.inbound(first+1+i, fmt.Sprintf("note %d %s", first+i, m.text(rt)))
		for range 1 + below(rt, 2, "times") {
			check.NoError(rt, check.ErrorOf(r.conv.Inbox().Deliver(ctx, in)))
		}
	}
	m.repeat(rt)
	for len(r.messages) < first+n {
		check.Require(rt, r.dequeue() > 0, "got %d of %d messages dequeued", len(r.messages)-first, n)
		r.c.Check(ctx)
		m.waitForWorker(rt)
	}
	check.Require(rt, len(r.messages) == first+n, "delivered %d messages, got %d", n, len(r.messages)-first)
}

// redeliver delivers known messages again, in any order; nothing changes.
func (m *machine) redeliver(rt *rapid.T) {
	m.repeat(rt)
	taken, err := m.r.conv.Inbox().Dequeue(context.Background(), store.All, 1<<30, time.Time{})
	check.Require(rt, err == nil && len(taken) == 0, "got %d messages dequeued twice, %v", len(taken), err)
}

func (m *machine) repeat(rt *rapid.T) {
	for range below(rt, 6, "repetitions") {
		if len(m.r.messages) == 0 {
			return
		}
		said := m.r.messages[below(rt, len(m.r.messages), "repeated")]
		if said.Role != llm.RoleUser {
			continue
		}
		again := m.inbound(int(said.Seq), "said again")
		again.ID = said.ID
		receipts, err := m.r.conv.Inbox().Deliver(context.Background(), again)
		check.Require(rt, err == nil && !receipts[0].Fresh, "message %d was delivered again: %+v, %v", said.Seq, receipts, err)
	}
}

func (m *machine) compact(rt *rapid.T) {
	if m.silent {
		m.r.c.Check(context.Background())
		return
	}
	m.ask(compactor.Requested{Trigger: compactor.OnManual})
	m.waitForWorker(rt)
}
