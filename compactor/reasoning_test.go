package compactor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/store"
)

// useReasoningModel runs a turn in which the model reasons at length before it calls a tool, and
// returns the request with the tool's result.
func (r *rig) useReasoningModel(reasoning string) []llm.Message {
	r.t.Helper()
	x := r.begin(r.deliver("look it up", true))
	r.request()
	id := fmt.Sprint("c", x.asked.Seq)
	x.add(chat.Message{
		Role: llm.RoleAssistant, Calls: []llm.Call{{ID: id, Name: "look", Arguments: "{}"}},
		Native: json.RawMessage(`{"reasoning":` + jsonString(reasoning) + `}`),
	})
	x.add(chat.Message{Role: llm.RoleTool, CallID: id, Tool: "look", Text: "found"})
	second := r.request()
	x.finish("there it is")
	return second
}

func jsonString(text string) string {
	raw, _ := json.Marshal(text) // a string always has a JSON form
	return string(raw)
}

// reasonings counts the messages of a request that have reasoning.
func reasonings(messages []llm.Message) (n int) {
	for _, m := range messages {
		if len(m.Native) > 0 {
			n++
		}
	}
	return n
}

// reason calls a tool after some reasoning.
func (x *turn) reason(id string) {
	x.add(chat.Message{Role: llm.RoleAssistant, Calls: []llm.Call{{ID: id, Name: "look", Arguments: "{}"}}, Native: json.RawMessage(`{"reasoning":"so"}`)})
	x.add(chat.Message{Role: llm.RoleTool, CallID: id, Tool: "look", Text: "one"})
}

func TestReasoningIsKeptWithinTurn(t *testing.T) {
	check.SkipUnderRace(t)
	t.Run("reasoning is sent and counted within the turn only", func(t *testing.T) {
		r := newRig(t, 32_000, nil)
		before := prompt(r)
		check.Equal(t, "reasonings in the second request", reasonings(r.useReasoningModel(filler(3000))), 1)
		if grown := prompt(r) - before; grown > 200 {
			t.Errorf("got %d more tokens used after the turn", grown)
		}
		r.deliver("and?", true)
		r.c.History().Begin(compactor.Context{Text: "time: now"})
		check.Equal(t, "reasonings in the next turn's request", reasonings(r.request()), 0)
	})
	t.Run("150 turns of it cause no more compactions than turns without", func(t *testing.T) {
		compactions := func(reasoning string) (n int) {
			r := newRig(t, 32_000, &llmtest.Model{Func: goodSummary})
			for range 150 {
				r.useReasoningModel(reasoning)
				r.waitIdle()
			}
			return r.seen(compactor.EventApplied)
		}
		with, without := compactions(filler(1500)), compactions("")
		check.Equal(t, "summaries with and without reasoning", with, without)
	})
	t.Run("where the provider demands it, it stays with the calls and is counted", func(t *testing.T) {
		r := newRig(t, 32_000, nil)
		r.learnt.NeedReasoning()
		r.useReasoningModel("because " + filler(300))
		before := prompt(r)
		r.useReasoningModel("because " + filler(300))
		if grown := prompt(r) - before; grown < 300 {
			t.Errorf("got %d tokens for a turn with reasoning", grown)
		}
		r.renderAfterRestart()
		r.deliver("and?", true)
		r.c.History().Begin(compactor.Context{Text: "time: now"})
		check.Equal(t, "reasonings in the request", reasonings(r.request()), 2)
	})
}

func TestReasoningIsHiddenFromOtherModels(t *testing.T) {
	t.Run("another model's stored reasoning is not sent", func(t *testing.T) {
		r := newRig(t, 100_000, &llmtest.Model{Func: goodSummary})
		r.learnt.NeedReasoning()
		r.chat(10)
		r.useReasoningModel("because")
		calls := r.said[11].Seq
		r.chat(10)
		other := new(llm.Learnt)
		r.tune = func(o *compactor.Options) { o.Learnt = func() *llm.Learnt { return other } }
		r.restart()
		asked := func(what string) {
			t.Helper()
			view := r.c.Sight()
			check.Equal(t, what, reasonings(view), 0)
			check.Contains(t, what+": inLines(r.c.Sight())", inLines(view), "look {}")
		}
		asked("after a restart")
		r.apply(calls)
		asked("after a change of the message")
		r.set(func(p *compactor.Policy) { p.KeepLastN = 2 })
		r.applied()
		check.NoError(t, check.ErrorOf(r.c.Undo(context.Background())))
		asked("after an undo")
	})
}

func TestCallsWithoutReasoningAreMarked(t *testing.T) {
	t.Run("calls whose reasoning went with the head are marked, after the turn and a restart too", func(t *testing.T) {
		r := newRig(t, 100_000, &llmtest.Model{Func: goodSummary})
		r.chat(30)
		x := r.begin(r.deliver("look at it", true))
		r.request()
		x.reason("a")
		r.applied()
		x.reason("b")
		view := r.request()
		if reasonings(view) != 1 || len(view[len(view)-2].Native) == 0 || !strings.Contains(view[1].Text, "[Compaction Summary]") {
			t.Errorf("%d messages have reasoning: %+v", reasonings(view), view)
		}
		deprived := func(view []llm.Message) (ids []string) {
			for _, m := range view {
				if m.Deprived {
					ids = append(ids, m.Calls[0].ID)
				}
			}
			return ids
		}
		check.EqualAll(t, "calls within the turn", deprived(view), []string{"a"})
		for i := range x.rows {
			x.rows[i].Native, x.rows[i].Deprived = nil, r.c.History().Deprived(x.rows[i].Seq)
		}
		check.NoError(t, r.conv.Turns().Finish(t.Context(), store.Outcome{Turn: x.asked.Seq, Messages: x.rows}))
		r.c.Answered()
		check.EqualAll(t, "calls after the turn", deprived(r.request()), []string{"a"})
		r.renderAfterRestart()
		check.EqualAll(t, "calls after a restart", deprived(r.request()), []string{"a"})
	})
}

func TestHeadChangeEndsReasoning(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, r *rig){
		"a summary": func(t *testing.T, r *rig) {
			r.applied()
		},
		"a truncation that the disk refuses": func(t *testing.T, r *rig) {
			r.refuse(t, "INSERT ON compactions")
			r.c.Overflow(context.Background())
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 100_000, &llmtest.Model{Func: goodSummary})
			r.chat(30)
			x := r.begin(r.deliver("look at it", true))
			r.request()
			x.reason("a")
			change(t, r)
			x.reason("b")
			view := r.request()
			if reasonings(view) != 1 || len(view[len(view)-2].Native) == 0 || !strings.HasPrefix(view[1].Text, "<kept>") {
				t.Errorf("%d messages have reasoning: %+v", reasonings(view), view)
			}
		})
	}
}
