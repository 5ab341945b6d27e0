package compactor_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/compactor/summarize"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/memory"
	"cairn/transcript"

	"pgregory.net/rapid"
)

// machine is one history: a rig, a worker that behaves as the draws say, and what
// stands between the engine and the world.
type machine struct {
	f       *file
	r       *rig
	disk    *disk
	metrics *metrics
	channel string // above the thread this is; empty: it is none

	loose  bool // nobody waits for the worker
	silent bool // nobody ever speaks to the bot

	mood     atomic.Int32 // how the worker behaves
	next     atomic.Pointer[gate]
	gate     *gate // the last one
	parked   chan struct{}
	held     bool // the worker waits at the gate
	refusing bool // the disk refuses what compactions write
	asked    *chat.Message
	edits    int
	ticks    atomic.Int64 // since clock, in seconds
	clock    time.Time

	problem atomic.Pointer[string]
	applied atomic.Int64
	numbers atomic.Int64 // of applied compactions, held to the gauge
	events  [eventKinds]atomic.Int64

	last view // the last request

	preparedIn int    // the step of the owner in which something was prepared last
	preparedBy *owner // that owner: another one, after a restart, counts its steps again
	before     int    // what was used then
	lastly     int    // tokens used after what was applied last
}

func (m *machine) now() time.Time { return m.clock.Add(time.Duration(m.ticks.Load()) * time.Second) }

// pass lets time pass.
func (m *machine) pass(d time.Duration) { m.ticks.Add(int64(d / time.Second)) }

// operation is one step of a history.
type operation struct {
	name   string
	weight int
	fault  bool
	do     func(m *machine, rt *rapid.T)
}

// steps are all there are, the simplest first: what rapid makes smaller ends there.
var steps = []operation{
	{"look", 2, false, func(m *machine, _ *rapid.T) { m.r.c.Check(context.Background()) }},
	{"hear", 17, false, (*machine).hear},
	{"burst", 5, false, (*machine).burst},
	{"talk", 14, false, (*machine).talk},
	{"time passes", 4, false, func(m *machine, rt *rapid.T) {
		m.pass(one(rt, "time", time.Minute, 10*time.Minute, 2*time.Hour))
		m.r.c.Check(context.Background())
	}},
	{"deliver again", 3, false, (*machine).again},
	{"settle", 3, false, (*machine).settle},
	{"compact", 3, false, (*machine).compact},
	{"edit", 2, false, func(m *machine, rt *rapid.T) { m.change(rt, false) }},
	{"delete", 2, false, func(m *machine, rt *rapid.T) { m.change(rt, true) }},
	{"undo", 2, false, (*machine).undo},
	{"compact and undo", 1, false, (*machine).wishAndUndo},
	{"pin", 2, false, (*machine).pin},
	{"new segment", 1, false, func(m *machine, rt *rapid.T) { m.rebuilt(rt) }},
	{"new segment while it is summed up", 1, false, func(m *machine, rt *rapid.T) { m.compact(rt); m.rebuilt(rt) }},
	{"delete above", 1, false, (*machine).changeAbove},
	{"render, restart, render", 1, false, (*machine).restartSame},
	{"all is well again", 4, false, func(m *machine, rt *rapid.T) { m.sound(rt); m.mood.Store(int32(below(rt, moodLong, "good mood"))) }},
	{"worker's mood", 3, true, func(m *machine, rt *rapid.T) { m.mood.Store(int32(below(rt, moods, "mood"))) }},
	{"worker held", 3, true, func(m *machine, rt *rapid.T) { m.hold(rt, one(rt, "place", atWork, atStarted, atMade)) }},
	{"disk refuses", 2, true, func(m *machine, rt *rapid.T) { m.refuse(rt, below(rt, 12, "statements it takes still")) }},
	{"crash", 1, true, func(m *machine, rt *rapid.T) { m.disk.kill(); m.reopen(rt) }},
	{"crash soon", 2, true, func(m *machine, rt *rapid.T) { m.disk.arm(1+below(rt, 12, "calls"), chance(rt, 2, "on disk")) }},
	{"end and begin", 1, true, (*machine).restart},
}

// deck has each step as often as its weight says.
var deck []card

type card int

func (c card) String() string { return steps[c].name }

func init() {
	time.Local = time.UTC // as the program's default has it: what is rendered must not depend on the machine
	for i, s := range steps {
		deck = append(deck, slices.Repeat([]card{card(i)}, s.weight)...)
	}
}

func (m *machine) step(rt *rapid.T) {
	i := one(rt, "operation", deck...)
	s := steps[i]
	m.pass(20 * time.Second)
	under := s.fault || m.underFault()
	s.do(m, rt)
	m.metrics.step(int(i), under || m.underFault())
}

