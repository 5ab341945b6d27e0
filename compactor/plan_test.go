package compactor

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"cairn/chat"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/transcript"
)

func TestLevelsFireAtTheirThresholds(t *testing.T) {
	p := DefaultPolicy()
	for _, tt := range []struct {
		used int
		want level
	}{
		{0, levelNone}, {7_999, levelNone}, {8_000, background}, {8_499, background}, {8_500, aggressive}, {9_499, aggressive}, {9_500, emergency}, {12_000, emergency},
	} {
		check.Equal(t, fmt.Sprintf("levelOf(%d of 10000)", tt.used), levelOf(tt.used, 10_000, p), tt.want)
		next, at := nextLevel(tt.used, 10_000, p)
		check.That(t, tt.want >= emergency || next == (tt.want+1).trigger() && levelOf(at, 10_000, p) == tt.want+1 && levelOf(at-1, 10_000, p) == tt.want,
			"above %d tokens the next level is %s at %d", tt.used, next, at)
	}
	check.Equal(t, "fractions", p.fraction(background), 0.30)
	check.Equal(t, "aggressive level", p.fraction(aggressive), 0.50)
	check.Equal(t, "emergency level", p.fraction(emergency), 0.50)
	p.CompactAtTokens = 3_000
	check.Equal(t, "compact_at_tokens reached: level", levelOf(3_000, 10_000, p), background)
	p.Enabled = false
	check.Equal(t, "switched off: level", levelOf(9_000, 10_000, p), levelNone)
	check.Equal(t, "switched off, full: level", levelOf(9_500, 10_000, p), emergency)
}

// turns makes lines from a list of turns, each a list of token counts.
func turns(sizes ...[]int) (s view) {
	for _, turn := range sizes {
		first := int64(len(s.Messages) + 1)
		for i, tokens := range turn {
			s.Messages = append(s.Messages, transcript.Verbatim{
				Message: &chat.Message{Seq: first + int64(i), Turn: first, Role: llm.RoleUser}, As: transcript.Form{Tokens: tokens},
			})
			s.MessageCost += tokens
		}
	}
	return s
}

func one(tokens ...int) [][]int { return slices.Collect(slices.Chunk(tokens, 1)) }

func TestPlanNearest(t *testing.T) {
	for _, tt := range []struct {
		claim string
		sizes []int
		need  int
		to    int64
	}{
		{"more, if that is nearer", []int{1000, 1000, 1000}, 1600, 2},
		{"less, if that is nearer", []int{1000, 1000, 1000}, 1400, 1},
		{"more, of two that are as near", []int{1000, 1000, 1000}, 1500, 2},
		{"at least one turn", []int{1000, 1000}, 100, 1},
		{"no less than is worth a summary", []int{20, 5000, 1000}, 1800, 2},
		{"all that may leave", []int{1000, 1000}, 9000, 2},
	} {
		sp := planNearest(turns(one(tt.sizes...)...), tt.need, tailLimits{})
		check.Equal(t, tt.claim, sp.Span, Span{From: 1, To: tt.to})
	}
}

func TestPlan(t *testing.T) {
	open := func(turn int64) view {
		s := turns(one(10, 10, 10)...)
		s.Open = turn
		return s
	}
	for name, tt := range map[string]struct {
		s          view
		need       int
		spared     tailLimits
		from, want int64 // 0: nothing
	}{
		"takes whole turns until enough is covered":                {turns([]int{10, 10}, []int{10, 10, 10}, []int{10}, []int{10}), 21, tailLimits{1, 0, 1000}, 1, 5},
		"covers at least what is needed":                           {turns(one(10, 10, 10, 10, 10, 10)...), 30, tailLimits{1, 0, 1000}, 1, 3},
		"one giant turn leaves nothing to cut":                     {turns([]int{10, 900, 900, 900}), 500, tailLimits{4, 0, 1000}, 0, 0},
		"keep_last_n is rounded up to turns":                       {turns([]int{10}, []int{10}, []int{10, 10, 10}, []int{10}), 1000, tailLimits{2, 0, 1000}, 1, 2},
		"keep_last_turns spares whole turns":                       {turns([]int{10}, []int{10, 10}, []int{10, 10, 10}, []int{10}), 1000, tailLimits{0, 3, 1000}, 1, 1},
		"of keep_last_n and keep_last_turns the larger counts":     {turns([]int{10}, []int{10}, []int{10, 10, 10}, []int{10}), 1000, tailLimits{5, 1, 1000}, 1, 1},
		"the tail allowance wins over keep_last_turns":             {turns(one(10, 10, 800, 10)...), 1000, tailLimits{0, 4, 100}, 1, 3},
		"the tail allowance wins over keep_last_n":                 {turns(one(10, 10, 800, 10)...), 1000, tailLimits{4, 0, 100}, 1, 3},
		"the newest turn stays even if it is larger than the tail": {turns(one(10, 10, 800)...), 1000, tailLimits{4, 0, 100}, 1, 2},
		"keep_last_n 0 keeps none":                                 {turns(one(10, 10)...), 1000, tailLimits{0, 0, 100}, 1, 2},
		"an unanswered turn is never in a span":                    {open(3), 1000, tailLimits{0, 0, 100}, 1, 2},
		"nor is what follows it":                                   {open(2), 1000, tailLimits{0, 0, 100}, 1, 1},
		"an empty history has no span":                             {turns(), 1, tailLimits{}, 0, 0},
	} {
		check.Equal(t, name, planSpan(tt.s, tt.need, tt.spared).Span, Span{From: tt.from, To: tt.want})
	}
}

