// Requests of people and of the model, what limits them (a budget, a hook, the clock), and what is checked and counted when a
// history ends: expanding a summary returns its messages, and each memory is saved once.

package compactor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/memory"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"

	"pgregory.net/rapid"
)

// plenty is a budget that no history uses up.
const plenty = 1 << 40

// limits are what may forbid a job.
type limits struct {
	credit atomic.Int64          // requests to models that the budget still allows
	vetoes atomic.Bool           // the hook forbids every job
	wanted []*compactor.Progress // of the current process
}

func (l *limits) limit(o *compactor.Options, hook bool) {
	l.credit.Store(plenty)
	l.wanted = nil
	o.Spend = func(counts bool) error {
		left := l.credit.Load()
		if counts {
			left = l.credit.Add(-1) + 1
		}
		if left <= 0 {
			return compactor.ErrSpent
		}
		return nil
	}
	if hook {
		o.Before = unless(l.vetoes.Load)
	}
}

// unless is a hook that allows every job unless veto is true.
func unless(veto func() bool) func(context.Context, compactor.Proposal) (string, error) {
	return func(context.Context, compactor.Proposal) (string, error) {
		if veto() {
			return "", errors.New("not now")
		}
		return "", nil
	}
}

func (l *limits) lift() {
	l.credit.Store(plenty)
	l.vetoes.Store(false)
}

func (m *machine) compactOtherwise(rt *rapid.T) {
	if m.silent {
		return
	}
	with := compactor.Patch{}
	for _, key := range []string{"keep_last_n", "keep_last_turns", "max_summary_tokens"} {
		if chance(rt, 2, key) {
			with[key] = fmt.Sprint(one(rt, "value", 0, 1, 5, 300)) // where it is out of range it is left out
		}
	}
	w := compactor.Requested{
		Trigger: one(rt, "trigger", compactor.OnManual, compactor.OnSelf), Focus: one(rt, "focus", "", "the tea"), With: with,
	}
	m.ask(w)
	m.waitForWorker(rt)
}

// ask requests a compaction, and does not wait for an answer: the worker may be held.
func (m *machine) ask(w compactor.Requested) {
	m.r.c.do(func() { m.wanted = append(m.wanted, m.r.c.Compactor.Compact(w)) })
}

// checkRequestsEnd checks that each request was answered, and that what it started or scheduled has ended.
func (m *machine) checkRequestsEnd(rt *rapid.T) {
	if m.loose || m.held || m.r.c.Busy() {
		return
	}
	for _, p := range m.wanted {
		runs := p.Began.State == compactor.EventStarted || p.Began.State == compactor.EventScheduled
		check.Require(rt, p.Began.State != "" && runs == (p.Ended.State != ""), "a request began with %+v and ended with %+v", p.Began, p.Ended)
	}
}

func (m *machine) brief(rt *rapid.T) {
	most := one(rt, "tokens", 100, 400, 1500, 20_000)
	text, err := m.r.c.Briefing(context.Background(), most, chat.Message{Seq: 1 << 31, Role: "user", Author: "Ada", Text: "question of another"})
	if err != nil {
		check.Require(rt, m.refusing || m.disk.dead.Load(), "%v", err)
		return
	}
	n := tokens.Estimate(text)
	check.Require(rt, n <= most+100, "a briefing of %d tokens instead of %d:\n%s", n, most, text)
	for _, seq := range namedIn(text) {
		check.Require(rt, !m.r.deleted[seq], "a briefing shows the deleted message %d:\n%s", seq, text)
	}
}

// checkExpand checks that each row in the view expands to exactly the messages it covers, and that
// the children of a rollup tile it.
func (m *machine) checkExpand(rt *rapid.T) {
	for _, row := range m.r.rowsOf(m.r.storedHead()) {
		var want []int64
		for seq := row.From; seq <= row.To; seq++ {
			if !m.r.deleted[seq] {
				want = append(want, seq)
			}
		}
		check.EqualAll(rt, fmt.Sprintf("messages of row %d over #%d to #%d", row.ID, row.From, row.To), m.expand(rt, row.ID), want)
		check.Equal(rt, fmt.Sprintf("count of row %d", row.ID), row.Messages, len(want))
	}
}

func (m *machine) expand(rt *rapid.T, id int64) (seqs []int64) {
	e := check.Must(m.r.conv.Transcript().Expand(context.Background(), id, 0, 10_000))(rt)
	m.tally.add(1, "rows expanded")
	check.Require(rt, len(e.Children) != 0 || e.Row.Kind != compactor.Rollup, "rollup %d has no children", id)
	for _, child := range e.Children {
		check.Require(rt, child.From >= e.Row.From && child.To <= e.Row.To, "child %d of %d is outside it", child.ID, id)
		seqs = append(seqs, m.expand(rt, child.ID)...)
	}
	for _, said := range e.Messages {
		check.Require(rt, said.Text == m.r.messages[said.Seq-1].Text, "message %d of row %d: got %q", said.Seq, id, said.Text)
		seqs = append(seqs, said.Seq)
	}
	return seqs
}

