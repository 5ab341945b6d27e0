package compactor_test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// ask adds a question and returns the request for its answer; the turn stays open.
func (r *rig) ask(text string) []llm.Message {
	r.t.Helper()
	r.begin(r.deliver(text, true))
	return r.request()
}

func report(r *rig, prompt int) { r.c.Reported(llm.Usage{Prompt: prompt, Completion: 7}) }

func prompt(r *rig) int {
	g := r.c.Status()
	return g.Used - g.Reserve
}

func openTurn(t *testing.T, worker *llmtest.Model) *rig {
	r := newRig(t, 20_000, worker)
	r.deliverMany(10, 50)
	r.ask("and now?")
	return r
}

func TestUsageIsLastCountPlusAdditions(t *testing.T) {
	r := openTurn(t, nil)
	estimate := prompt(r)
	for _, c := range [][2]int{{0, estimate}, {estimate + 111, estimate + 111}, {0, estimate + 111}} { // a count of 0 changes nothing
		report(r, c[0])
		check.Equal(t, fmt.Sprintf("tokens, counted at %d", c[0]), prompt(r), c[1])
	}
	r = openTurn(t, nil) // an added message costs its estimate times the factor
	report(r, prompt(r)*2)
	was := prompt(r)
	m := r.deliver("one more "+filler(500), false)
	got := prompt(r) - was
	want := int(1.3*float64(m.Tokens) + 0.5) // 0.3 of the way from 1 to 2
	check.That(t, got >= want-1 && got <= want+1, "%d tokens more for a message of %d, want %d", got, m.Tokens, want)
	for _, stored := range []bool{false, true} {
		t.Run(fmt.Sprintf("a turn context that is stored, %v, stays counted", stored), func(t *testing.T) {
			r := openTurn(t, nil)
			before := prompt(r)
			r.c.History().Begin(compactor.Context{Text: "memories: " + filler(300)}, compactor.AnyVersion)
			r.request()
			report(r, prompt(r)+40)
			with := prompt(r)
			if stored {
				r.c.History().Context()
			}
			r.c.Answered()
			gone := with - prompt(r)
			check.That(t, stored && gone == 0 || !stored && gone >= 240 && prompt(r) <= before+60, "%d tokens are left of %d; %d before the context", prompt(r), with, before)
		})
	}
}

func TestImplausibleCountsAreIgnored(t *testing.T) {
	for claim, c := range map[string]struct{ prompt, cached, want float64 }{ // of the estimate
		"what was read from the cache is not added to a count that holds it":  {1, 0.99, 1},
		"what was read from the cache is added to a count that leaves it out": {0.01, 1, 1.01},
		"a count that cannot be of the whole prompt is not believed":          {0.33, 0, 1},
		"a count that no window could hold is not believed":                   {400, 0, 1},
		"what several calls of a turn were counted at is not summed":          {1.03, 0, 1.03},
	} {
		r := openTurn(t, nil)
		n := prompt(r)
		of := func(share float64) int { return int(share * float64(n)) }
		for range 3 {
			r.request()
			r.c.Reported(llm.Usage{Prompt: of(c.prompt), Cached: of(c.cached)})
		}
		off := prompt(r) - of(c.want)
		check.That(t, off >= -1 && off <= 1, "%s: %d tokens, want %d of an estimated %d", claim, prompt(r), of(c.want), n)
		g := r.c.Status()
		check.That(t, g.Frame+g.Head+g.Verbatim+g.Reserve == g.Used && g.Frame > 0 && g.Verbatim > 0, "%s: parts do not add up: %+v", claim, g)
	}
}

// TestWindowHoldsForAnyTokenSize: the budgets of all parts shrink with a model that makes more
// tokens of a text, and the factor is learned once.
func TestWindowHoldsForAnyTokenSize(t *testing.T) {
	slow(t)
	for _, size := range []float64{0.6, 2.3} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			r := newRig(t, 8000, &llmtest.Model{Func: goodSummary})
			r.size = size
			for i := range 60 {
				r.talk(fmt.Sprintf("question %d %s", i, filler(160)))
				if i < 10 {
					continue // the factor must be learned first
				}
				r.deliver("an aside "+filler(30), false)
				r.waitIdle()
				g := prompt(r)
				real := int(size * float64(r.estimate(r.request())))
				check.Require(t, g >= real*95/100-150 && g <= real*105/100+150, "question %d: got %d tokens in the status, want %d", i, g, real)
			}
			r.talk("look at this: " + strings.Repeat("huge ", 30_000))
			check.That(t, r.seen(compactor.EventApplied) != 0, "nothing was summarized")
		})
	}
}

// TestReserveForUncertainty: a provider rejects an answer limit that is one token too large, so the estimate needs a margin.
func TestReserveForUncertainty(t *testing.T) {
	r := openTurn(t, nil)
	free := func() int { return 20_000 - r.c.Status().Used }
	got := r.c.Spare()
	most := free() - prompt(r)/8
	check.That(t, got <= most && got >= most-100, "without a count: got a reserve of %d tokens, want at most %d of %d", got, most, free())
	report(r, prompt(r))
	r.request()
	got, most = r.c.Spare(), free()
	check.That(t, got < most && got >= most-100, "with a full count: got a reserve of %d tokens, want a little less than %d", got, most)
}

