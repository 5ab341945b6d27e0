// Tables of the engine's decisions, without a disk or a model. plan_test.go checks which turns
// leave and which summaries are folded, and package transcript what covers and restores what.

package compactor

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"cairn/compactor/worker"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/transcript"
)

func ready(id, from, to int64, trigger Trigger) Summary {
	kind := Leaf
	if trigger == OnRollup {
		kind = Rollup
	}
	return Summary{ID: id, Kind: kind, By: ByWorker, State: Prepared, Trigger: trigger, Span: Span{From: from, To: to}, Tokens: 5}
}

func TestWhichPreparedRowsAreApplied(t *testing.T) {
	ahead := []Summary{ready(1, 1, 2, OnPrepare), ready(2, 3, 4, OnPrepare), ready(3, 5, 6, OnPrepare)}
	and := func(rows ...Summary) []Summary { return append(slices.Clone(ahead), rows...) }
	fold := ready(4, 1, 4, OnRollup)
	fold.Children = []int64{1, 2}
	p := DefaultPolicy()
	for _, tt := range []struct {
		claim    string
		prepared []Summary
		d        demand
		want     []int64
	}{
		{"nothing where nothing is demanded", ahead, demand{}, nil},
		{"the oldest, until the background share has left", ahead, demand{share: p.applied(background)}, []int64{1, 2}},
		{"not the last one, if the share is nearer without it", ahead, demand{share: 0.29}, []int64{1}},
		{"at least one", ahead, demand{share: 0.05}, []int64{1}},
		{"more at the aggressive level", ahead, demand{share: p.applied(aggressive)}, []int64{1, 2, 3}},
		{"all of it if that is demanded", and(ready(4, 7, 8, OnRepair)), demand{share: 1}, []int64{1, 2, 3, 4}},
		{"what somebody asked for, and all that is older", and(ready(4, 7, 8, OnManual)), demand{}, []int64{1, 2, 3, 4}},
		{"a repair comes along with a change of the head, and waits without", and(ready(4, 9, 10, OnRepair)), demand{along: true}, []int64{4}},
		{"a repair alone waits", and(ready(4, 9, 10, OnRepair)), demand{}, nil},
		{"a fold waits for its parts", and(fold), demand{share: 0.1, along: true}, []int64{1}},
	} {
		s := turns(one(10, 10, 10, 10, 10, 10, 10, 10, 10, 10)...)
		check.EqualAll(t, tt.claim, transcript.IDs(s.chosen(tt.prepared, tt.d, decider().now().urgent)), tt.want)
	}
	all := Policy{Economy: true}.applied(background)
	none := Policy{Economy: true}.applied(levelNone)
	check.That(t, all == 1 && none == 0, "economy applies %g at a level, and %g below, want all and nothing", all, none)
}

func TestUrgentWork(t *testing.T) {
	off := DefaultPolicy()
	off.Enabled = false
	placeholder := Head{Stack: []Summary{{ID: 9, Kind: Placeholder, Span: Span{From: 1, To: 2}}}}
	full := Head{Stack: []Summary{oldestSummary(7, 1, 2, 2000)}}
	for _, tt := range []struct {
		claim   string
		trigger Trigger
		head    Head
		p       Policy
		want    bool
	}{
		{"what a level demanded", OnBackground, Head{}, DefaultPolicy(), true},
		{"what somebody asked for", OnManual, Head{}, DefaultPolicy(), true},
		{"not work ahead", OnPrepare, Head{}, DefaultPolicy(), false},
		{"not a repair", OnRepair, Head{}, DefaultPolicy(), false},
		{"a repair of a placeholder", OnRepair, placeholder, DefaultPolicy(), true},
		{"a repair where nothing is made ahead", OnRepair, Head{}, off, true},
		{"not a fold that has room", OnRollup, Head{}, DefaultPolicy(), false},
		{"a fold where the stack is too large", OnRollup, full, DefaultPolicy(), true},
	} {
		c := decider(func(o *Options) { o.Policy = func() Policy { return tt.p } })
		c.view.Head = tt.head
		check.Equal(t, tt.claim, c.now().urgent(ready(1, 1, 2, tt.trigger)), tt.want)
	}
}

// decider returns an engine with a model, with only the parts that decide, and with some options changed.
func decider(change ...func(*Options)) *Compactor {
	o := Options{
		Worker: &llmtest.Model{Label: "m"}, Policy: DefaultPolicy, Window: func() int { return 10_000 },
		Learned: func() *llm.Learned { return &llm.Learned{} }, Strategy: worker.StrategyOf, Now: func() time.Time { return noon },
	}
	for _, f := range change {
		f(&o)
	}
	c := &Compactor{o: &o}
	c.meter = newMeter(&o)
	c.models = newModels(&o)
	c.view.state = transcript.New()
	return c
}

// oldestSummary returns a summary over [from, to] that costs this many tokens.
func oldestSummary(id, from, to int64, tokens int) Summary {
	return Summary{ID: id, Kind: Leaf, By: ByWorker, State: Applied, Span: Span{From: from, To: to}, Text: "text", Tokens: tokens}
}

