// Tables of the engine's decisions, without a disk or a model. plan_test.go checks which turns
// leave and which summaries are folded, and package transcript what covers and restores what.

package compactor

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/llm/llmtest"
	"cairn/transcript"
)

// ready returns a prepared row with a trigger over [from, to].
func ready(id, from, to int64, trigger Trigger) Compaction {
	kind := Leaf
	if trigger == OnRollup {
		kind = Rollup
	}
	return Compaction{ID: id, Kind: kind, By: ByWorker, State: Prepared, Trigger: trigger, Span: Span{From: from, To: to}, Tokens: 5}
}

func TestWhichPreparedRowsAreApplied(t *testing.T) {
	ahead := []Compaction{ready(1, 1, 2, OnPrepare), ready(2, 3, 4, OnPrepare), ready(3, 5, 6, OnPrepare)}
	and := func(rows ...Compaction) []Compaction { return append(slices.Clone(ahead), rows...) }
	fold := ready(4, 1, 4, OnRollup)
	fold.Children = []int64{1, 2}
	p := DefaultPolicy()
	for _, tt := range []struct {
		claim    string
		prepared []Compaction
		d        demand
		want     []int64
	}{
		{"nothing where nothing is demanded", ahead, demand{}, nil},
		{"the oldest, until the background share has left", ahead, demand{share: p.applied(background)}, []int64{1, 2}},
		{"more at the aggressive level", ahead, demand{share: p.applied(aggressive)}, []int64{1, 2, 3}},
		{"all of it if that is demanded", and(ready(4, 7, 8, OnRepair)), demand{share: 1}, []int64{1, 2, 3, 4}},
		{"what somebody asked for, and all that is older", and(ready(4, 7, 8, OnManual)), demand{}, []int64{1, 2, 3, 4}},
		{"a repair comes along with a change of the head, and waits without", and(ready(4, 9, 10, OnRepair)), demand{along: true}, []int64{4}},
		{"a repair alone waits", and(ready(4, 9, 10, OnRepair)), demand{}, nil},
		{"a fold waits for its parts", and(fold), demand{share: 0.1, along: true}, []int64{1}},
	} {
		t.Run(tt.claim, func(t *testing.T) {
			s := turns(one(10, 10, 10, 10, 10, 10, 10, 10, 10, 10)...)
			check.EqualAll(t, "applied", transcript.IDs(s.chosen(tt.prepared, tt.d, s.urgent(p, 10_000))), tt.want)
		})
	}
	economical := (Policy{Economy: true})
	check.Equal(t, "economy applies all at a level, and nothing below", economical.applied(background), 1)
	check.Equal(t, "economy applies all at a level, and nothing below", economical.applied(levelNone), 0)
}

func TestUrgentWork(t *testing.T) {
	on := func(change func(*Policy)) Policy { p := DefaultPolicy(); change(&p); return p }
	off := on(func(p *Policy) { p.Enabled = false })
	placeholder := Head{Stack: []Compaction{{ID: 9, Kind: Placeholder, Span: Span{From: 1, To: 2}}}}
	for _, tt := range []struct {
		claim string
		row   Compaction
		head  Head
		p     Policy
		want  bool
	}{
		{"what a level demanded", ready(1, 1, 2, OnBackground), Head{}, DefaultPolicy(), true},
		{"what somebody asked for", ready(1, 1, 2, OnManual), Head{}, DefaultPolicy(), true},
		{"not work ahead", ready(1, 1, 2, OnPrepare), Head{}, DefaultPolicy(), false},
		{"not a repair", ready(1, 1, 2, OnRepair), Head{}, DefaultPolicy(), false},
		{"a repair of a placeholder", ready(1, 1, 2, OnRepair), placeholder, DefaultPolicy(), true},
		{"a repair where nothing is made ahead", ready(1, 1, 2, OnRepair), Head{}, off, true},
		{"not a fold that has room", ready(1, 1, 2, OnRollup), Head{}, DefaultPolicy(), false},
		{"a fold where the stack is too large", ready(1, 1, 2, OnRollup), Head{Stack: []Compaction{oldestSummary(7, 1, 2, 2000)}}, DefaultPolicy(), true},
	} {
		t.Run(tt.claim, func(t *testing.T) {
			check.Equal(t, "urgent", (view{head: tt.head}).urgent(tt.p, 10_000)(tt.row), tt.want)
		})
	}
}

