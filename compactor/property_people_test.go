package compactor_test

import (
	"context"
	"fmt"
	"slices"

	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"

	"pgregory.net/rapid"
)

// Steps of a history that people cause: turns, changes, undo.

// runTurn runs a turn: a question, possibly tool results, and an answer. The process may be killed during it.
func (m *machine) runTurn(rt *rapid.T) {
	if m.silent {
		m.deliverMessages(rt)
		return
	}
	results := make([]string, one(rt, "results", 0, 0, 0, 1, 2, 4))
	for i := range results {
		results[i] = filler(one(rt, "result", 5, 40, 200, 1500))
	}
	asked := m.r.deliver(fmt.Sprintf("question %d %s", len(m.r.messages), m.text(rt)), true)
	m.asked = &asked
	m.answer(rt, results)
}

func (m *machine) answer(rt *rapid.T, results []string) {
	r, h := m.r, m.r.c.History()
	x := r.begin(*m.asked, m.context(rt, m.asked.Seq))
	first := h.Next()
	x.steer() // as after a crash
	if !m.request(rt, true) {
		return
	}
	if len(results) > 0 && chance(rt, 4, "people change what they said meanwhile") {
		m.editOrDelete(rt, chance(rt, 2, "deleted"))
		m.edit(rt, x.asked.Seq)
		if chance(rt, 2, "they undo, too") {
			m.undo(rt)
		}
	}
	fails := len(results) - 1
	if !chance(rt, 6, "the provider fails once") {
		fails = -1
	}
	for i := 0; i < len(results); i++ {
		x.look(fmt.Sprint("call_", i), fmt.Sprintf("result %d %s", h.Next(), results[i]))
		if chance(rt, 4, "people say something to the running turn") {
			m.saySteering(rt, x)
		}
		x.steer()
		if !m.request(rt, false) {
			return
		}
		if i == fails {
			h.Truncate(first)
			m.last = view{}
			x.rows = nil
			fails = -1
			i = -1
		}
	}
	x.answer(fmt.Sprintf("answer %d to it", h.Next()-1))
	m.asked = nil
	if m.last.squeezed {
		m.last = view{} // results cleared for the turn are back
	}
	r.c.Check(context.Background())
}

// saySteering delivers a message for the running turn, by a name that says nothing of its place.
func (m *machine) saySteering(rt *rapid.T, x *turn) {
	text := fmt.Sprintf("steering-%d. %s", m.steerings+1, filler(one(rt, "size of it", 1, 10, 30, 60, 100)))
	left := compactor.BurstBudget(m.r.window) - chat.TokensOf(chat.Message{Role: llm.RoleUser, Author: "Bo", Text: text, Time: m.asked.Time}) - 20
	for _, said := range append([]chat.Message{*m.asked}, x.rows...) {
		if said.Role == llm.RoleUser {
			left -= said.Tokens
		}
	}
	if left < 0 { // it would wait for the next turn
		return
	}
	m.steerings++
	check.NoError(rt, check.ErrorOf(m.r.conv.Inbox().Deliver(context.Background(), store.Inbound{
		ID: fmt.Sprint("s", m.steerings), AuthorID: "u2", Author: "Bo", Text: text, Time: m.asked.Time, Addressed: true, Steers: true,
	})))
	m.tally.add(1, "messages to a running turn")
}

// context returns the context of a turn: a different one for each, some of them large or with a quote of a message.
func (m *machine) context(rt *rapid.T, turn int64) compactor.Context {
	made := compactor.Context{Text: fmt.Sprintf("time: %d", turn)}
	if chance(rt, 4, "something is recalled") {
		made.Text += " " + filler(m.r.window/20)
		if from := max(turn-int64(below(rt, 20, "recalled")), 1); !m.r.deleted[from] {
			made.Text += fmt.Sprintf(" recalled-%d.", from)
			made.Messages = []int64{from}
		}
	}
	return made
}

func (m *machine) undo(rt *rapid.T) {
	e, err := m.r.c.Undo(context.Background())
	if err != nil && (m.refusing || m.disk.dead.Load()) {
		return
	}
	check.Require(rt, err == nil && (e.State != compactor.EventNoop || e.Error != ""), "undo: %+v, %v", e, err)
	g := m.r.c.Status() // a placeholder may have been filled since
	check.Require(rt, e.State != compactor.EventUndone || e.Stopped || float64(e.AfterTokens) < g.Policy.AggressiveThreshold*float64(g.Window),
		"after an undo: got %d of %d tokens used", e.AfterTokens, g.Window)
	m.r.c.Check(context.Background())
}

