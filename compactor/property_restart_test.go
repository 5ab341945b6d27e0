// Restarts, and changes in the channel above a thread.

package compactor_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cairn/compactor"
	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/internal/tokens"
	"cairn/memory"
	"cairn/privacy"
	"cairn/store"

	"pgregory.net/rapid"
)

// restart ends the process in order, possibly during a job, and starts it again.
func (m *machine) restart(rt *rapid.T) {
	m.repairDisk() // room was made
	if m.gate != nil && m.gate.place != atWork {
		m.release()
	}
	m.r.c.Close()
	m.reopen(rt)
}

// reopen starts the process after it ended, in order or not: the old one no longer writes to the
// disk. Its started transaction is finished.
func (m *machine) reopen(rt *rapid.T) {
	m.disk.dead.Store(true)
	m.repairDisk()
	m.release()
	m.r.close()
	if chance(rt, 8, "the file too") {
		check.NoError(rt, m.f.store.Close())
		m.f.open(m.r.t)
		m.tally.add(1, "restarts of the file too")
	}
	m.r.store = m.f.store
	m.r.open()
	m.last = view{}
	m.tally.add(1, "restarts")
	if head := m.r.storedHead(); head.Start == int64(len(m.r.said))+1 && head.Start > m.r.start() { // it was started, and the process did not see its result
		m.r.ends = append(m.r.ends, head.Start-1)
	}
	if m.asked != nil {
		m.answer(rt, nil)
	}
}

// checkRestartRendersSame checks that a restart renders the same bytes. It starts no work, which
// might be applied at once: a new process does not know earlier failures.
func (m *machine) checkRestartRendersSame(rt *rapid.T) {
	m.repairFaults(rt)
	r := m.r
	ttl := r.policy.CacheTTL
	r.set(func(p *compactor.Policy) { p.CacheTTL = compactor.TTL(100 * 365 * 24 * time.Hour) }) // or prepared summaries may be applied
	r.waitIdle()
	before, last := inLines(r.c.Sight()), m.last
	m.restart(rt)
	after := inLines(r.c.Sight())
	check.Require(rt, after == before, "a restart changed the view:\n%s\n--- became\n%s", before, after)
	r.set(func(p *compactor.Policy) { p.CacheTTL = ttl })
	m.last = last // the next request extends it, restart or not
}

// becomeThread makes the conversation a thread of a channel with nine messages: two rows cover
// three each, one is hidden, and the thread starts on the last.
func (m *machine) becomeThread(rt *rapid.T) {
	ctx := context.Background()
	m.channel = fmt.Sprintf("terminal:server%d/channel", m.f.histories)
	m.r.name = m.channel + "/a9"
	c, err := m.f.store.Conversation(ctx, m.channel)
	check.NoError(rt, err)
	var past []store.Inbound
	for n := range 9 {
		past = append(past, store.Inbound{ID: fmt.Sprint("a", n+1), AuthorID: "u2", Author: "Bob", Text: fmt.Sprintf("above %d said %s", n+1, filler(one(rt, "size above", 1, 40, 700))), Time: time.Date(2025, 1, 1, 0, n, 0, 0, time.UTC)})
	}
	check.NoError(rt, check.ErrorOf(c.Past().Import(ctx, past)))
	for _, from := range []int64{1, 4} {
		j, err := memory.Of(c).Records().Begin(ctx, compactor.Compaction{Kind: compactor.Leaf, By: compactor.ByWorker, Span: compactor.Span{From: from, To: from + 2}, Messages: 3})
		check.NoError(rt, err)
		text := fmt.Sprintf("Of above %d said, above %d said and above %d said. %s", from, from+1, from+2, filler(1+below(rt, 80, "summary above")))
		check.NoError(rt, check.ErrorOf(j.Store(ctx, summarize.Summary{Text: text, Tokens: tokens.Estimate(text)})))
		storetest.ApplyRows(rt, c, j.ID())
	}
	storetest.Hide(rt, c, 7, 7)
}

func (m *machine) deleteInChannel(rt *rapid.T) {
	if m.channel == "" {
		return
	}
	c, err := m.f.store.Conversation(context.Background(), m.channel)
	check.NoError(rt, err)
	n := 1 + below(rt, 9, "message above")
	_, err = privacy.Of(c).Delete(context.Background(), []string{fmt.Sprint("a", n)})
	if err != nil && m.refusing {
		return
	}
	check.NoError(rt, err)
	m.last = view{}
	m.r.c.Reread()
	m.waitForWorker(rt)
	m.checkNotShown(rt, fmt.Sprintf("above %d said", n))
}

func (m *machine) checkNotShown(rt *rapid.T, deleted ...string) {
	prompt, err := m.r.c.Request(context.Background())
	if err != nil && m.disk.dead.Load() {
		return
	}
	check.NoError(rt, err)
	text := inLines(prompt.Messages)
	for _, d := range deleted {
		check.Require(rt, !strings.Contains(text, d), "got deleted %q in the view:\n%s", d, text)
	}
}

// reshaped has the engine notice what changed the form of the view.
func (m *machine) reshaped() {
	m.r.c.Check(context.Background())
	m.last = view{}
}