// decider returns an engine with a model, with only the parts that decide.
func decider() *Compactor {
	p := DefaultPolicy()
	return &Compactor{
		o: Options{Worker: &llmtest.Model{Label: "m"}, Policy: func() Policy { return p }, Window: func() int { return 10_000 }},
		h: &History{},
	}
}

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func TestWhoSummarizes(t *testing.T) {
	for _, tt := range []struct {
		claim             string
		change            func(*Compactor)
		spoken            bool
		extractive, ready bool
	}{
		{"the model, of talk with the bot", func(*Compactor) {}, true, false, true},
		{"the extractive summarizer, of talk among people", func(*Compactor) {}, false, true, true},
		{"the extractive summarizer, without a model", func(c *Compactor) { c.o.Worker = nil }, true, true, true},
		{"the extractive summarizer, while the budget is spent", func(c *Compactor) { c.o.Afford = func() bool { return false } }, true, true, true},
		{"nobody, after a failure", func(c *Compactor) { c.retries.failed(noon) }, true, false, false},
		{"the extractive summarizer, after as many as failure_limit", func(c *Compactor) {
			for range 3 {
				c.retries.failed(noon)
			}
		}, true, true, true},
		{"nobody, after the disk failed", func(c *Compactor) { c.o.Worker = nil; c.retries.extractiveFailed(noon) }, true, true, false},
		{"the model again, when the pause is over", func(c *Compactor) { c.retries.failed(noon.Add(-time.Hour)) }, true, false, true},
	} {
		t.Run(tt.claim, func(t *testing.T) {
			c := decider()
			tt.change(c)
			extractive, ready := c.summarizer(c.policy(), view{addressed: tt.spoken}, noon)
			check.Equal(t, "extractive", extractive, tt.extractive)
			check.Equal(t, "ready", ready, tt.ready)
		})
	}
}

func TestRequestRefusals(t *testing.T) {
	for _, tt := range []struct {
		claim   string
		trigger Trigger
		change  func(*Compactor, *Policy)
		since   bool // a turn has begun since the last compaction
		tokens  int  // that could be summarized
		want    string
	}{
		{"people may ask", OnManual, func(*Compactor, *Policy) {}, true, 500, ""},
		{"so may the model", OnSelf, func(*Compactor, *Policy) {}, true, 500, ""},
		{"the model not where compaction is off", OnSelf, func(_ *Compactor, p *Policy) { p.Enabled = false }, true, 500, reasonSelfOff},
		{"people there too", OnManual, func(_ *Compactor, p *Policy) { p.Enabled = false }, true, 500, ""},
		{"the model once a turn", OnSelf, func(c *Compactor, _ *Policy) { c.reports.appliedAt = 9 }, false, 500, reasonJust},
		{"people again, if there is enough", OnManual, func(c *Compactor, _ *Policy) { c.reports.appliedAt = 9 }, false, 500, ""},
		{"not of what is nothing", OnManual, func(*Compactor, *Policy) {}, true, 0, reasonShort},
		{"not of what is too little", OnManual, func(*Compactor, *Policy) {}, true, 50, reasonLittle},
		{"the model once more after a failure", OnSelf, func(c *Compactor, _ *Policy) { c.retries.failed(noon) }, true, 500, ""},
		{"but not after two", OnSelf, func(c *Compactor, _ *Policy) { c.retries.failed(noon); c.retries.failed(noon) }, true, 500, reasonCooling},
	} {
		t.Run(tt.claim, func(t *testing.T) {
			c, p := decider(), DefaultPolicy()
			tt.change(c, &p)
			check.Equal(t, "reason", c.whyNot(tt.trigger, p, tt.since, tt.tokens, noon), tt.want)
		})
	}
}

func TestDeclinedSpansAreRetried(t *testing.T) {
	for times, want := range []time.Duration{0, 0, 0, time.Hour / 6, time.Hour, 6 * time.Hour} {
		c := decider()
		row := Compaction{Declined: Declined{Times: times, At: noon, By: "m"}}
		if got := c.retryDeclinedAt(row, noon); want == 0 && !got.IsZero() || want > 0 && got.Sub(noon) != want {
			t.Errorf("declined %d times: got the next attempt at %v, want %v later", times, got, want)
		}
		check.That(t, !c.gaveUp(row), "declined %d times: the span is given up", times)
	}
	ahead := Compaction{Declined: Declined{Times: 3, At: noon.AddDate(1, 0, 0), By: "m"}} // when the clock was wrong
	if at := decider().retryDeclinedAt(ahead, noon); at.After(noon) {
		t.Errorf("declined by a clock that was a year ahead: got the next attempt at %v", at)
	}
	row := Compaction{Declined: Declined{Times: 6, At: noon, By: "m"}}
	if c := decider(); !c.gaveUp(row) {
		t.Error("declined 6 times: the span is not given up")
	} else if c.o.Worker = (&llmtest.Model{Label: "another"}); c.gaveUp(row) {
		t.Error("another model does not get the declined span")
	}
}

func TestLevelTargets(t *testing.T) {
	const window = 100_000
	p := DefaultPolicy()
	for what, is := range map[string][2]int{
		"the reply":                    {Reserve(0, window), 12_500},
		"the messages of one turn":     {BurstBudget(window), 25_000},
		"one message":                  {p.shape(window).clipTo, 25_000},
		"first messages and pins":      {p.shape(window).maxFirst, 1000},
		"the newest messages":          {p.tail(window), 16_000},
		"one span of work ahead":       {p.span(window), 12_000},
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
