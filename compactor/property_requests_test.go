// Requests of people and of the model, and what limits them: a budget, a hook, the clock.

package compactor_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/internal/tokens"

	"pgregory.net/rapid"
)

// plenty is a budget that no history uses up.
const plenty = 1 << 40

// limits are what may forbid a job.
type limits struct {
	credit atomic.Int64 // requests to models that the budget still allows
	vetoes atomic.Bool  // the hook forbids every job
	ended  *requestEnds // of the current process
}

// requestEnds counts the requests that began, and their ends.
type requestEnds struct{ started, ended atomic.Int64 }

// limit puts budget and hook between engine and world.
func (l *limits) limit(o *compactor.Options, hook bool) {
	l.credit.Store(plenty)
	l.ended = &requestEnds{}
	o.Afford = func() bool { return l.credit.Load() > 0 }
	o.Spend = func() error {
		if l.credit.Add(-1) < 0 {
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

// compactOtherwise has a person or the model request a compaction with settings of its own.
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
	ends := m.ended
	w := compactor.Requested{
		Trigger: one(rt, "trigger", compactor.OnManual, compactor.OnSelf), Focus: one(rt, "focus", "", "the tea"), With: with,
		Began: func(e compactor.Event) {
			if e.State == compactor.EventStarted || e.State == compactor.EventScheduled {
				ends.started.Add(1)
			}
		},
		Ended: func(compactor.Event) { ends.ended.Add(1) },
	}
	m.r.c.do(func() { m.r.c.Compactor.Compact(w) })
	m.waitForWorker(rt)
}

// brief renders the view for another agent.
func (m *machine) brief(rt *rapid.T) {
	most := one(rt, "tokens", 100, 400, 1500, 20_000)
	text, err := m.r.c.Briefing(context.Background(), most, m.r.policy, chat.Message{Seq: 1 << 31, Role: "user", Author: "Ada", Text: "question of another"})
	if err != nil {
		check.Require(rt, m.refusing || m.disk.dead.Load(), "%v", err)
		return
	}
	if n := tokens.Estimate(text); n > most+100 {
		rt.Fatalf("a briefing of %d tokens instead of %d:\n%s", n, most, text)
	}
	for _, seq := range namedIn(text) {
		check.Require(rt, !m.r.gone[seq], "a briefing shows the deleted message %d:\n%s", seq, text)
	}
}
