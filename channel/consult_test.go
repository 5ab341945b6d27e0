package channel_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// withCritic adds an agent that "@critic" calls.
func (r *rig) withCritic(f script) (critic *llmtest.Model) {
	r.t.Helper()
	critic = &llmtest.Model{Label: "critical", Func: f}
	r.agent.ID = "cairn"
	other := channel.Agent{ID: "critic", Instructions: "You find fault.", Model: critic, MaxOutput: 300, Policy: compactor.DefaultPolicy}
	r.opts.Agents = func(id string) (channel.Agent, bool) {
		return map[string]channel.Agent{"critic": other, "cairn": r.agent}[id], id == "critic" || id == "cairn"
	}
	r.reopen()
	return critic
}

func TestConsult(t *testing.T) {
	r := newRig(t, echo)
	answer := withBilledTokens(llmtest.Say("It will fall."), 40, 0, 0, 1)
	answer.Message.Native = []byte(`{"thought":1}`)
	critic := r.withCritic(inTurn(useTool("recall", map[string]any{"query": "bridge"}), answer))
	r.ask("we build the bridge of wood")
	r.ask("@critic, what do you think of it?")
	r.ask("and you?")

	check.Contains(t, "usage, of its model", texts(r.usageRows()), " turn critical 2 40 0 0 1")
	check.EqualAll(t, "sent", r.connector.texts(), []string{"answer 1", "critic: It will fall.", "answer 2"})
	check.Equal(t, "the transcript", texts(r.transcript()), "user: we build the bridge of wood | assistant: answer 1 | "+
		"user: @critic, what do you think of it? | assistant: critic: It will fall. | user: and you? | assistant: answer 2")
	requests := critic.Requests()
	check.Len(t, "requests to the critic", requests, 2)
	first := requests[0]
	check.HasPrefix(t, "briefing", first.Messages[0].Text, "You find fault.")
	check.Equal(t, "max tokens of the first request", first.MaxTokens, 300)
	told, question, _ := strings.Cut(first.Messages[1].Text, "<question>")
	check.Contains(t, "briefing", told, "we build the bridge of wood", "answer 1")
	check.Contains(t, "question", question, "what do you think of it?", `from="Ada"`)
	check.Lacks(t, "question", question, "@critic")
	check.Lacks(t, "briefing before the question", told, "what do you think of it?")
	tools := fmt.Sprintf("%+v", first.Tools)
	check.Contains(t, "its tools", tools, "Name:recall", "Name:memory_search")
	check.Lacks(t, "its tools", tools, "Name:memory_save")
	check.Contains(t, "recall result", requests[1].Messages[3].Text, "bridge of wood")
	check.Contains(t, "prompt of the conversation's agent", r.lastRequestText(), "assistant: critic: It will fall.")
	for _, m := range r.model.Requests()[1].Messages {
		check.That(t, m.Native == nil, "got native data of another model")
	}
	shown := strings.Join(r.connector.shown, "|")
	check.Contains(t, "shown", shown, "critic: It")
	check.Lacks(t, "shown", shown, "|It will")
}

func TestConsultableAgents(t *testing.T) {
	r := newRig(t, echo)
	critic := r.withCritic(alwaysSay("No."))
	for _, text := range []string{"@nobody what do you think?", "@cairn what do you think?", "ask @critic", "@", "@ critic", "critic what do you think?", "@criticism is fine"} {
		r.ask(text)
	}
	r.overhear("@critic but nobody asked the bot")
	check.Len(t, "requests to the critic", critic.Requests(), 0)
	check.Len(t, "requests to the conversation's agent", r.model.Requests(), 7)
	check.Equal(t, "answer if only the name is said", r.ask("@critic"), "critic: No.")
	critic.Func = failing(&llm.Error{Kind: llm.KindAuth, Status: 401})
	check.Contains(t, "answer if it fails", r.ask("@critic what do you think?"), "rejects my API key")
	critic.Func = func(context.Context, int, llm.Request) (llm.Response, error) { panic("the critic breaks") }
	check.Contains(t, "answer if it breaks", r.ask("@critic what do you think?"), "Something went wrong")
	check.Len(t, "requests to the conversation's agent", r.model.Requests(), 7)
	check.Equal(t, "answers in the transcript", strings.Count(texts(r.transcript()), "assistant: "), 8)
	check.Equal(t, "its answer", r.ask("and you?"), "answer 8")
}

func TestConsultWithLongConversation(t *testing.T) {
	r := newRig(t, echo)
	critic := r.withCritic(alwaysSay("No."))
	critic.Tokens = 8000
	for i := range 40 {
		r.say(fmt.Sprintf("plan-%d is to build a bridge over river number %d. %s", i, i, strings.Repeat("word ", 300)), false)
	}
	r.waitForReplies()
	before := r.run("/context")
	r.ask("@critic is plan-3 good?")
	requests := critic.Requests()
	check.Len(t, "requests to the critic", requests, 1)
	size := tokensOf(requests[0]) + requests[0].MaxTokens
	check.That(t, size <= 8000, "got %d tokens", size)
	told := requests[0].Messages[1].Text
	check.Lacks(t, "briefing", told, "<message id=\"1\"")
	check.Contains(t, "briefing", told, "plan-3 ", "plan-39 is", "<summary from=\"1\"", "is plan-3 good?")
	check.Equal(t, "an empty stack", strings.Contains(before, "stack     empty"), strings.Contains(r.run("/context"), "stack     empty"))
}

func TestConsultedModelWithoutToolsIsRemembered(t *testing.T) {
	r := newRig(t, echo)
	var notebook llm.Notebook
	notebook.Open(nil, func(ctx context.Context, model string, f llm.Facts) error {
		return r.store.Models().Keep(ctx, model, f)
	})
	model := &llmtest.Model{Func: withoutTools(alwaysSay("No."))}
	critic := channel.Agent{ID: "critic", Model: learningModel{model, notebook.Page("tiny@here")}, MaxOutput: 300, Policy: compactor.DefaultPolicy}
	r.opts.Agents = func(id string) (channel.Agent, bool) { return critic, id == "critic" }
	r.reopen()
	for range 3 {
		check.Equal(t, "answer", r.ask("@critic what do you think?"), "critic: No.")
	}
	check.Len(t, "requests for three answers", model.Requests(), 4)
	check.Equal(t, "stored fact", check.Must(r.store.Models().List(t.Context()))(t)["tiny@here"].RefusesTools, true)
}