func TestCountSurvivesRestart(t *testing.T) {
	for change, do := range map[string]func(*rig){
		"none":          func(r *rig) { r.deliverNotes("one more") },
		"a new head":    func(r *rig) { r.compactAndWait() },
		"an edit":       func(r *rig) { r.edit(1, "edited") },
		"another model": func(r *rig) { r.model = "another" },
	} {
		r := newRig(t, 20_000, &llmtest.Model{Func: goodSummary})
		r.size = 1.4
		for i := range 8 {
			r.talk(fmt.Sprintf("question %d %s", i, filler(50)))
		}
		do(r)
		before := r.c.Status().Used
		r.restart()
		check.Equal(t, "after "+change+" the count is kept", r.c.Count().Prompt != 0, change == "none")
		check.That(t, change != "none" || r.c.Status().Used == before, "got %d used tokens after a restart, %d before", r.c.Status().Used, before)
	}
}

// useReasoningModel runs a turn in which the model reasons at length before it calls a tool, and
// returns the request with the tool's result.
func (r *rig) useReasoningModel(reasoning string) []llm.Message {
	r.t.Helper()
	x := r.begin(r.deliver("look it up", true))
	r.request()
	x.look(fmt.Sprint("c", x.asked.Seq), "found", reasoning)
	second := r.request()
	x.finish("there it is")
	return second
}

func reasonings(messages []llm.Message) (n int) {
	for _, m := range messages {
		if len(m.Native) > 0 {
			n++
		}
	}
	return n
}

func TestReasoningIsKeptWithinTurn(t *testing.T) {
	check.SkipUnderRace(t)
	r := newRig(t, 32_000, nil)
	before := prompt(r)
	check.Equal(t, "reasonings in the second request", reasonings(r.useReasoningModel(filler(3000))), 1)
	check.That(t, prompt(r)-before <= 200, "got %d more tokens used after the turn", prompt(r)-before)
	r.ask("and?")
	check.Equal(t, "reasonings in the next turn's request", reasonings(r.c.Sight()), 0)

	r = newRig(t, 32_000, nil)
	r.learned.Learn(func(f *llm.Facts) { f.WantsReasoning = true })
	r.useReasoningModel("because " + filler(300))
	before = prompt(r)
	r.useReasoningModel("because " + filler(300))
	check.That(t, prompt(r)-before >= 300, "got %d tokens for a turn with reasoning that the provider demands", prompt(r)-before)
	r.renderAfterRestart()
	r.ask("and?")
	check.Equal(t, "demanded reasonings in the request", reasonings(r.c.Sight()), 2)
}

func TestReasoningIsHiddenFromOtherModels(t *testing.T) {
	r := newRig(t, 100_000, &llmtest.Model{Func: goodSummary})
	r.learned.Learn(func(f *llm.Facts) { f.WantsReasoning = true })
	r.chat(10)
	r.useReasoningModel("because")
	r.chat(10)
	other := new(llm.Learned)
	r.tune = append(r.tune, func(o *compactor.Options) { o.Learned = func() *llm.Learned { return other } })
	r.restart()
	hidden := func(what string) {
		t.Helper()
		check.Equal(t, what, reasonings(r.c.Sight()), 0)
		check.Contains(t, what, inLines(r.c.Sight()), "look {}")
	}
	hidden("after a restart")
	r.pin(1)
	r.c.Check(t.Context())
	hidden("after a change on disk")
	r.policy.KeepLastN = 2
	r.applied()
	r.undo()
	hidden("after an undo")
}

// Reasoning of an answer to a request before the head changed is bound to the old head.
func TestHeadChangeDuringRequestEndsReasoning(t *testing.T) {
	r := newRig(t, 100_000, &llmtest.Model{Func: goodSummary})
	r.chat(30)
	x := r.begin(r.deliver("look at it", true))
	r.request()
	r.applied()
	x.look("a", "one", "so")
	view := r.request()
	check.Equal(t, "reasonings", reasonings(view), 0)
	check.That(t, view[len(view)-2].Deprived, "the call is not marked: %+v", view[len(view)-2])
	x.look("b", "one", "so")
	check.Equal(t, "reasonings of a later answer", reasonings(r.request()), 1)
}

// Calls whose reasoning went with the head are marked, after the turn and a restart too.
func TestHeadChangeEndsReasoning(t *testing.T) {
	for name, change := range map[string]func(r *rig){
		"a summary": func(r *rig) { r.applied() },
		"a truncation that the disk refuses": func(r *rig) {
			r.refuse(t, "INSERT ON compactions")
			r.c.Overflow(t.Context(), 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 100_000, &llmtest.Model{Func: goodSummary})
			r.chat(30)
			x := r.begin(r.deliver("look at it", true))
			r.request()
			x.look("a", "one", "so")
			change(r)
			r.request()
			x.look("b", "one", "so")
			view := r.request()
			check.HasPrefix(t, "head", view[1].Text, "<kept>")
			check.That(t, reasonings(view) == 1 && len(view[len(view)-2].Native) > 0, "%d messages have reasoning: %+v", reasonings(view), view)
			marked := func(when string) {
				t.Helper()
				var ids []string
				for _, m := range r.request() {
					if m.Deprived {
						ids = append(ids, m.Calls[0].ID)
					}
				}
				check.EqualAll(t, "marked calls "+when, ids, []string{"a"})
			}
			marked("within the turn")
			for i := range x.rows {
				x.rows[i].Native, x.rows[i].Deprived = nil, r.c.History().Deprived(x.rows[i].Seq)
			}
			x.endWithoutAnswer()
			marked("after the turn")
			if name == "a summary" { // else the disk lacks it
				r.renderAfterRestart()
				marked("after a restart")
			}
		})
	}
}
