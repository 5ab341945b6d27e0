package compactor_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pgregory.net/rapid"

	"cairn/compactor"
	"cairn/compactor/worker"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/transcript"
)

// The oracle: what must be true of each request and after each step, computed only from the inputs.

// view is the last request, which the next one extends.
type view struct {
	text     string
	version  int64 // of the head it has
	squeezed bool  // it may show its running turn shorter than the next one
}

// request makes the next request of the running turn and checks it like a strict provider. It
// reports whether the process is alive.
func (m *machine) request(rt *rapid.T, first bool) (alive bool) {
	r := m.r
	m.waitForWorker(rt)
	g := r.c.Status()
	squeezed := float64(g.Used) >= g.Policy.EmergencyThreshold*float64(g.Window)
	applied := m.applied.Load()
	version := m.disk.version.Load()
	messages, err := r.fitting(func(refused bool) {
		squeezed = squeezed || refused
		if refused {
			m.tally.add(1, "requests refused for their size")
		}
		m.waitForWorker(rt)
	})
	if m.disk.dead.Load() {
		return false
	}
	check.NoError(rt, err)
	text := strings.TrimSuffix(inLines(messages), "\n") // a request that extends it has it as a prefix
	if version == m.disk.version.Load() {
		m.checkExtendsPrevious(rt, text, first, squeezed)
	} else {
		m.last = view{} // made before the head changed, or after
	}
	if !m.loose {
		m.checkEveryMessageShown(rt, text, applied == m.applied.Load())
	}
	m.tally.add(1, "requests")
	return !m.disk.dead.Load()
}

func (m *machine) checkExtendsPrevious(rt *rapid.T, text string, first, squeezed bool) {
	now := view{text, m.disk.version.Load(), squeezed || m.last.squeezed && !first}
	was := m.last
	m.last = now
	if m.loose || m.refusing || m.r.size > 0 || squeezed || was.text == "" || was.version != now.version {
		return
	}
	m.tally.add(1, "requests that extend the one before")
	check.Require(rt, strings.HasPrefix(text, was.text),
		"the head is unchanged, but a request does not extend the previous one:\n%s\n--- became\n%s", was.text, text)
}

// namedIn returns the messages that a text names, in order. Each message begins with its name.
func namedIn(text string) (seqs []int64) {
	was := ""
	for word := range strings.FieldsSeq(text) {
		switch was {
		case "note", "question", "edited", "answer", "result":
			if n, err := strconv.ParseInt(word, 10, 64); err == nil {
				seqs = append(seqs, n+1)
			}
		}
		was = word
	}
	return seqs
}

// checkEveryMessageShown checks that a request shows each uncovered message, in order, and no
// deleted one. whole: nothing was applied since it was made.
func (m *machine) checkEveryMessageShown(rt *rapid.T, text string, whole bool) {
	if _, rest, ok := strings.Cut(text, "</kept>"); ok {
		text = rest
	}
	for seq, gone := range m.r.deleted {
		check.Require(rt, !gone || !strings.Contains(text, fmt.Sprintf("recalled-%d.", seq)),
			"a context quotes the deleted message %d:\n%s", seq, text)
	}
	shown := make(map[int64]bool)
	last := int64(0)
	for _, seq := range namedIn(text) {
		check.Require(rt, seq >= last, "message %d is after %d in the view:\n%s", seq, last, text)
		last = seq
		shown[seq] = true
	}
	stack := m.r.c.Status().Stack
	for _, said := range m.r.messages {
		seq := said.Seq
		gone := m.r.deleted[said.Seq]
		wanted := !gone && seq >= m.r.start() && rowOver(stack, seq) < 0
		if name, _, found := strings.Cut(said.Text, ". "); found && strings.HasPrefix(name, "steering-") {
			shown[seq] = strings.Contains(text, name+". ")
		}
		check.Require(rt, !wanted || shown[seq] || said.Role == llm.RoleTool || said.Text == "", "message %d is neither covered nor in the view:\n%s", seq, text)
		check.Require(rt, wanted || !shown[seq] || !whole && !gone, "message %d is in the view and should not be (deleted: %v; session from %d):\n%s", seq, gone, m.r.start(), text)
	}
}

func rowOver(rows []compactor.Summary, seq int64) int {
	return slices.IndexFunc(rows, func(row compactor.Summary) bool { return row.Covers(seq) })
}

func rowsOf(sessions []transcript.Session) (rows []compactor.Summary) {
	for _, s := range sessions {
		rows = append(rows, s.Rows...)
	}
	return rows
}