// Between the messages from beyond on and those before them are some that are not read yet: no span may cover those.
func TestSpansEndBeforeWhatIsNotRead(t *testing.T) {
	s := turns([]int{100}, []int{100}, []int{100}, []int{100})
	s.beyond = s.Messages[2].Seq
	check.Equal(t, "all that may leave", planSpan(s, 1000, tailLimits{}).Span, Span{From: s.Messages[0].Seq, To: s.Messages[1].Seq})
	check.Equal(t, "ahead", planAhead(s, 200, 0).Span, Span{From: s.Messages[0].Seq, To: s.Messages[1].Seq})
	s.beyond = s.Messages[0].Seq
	check.Len(t, "nothing", planSpan(s, 1000, tailLimits{}).messages, 0)
}

func TestSpanReachesItsNeighbors(t *testing.T) {
	s := turns(one(10, 10, 10, 10, 10, 10)...)
	lines := s.Messages
	s.Messages = append(lines[:2:2], lines[4:]...) // 3 and 4 are summarized, 1 and 2 were undone
	s.Head.Stack = []Summary{{ID: 1, Span: Span{From: 3, To: 4}}}
	check.Equal(t, "span before a summary", planSpan(s, 1000, tailLimits{}).Span, Span{From: 1, To: 2})
	s.Messages = lines[4:] // 5 and 6; 4 was deleted
	s.Head.Stack = []Summary{{ID: 1, Span: Span{From: 1, To: 2}}, {ID: 2, Span: Span{From: 3, To: 3}}}
	check.Equal(t, "span after a deleted message", planSpan(s, 1000, tailLimits{}).Span, Span{From: 4, To: 6})
}

func stackOf(levels ...int) []Summary {
	var stack []Summary
	for i, l := range levels {
		stack = append(stack, Summary{ID: int64(i + 1), Span: Span{From: int64(10*i + 1), To: int64(10*i + 10)}, Level: l, Kind: Leaf, Tokens: 10, Messages: 100 - i})
	}
	return stack
}

func TestFold(t *testing.T) {
	gap := func(stack []Summary) []Summary {
		stack[1].From++
		return stack
	}
	there := []transcript.Verbatim{{Message: &chat.Message{Seq: 11}}, {Message: &chat.Message{Seq: 31}}}
	unwritten := stackOf(0, 0)
	unwritten[1].ID = 0
	built := func(stack []Summary, model ...int) []Summary {
		for i := range stack {
			stack[i].By = ByExtractive
		}
		for _, i := range model {
			stack[i].By = ByWorker
		}
		return stack
	}
	of := func(messages ...int) []Summary {
		stack := built(stackOf(make([]int, len(messages))...))
		for i, n := range messages {
			stack[i].Messages = n
		}
		return stack
	}
	const model, extractive = false, true
	for _, tt := range []struct {
		by      bool
		name    string
		stack   []Summary
		between []transcript.Verbatim
		want    []int64
	}{
		{model, "takes the oldest run of one level", stackOf(2, 1, 1, 0, 0, 0), nil, []int64{2, 3}},
		{model, "takes as many as fan-in allows", stackOf(0, 0, 0, 0, 0), nil, []int64{1, 2, 3, 4}},
		{model, "without a run of one level takes the two over the fewest messages", stackOf(2, 1, 0), nil, []int64{2, 3}},
		{model, "never folds across messages", gap(stackOf(0, 0, 0)), there, []int64{2, 3}},
		{model, "folds across what was deleted", gap(stackOf(0, 0)), there[1:], []int64{1, 2}},
		{model, "never folds what is not on disk", unwritten, nil, nil},
		{model, "does not fold a single one", stackOf(0), nil, nil},
		{model, "at the deepest level takes the lightest two", stackOf(transcript.MaxLevel, transcript.MaxLevel, 0), nil, []int64{2, 3}},
		{extractive, "takes the two over the fewest messages, whatever their levels", built(stackOf(2, 2, 1, 0)), nil, []int64{3, 4}},
		{extractive, "takes the older of two pairs over as many", built(append(stackOf(0, 0), Summary{ID: 3, Span: Span{From: 21, To: 30}, Messages: 100})), nil, []int64{1, 2}},
		{extractive, "spares what a model wrote", built(stackOf(0, 0, 0, 0), 3), nil, []int64{2, 3}},
		{extractive, "folds what a model wrote if there is nothing else", built(stackOf(0, 0), 0, 1), nil, []int64{1, 2}},
		{extractive, "does not have a large one take up one small one after the other", of(2000, 1500, 45), nil, []int64{1, 2}},
		{extractive, "takes the two over the fewest messages if no two are about as large", of(40_000, 2000, 45), nil, []int64{2, 3}},
		{extractive, "never folds across messages", gap(stackOf(0, 0, 0)), there, []int64{2, 3}},
		{extractive, "never folds what is not on disk", unwritten, nil, nil},
	} {
		got := planFold(view{View: transcript.View{Head: Head{Stack: tt.stack}, Messages: tt.between}}, nil, 4, tt.by)
		check.EqualAll(t, fmt.Sprintf("extractive %v: %s", tt.by, tt.name), transcript.IDs(got), tt.want)
	}
	fold := decider().now().planRollup(stackOf(transcript.MaxLevel, transcript.MaxLevel), true)
	check.Equal(t, "level of the fold", fold.row.Level, transcript.MaxLevel)
}