func (c *Compactor) now() *planner { return c.planner(c.meter.policy()) }

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func TestWhoSummarizes(t *testing.T) {
	const model, extractive, nobody = "the model", "the extractive summarizer", "nobody"
	for _, tt := range []struct {
		claim  string
		change func(*Compactor)
		silent bool // nobody spoke to the bot
		want   string
	}{
		{"talk with the bot", func(*Compactor) {}, false, model},
		{"talk among people", func(*Compactor) {}, true, extractive},
		{"without a model", func(c *Compactor) { c.o.Worker = nil }, false, extractive},
		{"while the budget is spent", func(c *Compactor) { c.o.Spend = func(bool) error { return ErrSpent } }, false, extractive},
		{"after a failure", func(c *Compactor) { c.failures(1) }, false, nobody},
		{"after as many as failure_limit", func(c *Compactor) { c.failures(3) }, false, extractive},
		{"after the disk failed", func(c *Compactor) { c.o.Worker = nil; c.retries.extractiveRetryAt = noon.Add(time.Minute) }, false, nobody},
		{"when the pause is over", func(c *Compactor) { c.retries.failed(noon.Add(-time.Hour), 0) }, false, model},
	} {
		c := decider()
		tt.change(c)
		got := model
		if byExtractive, ready := c.models.choose(c.meter.policy(), !tt.silent, c.retries, noon); !ready {
			got = nobody
		} else if byExtractive {
			got = extractive
		}
		check.Equal(t, tt.claim, got, tt.want)
	}
}

func (c *Compactor) failures(n int) {
	for range n {
		c.retries.failed(noon, 0)
	}
}

func TestRequestRefusals(t *testing.T) {
	same := func(*Compactor, *Policy) {}
	off := func(_ *Compactor, p *Policy) { p.Enabled = false }
	justApplied := func(c *Compactor, _ *Policy) { c.reports.appliedAt = 9 }
	for _, tt := range []struct {
		claim   string
		trigger Trigger
		change  func(*Compactor, *Policy)
		since   bool // a turn has started since the last compaction
		tokens  int  // that could be summarized
		want    string
	}{
		{"people may ask", OnManual, same, true, 500, ""},
		{"so may the model", OnSelf, same, true, 500, ""},
		{"the model not where compaction is off", OnSelf, off, true, 500, reasonSelfOff},
		{"people there too", OnManual, off, true, 500, ""},
		{"the model once a turn", OnSelf, justApplied, false, 500, reasonJust},
		{"people again, if there is enough", OnManual, justApplied, false, 500, ""},
		{"not of what is nothing", OnManual, same, true, 0, reasonShort},
		{"not of what is too little", OnManual, same, true, 50, reasonLittle},
		{"the model once more after a failure", OnSelf, func(c *Compactor, _ *Policy) { c.failures(1) }, true, 500, ""},
		{"but not after two", OnSelf, func(c *Compactor, _ *Policy) { c.failures(2) }, true, 500, reasonCooling},
	} {
		c := decider()
		p := DefaultPolicy()
		tt.change(c, &p)
		check.Equal(t, tt.claim, c.planner(p).whyNot(tt.trigger, tt.since, tt.tokens), tt.want)
	}
}

func TestDeclinedSpansAreGivenUp(t *testing.T) {
	for times := range 5 {
		c := decider()
		row := Summary{Declined: Declined{Times: times, By: "m"}}
		check.Equal(t, fmt.Sprintf("declined %d times: given up", times), c.models.gaveUp(row), times >= c.meter.policy().FailureLimit)
		c.o.Worker = &llmtest.Model{Label: "another"}
		check.Equal(t, "another model gives it up", c.models.gaveUp(row), false)
	}
}

func TestLevelTargets(t *testing.T) {
	const window = 100_000
	p := DefaultPolicy()
	for what, is := range map[string][2]int{
		"the reply":                    {Reserve(0, window), 12_500},
		"the messages of one turn":     {BurstBudget(window), 25_000},
		"one message":                  {p.shape(window).ClipTo, 25_000},
		"first messages and pins":      {p.shape(window).MaxCopies, 1000},
		"the newest messages":          {p.tail(window), 16_000},
		"one span of work ahead":       {p.spanTokens(window), 7_500},
		"the same in a large window":   {p.spanTokens(10 * window), 12_000},
		"all summaries":                {p.stackBudget(window), 15_000},
		"earlier sessions among them":  {p.maxPast(window), 7_500},
		"one summary, at least":        {p.entryCap(window, 0), 5_000},
		"one summary, if more is left": {p.entryCap(window, 9_000), 9_000},
		"the summary of a span":        {p.target(1000, 6400), 200},
		"the summary of a large span":  {p.target(1_000_000, 6400), 6400},
		"the reply, as is set":         {Reserve(4096, window), 4096},
	} {
		check.Equal(t, fmt.Sprintf("%s may take", what), is[0], is[1])
	}
}

// refusals keeps nothing of what a model declines.
type refusals struct{ Records }

func (refusals) Declined(context.Context, int64, Declined) error { return nil }

func TestPlansKnowWhatWasDeclined(t *testing.T) {
	c := decider()
	c.o.Records, c.ctx = refusals{}, t.Context()
	c.view.Head.Stack = []Summary{{ID: 1, Span: Span{From: 1, To: 9}, Kind: Leaf, State: Applied}}
	c.view.setPrepared([]Summary{ready(2, 10, 19, OnPrepare)})
	check.Equal(t, "declined before", c.now().ahead().Head.Stack[0].Declined.Times, 0)
	c.noteDeclined(1, Declined{Times: 3})
	check.Equal(t, "declined in plans", c.now().ahead().Head.Stack[0].Declined.Times, 3)
}

func TestCompactRetriesWhatIsOnlyPrepared(t *testing.T) {
	c := decider()
	c.o.Records, c.ctx = refusals{}, t.Context()
	row := ready(2, 10, 19, OnPrepare)
	row.Declined = Declined{Times: 3, By: "m"}
	c.view.setPrepared([]Summary{row})
	c.forgetDeclined()
	check.Equal(t, "declined", c.view.prepared()[0].Declined.Times, 0)
}
