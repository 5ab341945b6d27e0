package compactor_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// decliningModel declines, in one of several ways, every request that mentions the poison.
type decliningModel struct {
	how      string
	declined int
	llmtest.Model
}

func newDecliningModel(how string, window int) *decliningModel {
	s := &decliningModel{how: how, Model: llmtest.Model{Tokens: window}}
	s.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if !strings.Contains(req.Messages[1].Text, "the poison") {
			return goodSummary(ctx, n, req)
		}
		s.declined++
		switch s.how {
		case "by its tool":
			return summary("I'm sorry, but I can't assist with that."), nil
		case "in words":
			return llmtest.Say("I'm sorry, but I can't assist with that."), nil
		case "by a filter":
			return llm.Response{}, &llm.Error{Kind: llm.KindFiltered, Status: 400, Message: "content policy"}
		}
		return llmtest.Say(""), nil
	}
	return s
}

// A declined span is sent to the model only a few times in all, across restarts. Newer messages are
// summarized as usual, and /compact tries the span again.
func TestDeclinedSpanHasFewAttempts(t *testing.T) {
	check.SkipUnderRace(t)
	for level, hows := range map[string][]string{"background": {"by its tool", "by a filter"}, "emergency": {"by its tool", "in words", "with nothing"}} {
		for _, how := range hows {
			t.Run(how+", "+level, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					worker := newDecliningModel(how, 8000)
					r := newRig(t, 8000, &worker.Model)
					r.policy.Enabled = level == "background"
					r.talk("in the film they speak of the poison " + filler(20))
					for i := range 30 {
						r.talk(fmt.Sprintf("question %d %s", i, filler(300)))
						r.waitIdle()
						time.Sleep(time.Minute)
					}
					check.Require(t, worker.declined != 0, "got no declined span")
					for i := range 28 { // a short word now and then, for a week
						r.talk(fmt.Sprintf("hm %d", i))
						r.waitIdle()
						time.Sleep(6 * time.Hour)
						if i%10 == 5 {
							r.restart()
						}
					}
					check.That(t, worker.declined <= 8, "got %d paid attempts", worker.declined)
					for i, row := range r.c.Status().Stack {
						if row.NeedsRepair() && !row.Covers(1) {
							t.Errorf("row %d: got a %s by %s over #%d to #%d", i, row.Kind, row.By, row.From, row.To)
						}
					}
					r.verify()
					before := worker.declined
					r.compactAndWait()
					if r.waitIdle(); worker.declined == before {
						t.Error("/compact does not retry the declined span")
					}
					r.verify()
				})
			})
		}
	}
}

// A large placeholder is repaired piece by piece, and a declined piece affects only itself.
func TestLargePlaceholderIsRepairedInPieces(t *testing.T) {
	check.SkipUnderRace(t)
	synctest.Test(t, func(t *testing.T) {
		worker := newDecliningModel("by its tool", 4000)
		r := newRig(t, 4000, &worker.Model)
		r.policy.Enabled, r.policy.KeepLastN = false, 10
		for i := range 150 {
			text := fmt.Sprintf("note %d %s", i, filler(120))
			if i == 75 {
				text = "they speak of the poison"
			}
			r.deliver(text, false)
		}
		r.c.Speak()
		r.c.Check(t.Context())
		r.resize(8000) // so that there is room for each piece
		r.waitIdle()
		for range 60 { // for a week
			time.Sleep(3 * time.Hour)
			synctest.Wait()
		}
		left := 0
		for _, row := range r.c.Status().Stack {
			if row.NeedsRepair() {
				left += row.Messages
			}
		}
		if n := len(worker.Requests()); left > 20 || n > 40 || worker.declined > 8 {
			t.Errorf("after %d requests, %d of them declined: %d of 150 messages are not summarized by the model", n, worker.declined, left)
		}
		r.verify()
	})
}

// After people delete or edit what the model declined, it may summarize the rest.
func TestChangedSpanIsNoLongerDeclined(t *testing.T) {
	check.SkipUnderRace(t)
	for what, change := range map[string]func(*rig){
		"a deletion": func(r *rig) { r.remove(1) },
		"an edit":    func(r *rig) { r.edit(1, "in the film they speak of tea") },
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				worker := newDecliningModel("by its tool", 8000)
				r := newRig(t, 8000, &worker.Model)
				r.talk("in the film they speak of the poison " + filler(20))
				for i := range 30 {
					r.talk(fmt.Sprintf("question %d %s", i, filler(300)))
					r.waitIdle()
					time.Sleep(6 * time.Hour) // until the model is not asked any more
				}
				declined := worker.declined
				if row := r.c.Status().Stack[0]; declined < r.policy.FailureLimit || !row.NeedsRepair() {
					t.Fatalf("declined %d times, got %+v", declined, row)
				}
				change(r)
				for range 4 {
					r.waitIdle()
					time.Sleep(6 * time.Hour)
				}
				r.repaired()
				check.Equal(t, "refusals", worker.declined, declined)
				r.verify()
			})
		})
	}
}