// underFault reports whether something is broken just now.
func (m *machine) underFault() bool {
	return m.held || m.refusing || m.disk.armed() || m.r.worker != nil && faulty(m.mood.Load())
}

// heavy is a text of about so many tokens, a few of them words: what is tried here is
// how heavy texts are, and words cost most of the time that a history takes.
func heavy(tokens int) string {
	return strings.Repeat("word ", min(tokens, 10)) + strings.Repeat("- ", max(tokens-10, 0))
}

func (m *machine) text(rt *rapid.T) string {
	return heavy(one(rt, "size", 1, 10, 30, 30, 60, 100, 200, 900))
}

// past gives the conversation one: messages that are imported.
func (m *machine) past(rt *rapid.T) {
	n := below(rt, 25, "imported")
	var said []memory.Inbound
	for i := range n {
		said = append(said, m.inbound(i+1, fmt.Sprintf("note %d %s", i, heavy(one(rt, "imported size", 1, 20, 60)))))
	}
	taken, err := m.r.conv.Past().Import(context.Background(), said)
	if err != nil || len(taken) != n {
		rt.Fatalf("%d of %d messages were imported: %v", len(taken), n, err)
	}
	m.r.said = append(m.r.said, taken...)
	m.r.restart()
}

func (m *machine) inbound(n int, text string) memory.Inbound {
	return memory.Inbound{
		ID: fmt.Sprint("m", n), AuthorID: "u1", Author: "Ada", Text: text,
		Time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Minute),
	}
}

func (m *machine) hear(rt *rapid.T) {
	m.r.quiet = m.silent || chance(rt, 3, "nobody speaks to the bot")
	m.r.hear(fmt.Sprintf("note %d %s", len(m.r.said), m.text(rt)))
}

// burst delivers some messages before anything is taken up, some of them twice and
// among those that were known before.
func (m *machine) burst(rt *rapid.T) {
	r, ctx, n := m.r, context.Background(), 2+below(rt, 3, "messages")
	if len(r.said) == 0 {
		m.hear(rt)
		return
	}
	first := len(r.said)
	for i := range n {
		in := m.inbound(first+1+i, fmt.Sprintf("note %d %s", first+i, m.text(rt)))
		for range 1 + below(rt, 2, "times") {
			if _, err := r.conv.Inbox().Deliver(ctx, in); err != nil {
				rt.Fatal(err)
			}
		}
	}
	m.repeat(rt)
	for len(r.said) < first+n {
		taken, err := r.conv.Inbox().TakeUp(ctx, memory.All, compactor.BurstBudget(r.window), time.Time{})
		if err != nil || len(taken) == 0 {
			rt.Fatalf("%d of %d messages were taken up, %v", len(r.said)-first, n, err)
		}
		r.c.History().Append(taken...)
		r.c.History().Stored()
		r.said = append(r.said, taken...)
		r.c.Check(ctx)
		m.levelNone(rt)
	}
	if len(r.said) != first+n {
		rt.Fatalf("%d messages were put in, %d came", n, len(r.said)-first)
	}
}

// again delivers messages that are known, in any order; nothing comes of it.
func (m *machine) again(rt *rapid.T) {
	m.repeat(rt)
	taken, err := m.r.conv.Inbox().TakeUp(context.Background(), memory.All, 1<<30, time.Time{})
	if err != nil || len(taken) != 0 {
		rt.Fatalf("%d messages were taken up twice, %v", len(taken), err)
	}
}

func (m *machine) repeat(rt *rapid.T) {
	for range below(rt, 6, "repetitions") {
		if len(m.r.said) == 0 {
			return
		}
		said := m.r.said[below(rt, len(m.r.said), "repeated")]
		if said.Role != llm.RoleUser {
			continue
		}
		receipt, err := m.r.conv.Inbox().Deliver(context.Background(), m.inbound(int(said.Seq), "said again"))
		if err != nil || receipt.Fresh {
			rt.Fatalf("message %d was delivered again: %+v, %v", said.Seq, receipt, err)
		}
	}
}

func (m *machine) settle(rt *rapid.T) {
	m.letGo(rt)
	m.r.settle()
}

func (m *machine) compact(rt *rapid.T) {
	if m.silent {
		m.r.c.Check(context.Background())
		return
	}
	m.r.c.Compact(compactor.OnManual, "")
	m.levelNone(rt)
}

// restart ends the process in order, a worker at work perhaps, and starts it again.
func (m *machine) restart(rt *rapid.T) {
	m.mend() // somebody made room
	if m.gate != nil && m.gate.place != atWork {
		m.release()
	}
	m.r.c.Close()
	m.reopen(rt)
}