func (m *machine) requestAndUndo(rt *rapid.T) {
	if m.silent {
		return
	}
	m.repairFaults(rt)
	r := m.r
	r.waitIdle()
	steps := func() []store.AppliedStep { return check.Must(storetest.Steps(r.conv))(rt) } // on disk, including undone ones
	// The steps first: a placeholder that is filled from now on is a step of its own.
	applied := len(steps())
	before := r.render()
	used := r.c.Status().Used
	if r.c.Compact(compactor.OnManual, "").State != compactor.EventStarted {
		return
	}
	check.NoError(rt, r.c.Wait(context.Background()))
	now := steps()
	if len(now) != applied+1 {
		return // it failed, or something else was due after it
	}
	rows := now[applied].All
	if slices.ContainsFunc(rows, func(row store.ListedCompaction) bool { return row.From < r.start() }) ||
		!slices.ContainsFunc(rows, func(row store.ListedCompaction) bool { return row.Trigger == string(compactor.OnManual) }) {
		return // it changed another session, which cannot be undone, or was not requested
	}
	e := check.Must(r.c.Undo(context.Background()))(rt)
	if e.State != compactor.EventUndone {
		check.Require(rt, r.size != 0 || float64(used) >= r.policy.At(r.window).AggressiveThreshold*float64(r.window), // a count may differ from the current estimate
			"with %d of %d tokens used the undo is refused: %s", used, r.window, e.Error)
		return
	}
	// The next check may apply prepared summaries, and a repair is applied when it is done. The
	// disk is read first: what it lacks was not in memory at that time.
	after := r.render()
	left := r.c.Status().Used
	before, freed := withoutContexts(before)
	after, freedNow := withoutContexts(after)
	check.Require(rt, len(steps()) != applied+1 || after == before && (r.size != 0 || left-freedNow == used-freed),
		"before, with %d tokens\n%s\n--- after an undo, with %d\n%s", used, before, left, after)
}

func (m *machine) pin(rt *rapid.T) {
	r := m.r
	left := r.remainingMessages()
	if len(left) == 0 {
		return
	}
	seq := left[below(rt, len(left), "pinned")].Seq
	fresh, err := r.conv.Transcript().Pin(context.Background(), seq, store.Person{Name: "Ada"})
	if err == nil && !fresh {
		err = r.conv.Transcript().Unpin(context.Background(), seq)
	}
	check.Require(rt, err == nil || m.refusing, "%v", err)
	m.last = view{}
	r.c.Reread()
	r.c.Check(context.Background())
}

func (m *machine) newSession(rt *rapid.T) {
	if !m.refusing && !m.disk.armed() {
		m.r.startSession()
		return
	}
	started, err := m.r.c.StartSession(context.Background())
	check.Require(rt, err == nil || m.refusing || m.disk.dead.Load(), "%v", err)
	if err == nil && started {
		m.r.ends = append(m.r.ends, int64(len(m.r.messages)))
	}
}

func (m *machine) editOrDelete(rt *rapid.T, deleted bool) {
	r := m.r
	var theirs []int64
	for _, said := range r.remainingMessages() {
		if said.Role == llm.RoleUser && int(said.Seq) < len(r.messages) { // the newest may be the running turn's question
			theirs = append(theirs, said.Seq)
		}
	}
	if len(theirs) == 0 {
		return
	}
	first := below(rt, len(theirs), "message")
	if deleted {
		m.remove(rt, theirs[first:min(first+1+below(rt, 5, "deleted at once"), len(theirs))])
	} else {
		m.edit(rt, theirs[first])
		r.c.Check(context.Background())
		m.waitForWorker(rt)
	}
}

func (m *machine) edit(rt *rapid.T, seq int64) {
	r := m.r
	err := r.editWithoutNotice(seq, fmt.Sprintf("edited %d %d %s", seq-1, r.edits+1, filler(one(rt, "edited size", 1, 30, 400))))
	if err != nil && m.refusing {
		return // the transcript is compared with it
	}
	check.NoError(r.t, err)
	m.last = view{}
	r.c.Reread()
}

func (m *machine) remove(rt *rapid.T, seqs []int64) {
	r := m.r
	got, err := r.removeWithoutNotice(seqs...)
	if err != nil && m.refusing {
		return
	}
	check.Require(rt, err == nil && len(got) >= len(seqs), "deletion of %v: %v, %v", seqs, got, err)
	for _, seq := range slices.DeleteFunc(slices.Clone(got), func(seq int64) bool { return slices.Contains(seqs, seq) }) {
		emptied, err := r.conv.Transcript().Message(context.Background(), seq) // arguments and results of tools in the turn
		theirs := slices.ContainsFunc(seqs, func(seq int64) bool { return r.messages[seq-1].Turn == emptied.Turn })
		check.Require(rt, err == nil && theirs && emptied.Role != llm.RoleUser, "deletion of %v changed %+v, %v", seqs, emptied, err)
		r.messages[seq-1] = emptied
	}
	m.last = view{}
	r.c.Reread()
	m.checkNotShown(rt, beginnings(seqs)...)
	m.waitForWorker(rt)
}