// checkStatus checks coverage, order and budget of the state in memory, and the status.
func (m *machine) checkStatus(rt *rapid.T) {
	g := m.r.c.Status()
	check.Require(rt, g.Used == g.Frame+g.Head+g.Verbatim+g.Reserve, "the status's parts do not add up: %+v", g)
	check.Equal(rt, "how the planned view differs from the next one", m.r.c.Prospect(), "")
	check.Require(rt, len(g.Past.Shown) == 0 || g.Policy.EarlierSessions > 0, "got %d rows of earlier sessions", len(g.Past.Shown))
	most := int(g.Policy.StackBudget*float64(g.Effective)) / 2
	check.Require(rt, g.Past.Tokens <= most, "got %d tokens of earlier sessions, budget %d", g.Past.Tokens, most)
	last := int64(0)
	for _, row := range slices.Concat(rowsOf(g.Past.Earlier), g.Stack) {
		check.Require(rt, row.From > last, "row %d in the view starts at #%d, before #%d", row.ID, row.From, last)
		last = row.To
	}
	m.r.checkShown(rt, g)
	if g.Used > g.Window { // a summary that grew the view was applied after the last check
		m.r.c.Check(context.Background())
		if m.disk.dead.Load() {
			return
		}
		g = m.r.c.Status()
	}
	check.Require(rt, g.Used <= g.Window, "%d of %d tokens used: %+v", g.Used, g.Window, g)
}

// checkRecovers checks that with a healthy model placeholders are repaired and usage falls below the background level,
// unless the protected messages alone exceed it; then no more requests are made.
func (m *machine) checkRecovers(rt *rapid.T) {
	r := m.r
	m.repairFaults(rt)
	m.mood.Store(0)
	r.quiet = false
	r.set(func(p *compactor.Policy) { p.PrepareThreshold = 0 }) // nothing is prepared
	m.restart(rt)                                               // forgets the backoff
	r.c.Compact(compactor.OnManual, "")                         // and the undo hold ends
	for still := 0; still < 2; still++ {
		check.Require(rt, m.now().Sub(m.start) <= 10*24*time.Hour, "the engine does not become idle")
		before := m.disk.version.Load()
		m.advanceClock(31 * time.Minute)
		r.waitIdle()
		if m.disk.version.Load() != before {
			still = -1
		}
	}
	check.NoError(rt, r.check())
	m.checkStatus(rt)
	g := r.c.Status()
	// A repair keeps its distance from the emergency level, which may be far below the window.
	full := float64(g.Used) >= min(0.85, 0.9*g.Policy.At(g.Window).EmergencyThreshold)*float64(g.Window)
	for _, s := range g.Past.Earlier {
		check.Require(rt, len(s.Rows) <= 1 || full, "got %d rows for the session from #%d to #%d", len(s.Rows), s.From, s.To)
	}
	stack := g.Past.Tokens
	for _, row := range g.Stack {
		stack += row.Cost()
	}
	for _, row := range slices.Concat(rowsOf(g.Past.Earlier), g.Stack) {
		repaired := row.By == compactor.ByWorker || row.By == compactor.ByExtractive && (r.worker == nil || g.Policy.Strategy != worker.StrategyWorker || !row.AwaitsModel)
		// If the newest messages leave no room to grow, a row that is as short as possible waits,
		// and so does one that is applied with prepared rows and finds no room.
		goes := slices.ContainsFunc(g.Prepared, func(r compactor.Summary) bool { return r.From <= row.To && row.From <= r.To })
		crowded := full && (row.Tokens < 80 || goes)
		check.Require(rt, repaired || crowded, "%+v is not repaired (used %d of %d, background %.2f)", row, g.Used, g.Window, g.Policy.BackgroundThreshold)
	}
	check.Require(rt, stack <= int(g.Policy.StackBudget*float64(g.Effective)), "the stack has %d tokens of %d; %d from before, and %+v", stack, g.Effective, g.Past.Tokens, g.Stack)
	e := r.c.Compact(compactor.OnManual, "")
	check.Require(rt, e.State != compactor.EventStarted || float64(g.Used) < g.Policy.BackgroundThreshold*float64(g.Window),
		"%d of %d tokens are used, background is at %.2f, and %d to %d could have left", g.Used, g.Window, g.Policy.BackgroundThreshold, e.From, e.To)
	r.waitIdle()
	if r.worker == nil {
		return
	}
	calls := len(r.worker.Requests())
	r.waitIdle()
	check.Len(rt, "model calls of an idle conversation", r.worker.Requests(), calls)
}
