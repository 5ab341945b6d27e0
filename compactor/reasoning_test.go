package compactor_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
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
		Native: json.RawMessage(fmt.Sprintf(`{"reasoning":%q}`, reasoning)),
	})
	x.add(chat.Message{Role: llm.RoleTool, CallID: id, Tool: "look", Text: "found"})
	second := r.request()
	x.finish("there it is")
	return second
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
		check.That(t, prompt(r)-before <= 200, "got %d more tokens used after the turn", prompt(r)-before)
		asks(r, "and?")
		check.Equal(t, "reasonings in the next turn's request", reasonings(r.c.Sight()), 0)
	})
	t.Run("where the provider demands it, it stays with the calls and is counted", func(t *testing.T) {
		r := newRig(t, 32_000, nil)
		r.learnt.NeedReasoning()
		r.useReasoningModel("because " + filler(300))
		before := prompt(r)
		r.useReasoningModel("because " + filler(300))
		check.That(t, prompt(r)-before >= 300, "got %d tokens for a turn with reasoning", prompt(r)-before)
		r.renderAfterRestart()
		asks(r, "and?")
		check.Equal(t, "reasonings in the request", reasonings(r.c.Sight()), 2)
	})
}

func TestReasoningIsHiddenFromOtherModels(t *testing.T) {
	r := newRig(t, 100_000, &llmtest.Model{Func: goodSummary})
	r.learnt.NeedReasoning()
	r.chat(10)
	r.useReasoningModel("because")
	calls := r.said[11].Seq
	r.chat(10)
	other := new(llm.Learnt)
	r.tune = func(o *compactor.Options) { o.Learnt = func() *llm.Learnt { return other } }
	r.restart()
	hidden := func(what string) {
		t.Helper()
		check.Equal(t, what, reasonings(r.c.Sight()), 0)
		check.Contains(t, what, inLines(r.c.Sight()), "look {}")
	}
	hidden("after a restart")
	r.apply(calls)
	hidden("after a change of the message")
	r.policy.KeepLastN = 2
	r.applied()
	r.undo()
	hidden("after an undo")
}

// Calls whose reasoning went with the head are marked, after the turn and a restart too.
func TestHeadChangeEndsReasoning(t *testing.T) {
	for name, change := range map[string]func(r *rig){
		"a summary": func(r *rig) { r.applied() },
		"a truncation that the disk refuses": func(r *rig) {
			r.refuse(t, "INSERT ON compactions")
			r.c.Overflow(t.Context())
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 100_000, &llmtest.Model{Func: goodSummary})
			r.chat(30)
			x := r.begin(r.deliver("look at it", true))
			r.request()
			x.reason("a")
			change(r)
			x.reason("b")
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