// checkMemoriesSavedOnce checks that no two workers saved a memory from the same message.
func (m *machine) checkMemoriesSavedOnce(rt *rapid.T) {
	saved, _, err := memory.In(m.f.store).List(context.Background(), memory.Filter{Conversation: m.r.name})
	check.NoError(rt, err)
	seen := make(map[string]bool)
	for _, s := range saved {
		if s.By != "worker" {
			continue
		}
		m.tally.add(1, "memories of a worker")
		check.Require(rt, !seen[s.Content] && s.Confirmed == 1,
			"%q was saved more than once, and confirmed %d times", s.Content, s.Confirmed)
		seen[s.Content] = true
		check.Require(rt, len(s.Sources) == 1 && s.Content == fact(s.Sources[0]) && !m.r.deleted[s.Sources[0]],
			"%q came from %v", s.Content, s.Sources)
	}
}

// tally counts by name what happened in all histories.
type tally struct {
	mu     sync.Mutex // guards counts
	counts map[string]int
}

func (t *tally) add(n int, what ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts[strings.TrimSpace(fmt.Sprintln(what...))] += n
}

func (m *machine) count() {
	m.tally.add(1, "histories that are silent, of a thread, loose, without a model:", m.silent, m.channel != "", m.loose, m.r.worker == nil)
	m.tally.add(len(m.r.messages), "messages")
	m.tally.add(m.r.edits, "messages edited")
	m.tally.add(len(m.r.deleted), "messages deleted")
	m.tally.add(len(m.r.ends), "sessions ended")
	if m.r.worker != nil {
		m.tally.add(len(m.r.worker.Requests()), "requests of the worker")
	}
}

func random(t *testing.T, rt *rapid.T, f *file, work func(context.Context, int, llm.Request) (llm.Response, error)) *rig {
	f.histories++
	p := plainPolicy()
	p.KeepLastN = rapid.IntRange(0, 12).Draw(rt, "keep_last_n")
	p.EmergencyFraction = rapid.Float64Range(0.05, 0.9).Draw(rt, "emergency_fraction")
	p.StackBudget = rapid.Float64Range(0.1, 0.4).Draw(rt, "stack_budget")
	r := &rig{
		t: rapidAdapter{t, rt}, folder: f.borrow(), name: fmt.Sprintf("terminal:test%d", f.histories),
		window: rapid.SampledFrom([]int{3000, 6000}).Draw(rt, "window"), policy: p,
	}
	r.worker = &llmtest.Model{Tokens: 4000, Func: work}
	return r
}

func (r *rig) noteOf(rt *rapid.T) {
	r.deliverNotes(fmt.Sprintf("note %d %s", len(r.messages), filler(rapid.SampledFrom([]int{40, 150, 400, 3000}).Draw(rt, "size"))))
}

// TestRepairsStayBelowEmergency fills windows, hides what does not fit, and repairs it at length
// while messages arrive: a repair never causes the next emergency.
func TestRepairsStayBelowEmergency(t *testing.T) {
	slow(t)
	f := newFile(t)
	rapid.Check(t, func(rt *rapid.T) {
		var reads sync.RWMutex // held by the test: no worker submits its summary
		r := random(t, rt, f, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
			reads.RLock()
			defer reads.RUnlock()
			return fullSummary(ctx, n, req)
		})
		r.policy.Enabled = false // so that the window stays full
		r.open()
		defer r.close()
		for range rapid.IntRange(2, 4).Draw(rt, "rounds") {
			reads.Lock()
			for range rapid.IntRange(1, 5).Draw(rt, "messages") {
				r.noteOf(rt)
			}
			reads.Unlock()
			r.waitIdle()
		}
		line := int(r.policy.EmergencyThreshold * float64(r.window))
		check.Len(rt, fmt.Sprintf("repairs that caused an emergency, at %d of %d", line, r.window), r.which(func(e compactor.Event) bool {
			return e.State == compactor.EventApplied && e.Trigger == compactor.OnRepair && e.AfterTokens > e.BeforeTokens && e.AfterTokens >= line
		}), 0)
		check.NoError(rt, r.check())
	})
}

// TestNoSpanIsSummarizedTwice prepares summaries that wait: while they wait, no message is summarized again.
func TestNoSpanIsSummarizedTwice(t *testing.T) {
	slow(t)
	f := newFile(t)
	rapid.Check(t, func(rt *rapid.T) {
		r := random(t, rt, f, failing(func(n int) bool { return n > 100 })) // or it would never end
		r.policy.PrepareThreshold = rapid.Float64Range(0.1, 0.7).Draw(rt, "prepare_threshold")
		r.policy.SpanTokens = rapid.IntRange(500, 2000).Draw(rt, "span_tokens")
		r.policy.TailTokens = rapid.IntRange(500, 2000).Draw(rt, "tail_tokens")
		r.open()
		defer r.close()
		for range rapid.IntRange(6, 12).Draw(rt, "messages") {
			r.noteOf(rt)
			r.waitIdle()
			check.NoError(rt, r.check())
		}
	})
}