// reopen starts the process after it ended, in order or not: nothing more of it
// reaches the disk. What it had begun is finished.
func (m *machine) reopen(rt *rapid.T) {
	m.disk.kill()
	m.mend()
	m.release()
	m.r.close()
	if chance(rt, 8, "the file too") {
		if err := m.f.store.Close(); err != nil {
			rt.Fatal(err)
		}
		m.f.open(m.r.t)
		m.metrics.files++
	}
	m.r.store = m.f.store
	m.r.open()
	m.last = view{}
	m.metrics.restarts++
	head, _, err := m.disk.Records.Head(context.Background())
	if err != nil {
		rt.Fatal(err)
	}
	if head.Start == int64(len(m.r.said))+1 && head.Start > m.r.start() { // it was begun, and nobody heard of it
		m.r.ends = append(m.r.ends, head.Start-1)
	}
	if m.asked != nil {
		m.answer(rt, nil)
	}
}

// restartSame holds that a restart renders the same bytes. Nothing is asked for, or what
// begins then might are applied at once: a new process does not know what failed before.
func (m *machine) restartSame(rt *rapid.T) {
	m.sound(rt)
	r := m.r
	ttl := r.policy.CacheTTL
	r.set(func(p *compactor.Policy) { p.CacheTTL = compactor.TTL(100 * 365 * 24 * time.Hour) }) // or what is prepared may be applied
	r.settle()
	before, last := inLines(r.c.Sight()), m.last
	m.restart(rt)
	if after := inLines(r.c.Sight()); after != before {
		rt.Fatalf("a restart changed the view:\n%s\n--- became\n%s", before, after)
	}
	r.set(func(p *compactor.Policy) { p.CacheTTL = ttl })
	m.last = last // the next request extends it, restart or not
}

// above makes the conversation a thread of one in which something was said: of
// nine messages three are summarized by each of two rows, one is hidden, and it hangs on the last.
func (m *machine) above(rt *rapid.T) {
	ctx := context.Background()
	m.channel = fmt.Sprintf("terminal:server%d/channel", m.f.histories)
	m.r.name = m.channel + "/a9"
	c, err := m.f.store.Conversation(ctx, m.channel)
	if err != nil {
		rt.Fatal(err)
	}
	var past []memory.Inbound
	for n := range 9 {
		past = append(past, memory.Inbound{ID: fmt.Sprint("a", n+1), AuthorID: "u2", Author: "Bob", Text: fmt.Sprintf("above %d said %s", n+1, heavy(one(rt, "size above", 1, 40, 700))), Time: time.Date(2025, 1, 1, 0, n, 0, 0, time.UTC)})
	}
	if _, err := c.Past().Import(ctx, past); err != nil {
		rt.Fatal(err)
	}
	for _, from := range []int64{1, 4} {
		j, err := c.Compactions().Begin(ctx, compactor.Compaction{Kind: compactor.Leaf, By: compactor.ByWorker, Span: compactor.Span{From: from, To: from + 2}, Messages: 3})
		if err != nil {
			rt.Fatal(err)
		}
		text := fmt.Sprintf("Of above %d said, above %d said and above %d said. %s", from, from+1, from+2, filler(1+below(rt, 80, "summary above")))
		if _, err := j.Store(ctx, summarize.Summary{Text: text, Tokens: tokens.Estimate(text)}); err != nil {
			rt.Fatal(err)
		}
		if err := decide(c, func(s *transcript.State) transcript.Change {
			change, _, _ := s.Cover([]int64{j.ID()}, 0, nil)
			return change
		}); err != nil {
			rt.Fatal(err)
		}
	}
	if err := hide(c, 7, 7); err != nil {
		rt.Fatal(err)
	}
}

// changeAbove has people delete a message of the channel above a thread.
func (m *machine) changeAbove(rt *rapid.T) {
	if m.channel == "" {
		return
	}
	c, err := m.f.store.Conversation(context.Background(), m.channel)
	if err != nil {
		rt.Fatal(err)
	}
	n := 1 + below(rt, 9, "message above")
	if _, err := c.Transcript().Delete(context.Background(), []string{fmt.Sprint("a", n)}); err != nil {
		if m.refusing {
			return
		}
		rt.Fatal(err)
	}
	m.last = view{}
	m.r.c.Reread()
	m.levelNone(rt)
	m.shows(rt, fmt.Sprintf("above %d said", n))
}

// shows fails if what was deleted stands in the view.
func (m *machine) shows(rt *rapid.T, deleted ...string) {
	messages, _, err := m.r.c.Request(context.Background())
	if err != nil {
		if m.disk.isDead() {
			return
		}
		rt.Fatal(err)
	}
	text := flat(messages)
	for _, d := range deleted {
		if strings.Contains(text, d) {
			rt.Fatalf("%q was deleted and stands in the view:\n%s", d, text)
		}
	}
}
