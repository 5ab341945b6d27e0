package compactor

import (
	"testing"
	"time"

	"cairn/testkit/check"
	"cairn/transcript"
)

// everythingDue returns an engine in which every kind of work is due: the background level is reached, a prepared summary waits
// for a fold, a row waits for a model, an earlier session has two rows, and more can be prepared.
func everythingDue(p *Policy) *Compactor {
	p.PrepareThreshold = 0.3
	p.SpanTokens = 2500
	p.KeepLastN = 0
	c := decider(func(o *Options) { o.Policy = func() Policy { return *p } })
	c.retries.vetoes = map[Trigger]veto{}
	c.view = turns(one(1100, 1100, 1100, 1100, 1100)...)
	for i, m := range c.view.Messages {
		later := *m.Message
		later.Seq += 40
		later.Turn += 40
		c.view.Messages[i].Message = &later
	}
	c.view.state = transcript.New()
	c.view.addressed = true
	c.view.Head = Head{
		Start:   21,
		Stack:   []Summary{oldestSummary(5, 21, 30, 700), oldestSummary(6, 31, 40, 700)},
		Earlier: []transcript.Session{{From: 1, To: 20, Rows: []Summary{oldestSummary(1, 1, 10, 50), oldestSummary(2, 11, 20, 50)}}},
	}
	c.view.Head.Stack[0].By = ByExtractive
	c.view.Head.Stack[0].AwaitsModel = true
	c.view.HeadCost = transcript.StackCost(c.view.Head.Stack)
	waiting := ready(9, 41, 42, OnPrepare)
	waiting.Tokens = 300
	c.view.setPrepared([]Summary{waiting})
	return c
}

// TestWhatIsDueInOrder takes away one reason for work after the other.
func TestWhatIsDueInOrder(t *testing.T) {
	p := DefaultPolicy()
	c := everythingDue(&p)
	forbid := func(trigger Trigger) { c.retries.vetoes[trigger] = veto{until: noon.Add(time.Hour)} }
	for _, tt := range []struct {
		claim      string
		change     func()
		trigger    Trigger // "": nothing is due
		from, to   int64
		extractive bool
	}{
		{"the fold that a prepared summary waits for", func() {}, OnRollup, 31, 42, false},
		{"what a level demands", func() { c.view.setPrepared(nil) }, OnBackground, 41, 42, false},
		{"a fold of a stack that is too large", func() { forbid(OnBackground); c.view.Head.Stack[1].Tokens += 200 }, OnRollup, 21, 40, true},
		{"a repair", func() { c.view.Head.Stack[1].Tokens -= 200 }, OnRepair, 21, 30, false},
		{"a fold of an earlier session", func() { c.view.Head.Stack[0].By = ByWorker; c.view.Head.Stack[0].AwaitsModel = false }, OnRollup, 1, 20, false},
		{"preparation", func() { c.view.Head.Earlier = nil }, OnPrepare, 41, 41, false},
		{"nothing below prepare_threshold", func() { p.PrepareThreshold = 0.95 }, "", 0, 0, false},
		{"preparation without a model, which has no threshold", func() { c.o.Worker = nil; p.BackgroundFraction = 0.5 }, OnPrepare, 41, 41, true},
		{"nothing that can wait for the next start", func() { c.draining = true }, "", 0, 0, false},
		{"what a level demands, then too", func() { clear(c.retries.vetoes) }, OnBackground, 41, 43, true},
		{"nothing while compaction is paused", func() { c.retries.pausedUntil = noon.Add(time.Minute) }, "", 0, 0, false},
		{"nothing where it is off", func() { c.retries.pausedUntil = time.Time{}; p.Enabled = false }, "", 0, 0, false},
		{"nothing after a failure of the disk", func() { p.Enabled = true; c.retries.extractiveRetryAt = noon.Add(time.Minute) }, "", 0, 0, false},
	} {
		tt.change()
		var got Summary
		byExtractive := false
		if j := c.now().next(); j != nil {
			got = j.row
			byExtractive = j.extractive()
		}
		check.Equal(t, tt.claim, got.Trigger, tt.trigger)
		check.Equal(t, tt.claim+": span", got.Span, Span{From: tt.from, To: tt.to})
		check.Equal(t, tt.claim+": by the extractive summarizer", byExtractive, tt.extractive)
	}
}

// TestPlaceholdersAreFilledFirst by the extractive summarizer, whatever else is due.
func TestPlaceholdersAreFilledFirst(t *testing.T) {
	p := DefaultPolicy()
	c := everythingDue(&p)
	check.That(t, c.now().planFill() == nil, "a summary is filled")
	c.view.Head.Stack[1] = Summary{ID: 6, Kind: Placeholder, Span: Span{From: 31, To: 40}}
	j := c.now().planFill()
	check.Require(t, j != nil, "nothing is filled")
	check.That(t, j.fills() && j.extractive() && j.repaired.ID == 6 && j.row.Span == Span{From: 31, To: 40}, "got %+v", j)
}