func TestPlanAhead(t *testing.T) {
	for name, tt := range map[string]struct {
		sizes      []int // of the turns; the last of 900 is the tail
		want, cost int
	}{
		"takes whole turns up to the size aimed at":    {[]int{900, 900, 900, 900}, 2, 1800},
		"waits while there is less":                    {[]int{900, 900, 900}, 0, 0},
		"takes a giant turn":                           {[]int{5000, 900, 900}, 1, 5000},
		"takes a giant turn with the little before it": {[]int{10, 5000, 10, 900}, 2, 5010},
		"but not with much before it":                  {[]int{1200, 5000, 10, 900}, 1, 1200},
	} {
		sp := planAhead(turns(one(tt.sizes...)...), 2000, 900)
		check.EqualAll(t, name+": turns and tokens", []int{len(sp.messages), sp.tokens}, []int{tt.want, tt.cost})
	}
}

func TestRetries(t *testing.T) {
	var r retries
	for i, want := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 30 * time.Minute, 30 * time.Minute} {
		r.failed(noon, 0)
		check.Equal(t, fmt.Sprintf("pause after %d failures", i+1), r.retryAt.Sub(noon), want)
	}
	r.worked()
	check.That(t, r.failures == 0 && r.retryAt.IsZero(), "a success does not clear the failures")
	r.freed(4, 100, false, noon, time.Minute)
	check.Equal(t, "paused after one useless compaction", r.why(noon), "")
	r.freed(5, 100, false, noon, time.Minute)
	r.freed(4, 100, false, noon, time.Minute)
	check.Equal(t, "paused after separate useless compactions", r.why(noon), "")
	r.freed(90, 100, true, noon, time.Minute)
	later := noon.Add(time.Minute)
	check.That(t, r.why(noon) != "" && r.why(later) == "", "two useless applied compactions in a row do not pause for the cooldown")

	r.repairs = map[int64]backoff{1: {failures: 1}}
	r.worked()
	check.Len(t, "pauses of repairs after another job's success", slices.Collect(maps.Keys(r.repairs)), 1)

	r.vetoes = map[Trigger]veto{OnRepair: {"not at night", later.Add(time.Hour)}}
	check.That(t, r.forbids(OnRepair, later) && !r.forbids(OnRollup, later) && r.why(later) == "repair was vetoed: not at night", "it says %q", r.why(later))
	later = later.Add(time.Hour)
	check.That(t, !r.forbids(OnRepair, later) && r.why(later) == "", "an hour later: got %q", r.why(later))

	for range 2 { // of three that are free
		r.failed(later, 2)
		r.failed(later, 2)
		check.Equal(t, "pause after a few declined spans", r.why(later), "")
		r.worked()
	}
	for range 3 {
		r.failed(later, 2)
	}
	check.Equal(t, "failures after three in a row", r.failures, 3)
	check.Equal(t, "pause after three in a row", r.why(later), reasonBackoff)
}

func TestFailureIsReportedUntilApplied(t *testing.T) {
	var r reports
	for i, e := range []struct {
		Event
		last, failed int64
		appliedAt    int64
	}{
		{Event{ID: 1, State: EventFailed}, 1, 1, 0},
		{Event{ID: 2, State: EventStarted}, 1, 1, 0},
		{Event{ID: 3, State: EventApplied, Kind: Placeholder}, 3, 1, 0},
		{Event{ID: 4, State: EventNoop}, 4, 1, 0},
		{Event{ID: 5, State: EventApplied, Kind: Leaf, Trigger: OnRepair}, 5, 0, 0},
		{Event{ID: 6, State: EventApplied, Kind: Leaf}, 6, 0, 10},
	} {
		r.note(e.Event, int64(5+i))
		check.That(t, r.last.ID == e.last && r.failed.ID == e.failed && r.appliedAt == e.appliedAt, "after %+v: got last %d, failed %d, applied at %d", e.Event, r.last.ID, r.failed.ID, r.appliedAt)
	}
}
