package channel_test

import (
	"log/slog"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/compactor"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// withChoices gives the agent a model with the name own, and others that people may choose, by their names; each says who it is.
func (r *rig) withChoices(names ...string) map[string]*llmtest.Server {
	servers := map[string]*llmtest.Server{"own": llmtest.Serve(r.t, saying("I am own."))}
	r.agent.Model = modelNamed(r.t, "own", servers["own"], 50_000)
	r.agent.Choices = nil
	for _, name := range names {
		servers[name] = llmtest.Serve(r.t, saying("I am "+name+"."))
		r.agent.Choices = append(r.agent.Choices, channel.Choice{Name: name, Provider: "p", Model: modelNamed(r.t, name, servers[name], 32_768)})
	}
	r.reopen()
	return servers
}

func TestModelIsChosen(t *testing.T) {
	r := newRig(t, nil)
	servers := r.withChoices("p/large", "small")
	check.Equal(t, "before", r.ask("who are you?"), "I am own.")
	answer := r.runAsManager("/model")
	check.Equal(t, "/model", answer.Text, "own (50k) answers here.\n`/model NAME` chooses a model for this conversation, from the next message on; `/model default` goes back:")
	check.EqualAll(t, "items", answer.Items, []string{"own (50k), the default: answers here", "p/large (32k)", "small (32k)"})
	check.EqualAll(t, "lines", answer.Lines, []string{"/model default", "/model p/large", "/model small"})
	r.wantAnswer("/model lareg", `no model named "lareg"`, "/model lists them")
	r.wantAnswer("/model P/Large", "From the next message on, p/large (32k) answers here.")
	check.Equal(t, "after", r.ask("who are you?"), "I am p/large.")
	r.wantAnswer("/model", "p/large (32k) answers here. Ada chose it.", "own (50k), the default\n", "p/large (32k): answers here")
	r.wantAnswer("/context", "p/large, chosen by Ada", "of 32768 tokens")
	name, window := channel.ModelIn(t.Context(), r.hub, place)
	check.Equal(t, "the headline", name+" "+window.Source, "p/large setting")

	const thread = place + "/7"
	r.tell(thread, "who are you?", addressed)
	check.Equal(t, "in a thread", r.lastText(), "I am p/large.")
	r.says(boss, thread, "/model small")
	r.tell(thread, "who are you?", addressed)
	check.Equal(t, "chosen in the thread", r.lastText(), "I am small.")
	r.restart()
	check.Equal(t, "after a restart", r.ask("who are you?"), "I am p/large.")
	r.wantAnswer("/model default", "own (50k) answers here")
	check.Equal(t, "the default", r.ask("who are you?"), "I am own.")
	r.tell(thread, "who are you?", addressed)
	check.Equal(t, "in the thread, still", r.lastText(), "I am small.")
	r.says(boss, thread, "/model default")
	r.wantAnswer("/model small")
	r.tell(thread, "who are you?", addressed)
	check.Equal(t, "the default of the thread", r.lastText(), "I am own.")
	for name, server := range servers {
		check.Len(t, name+": refused by the double", server.Refusals(), 0)
	}
}

func TestNoModelMayBeChosen(t *testing.T) {
	r := newRig(t, echo)
	r.wantAnswer("/model", "answers here.", "the setting `models` in my settings file lists none")
	r.wantAnswer("/model large", `no model named "large"`)
	check.Len(t, "completions", r.suggest("model", ""), 0)
}

func TestModelsAreSuggested(t *testing.T) {
	r := newRig(t, nil)
	r.withChoices("p/large", "small")
	r.ask("hello")
	check.Len(t, "all", r.suggest("model", ""), 3)
	found := r.suggest("model", "LAR")
	check.Require(t, len(found) == 1, "found %v", found)
	check.Equal(t, "value", found[0].Value, "p/large")
}

// In a direct message everyone is a manager, but only owners and managers of the settings decide who answers.
func TestStrangersChooseNoModel(t *testing.T) {
	r := newRig(t, nil)
	r.withChoices("large")
	r.withRules(access.Rules{Access: map[string]access.Access{"test": {Owners: []string{"boss"}}}})
	const direct = "test:@me/7"
	r.tell(direct, "who are you?", addressed)
	stranger := access.Person{ID: "u1", Name: "Ada", Manager: true}
	r.says(stranger, direct, "/model", "own (50k) answers here")
	r.says(stranger, direct, "/model large", "owners and managers named in my settings file decide which model answers")
	r.says(access.Person{ID: "boss", Name: "Bo"}, direct, "/model large", "large (32k) answers here")
	r.says(ada, place, "/model", "only for people who manage")
}

// A choice waits until the running turn has ended.
func TestModelStaysDuringATurn(t *testing.T) {
	r := newRig(t, nil)
	servers := r.withChoices("large")
	own := llmtest.Serve(t, func(x *llmtest.Exchange) {
		if x.N == 1 {
			r.wantAnswer("/model large", "From the next message on")
			x.Use("1", "recall", `{"query":"tea"}`)
			return
		}
		x.Say("I am own.")
	})
	r.agent.Model = modelNamed(t, "own", own, 50_000)
	r.reopen()
	check.Equal(t, "the turn", r.ask("who are you?"), "I am own.")
	check.Len(t, "requests to the chosen model", servers["large"].Requests(), 0)
	check.Equal(t, "the next turn", r.ask("who are you?"), "I am large.")
}

// The settings no longer allow a choice: the own model answers, and people read once why, in the channel or a thread. The choice is
// valid again as soon as they allow it again.
func TestChosenModelIsNotAllowedAnyMore(t *testing.T) {
	r := newRig(t, nil)
	r.withChoices("large")
	r.ask("hello")
	r.run("/model large")
	check.Equal(t, "chosen", r.ask("hello"), "I am large.")
	allowed := r.agent.Choices
	r.agent.Choices = nil
	r.hub.Renew(access.Rules{})
	log := r.captureLog()
	for range 2 {
		check.Equal(t, "in the channel", r.ask("hello"), "I am own.")
		r.tell(place+"/7", "hello", addressed)
		r.restart()
	}
	const notice = "(My settings file no longer allows the model large, which was chosen here. own answers. /model shows the others.)"
	check.Equal(t, "notices", strings.Count(strings.Join(r.connector.texts(), "\n"), notice), 1)
	check.Equal(t, "warnings", log.lines(slog.LevelWarn, "chosen_model_refused"), 1)
	r.wantAnswer("/model", "own (50k) answers here. My settings file no longer allows large, which Ada chose.")
	r.agent.Choices = allowed
	r.hub.Renew(access.Rules{})
	check.Equal(t, "allowed again", r.ask("hello"), "I am large.")
}

func TestFallbackOfAChosenModel(t *testing.T) {
	r := newRig(t, nil)
	r.withChoices("large")
	r.agent.Choices[0].Model = modelNamed(t, "large", llmtest.Serve(t, refusing(401, wrongKey)), 32_768)
	r.agent.Fallback = []llm.Model{r.agent.Choices[0].Model, modelNamed(t, "other", llmtest.Serve(t, saying("I am the other.")), 50_000)}
	r.reopen()
	r.run("/model large")
	check.Equal(t, "reply", r.ask("hello"), "I am the other.")
	r.wantAnswer("/model", "large (32k) answers here. Ada chose it.\nother answers: ", "large is tried again in a minute")
	name, _ := channel.ModelIn(t.Context(), r.hub, place)
	check.Equal(t, "the headline", name, "other")
}

// With a smaller window, the level is checked before the next request, which fits. The chosen model writes the summaries.
func TestChosenModelWithASmallWindow(t *testing.T) {
	r := newRig(t, nil)
	servers := r.withChoices("small")
	small := llmtest.Serve(t, func(x *llmtest.Exchange) {
		if strings.Contains(string(x.Request.Raw), `"name":"summarize"`) {
			x.Use("s", "summarize", `{"summary":"They talked word by word."}`)
			return
		}
		x.Say("I am small.")
	})
	r.agent.Choices[0].Model = modelNamed(t, "small", small, 12_000)
	r.agent.Worker = r.agent.Model
	r.reopen()
	r.askTurns(30, 300)
	check.Len(t, "compactions", r.eventsIn(compactor.EventApplied), 0)
	r.run("/model small")
	check.Equal(t, "reply", r.ask("who are you?"), "I am small.")
	check.NoError(t, r.hub.Drain(t.Context()))
	check.That(t, len(r.eventsIn(compactor.EventApplied)) > 0, "nothing was compacted")
	g := check.Must(r.hub.Operator().Context(t.Context(), place))(t)
	check.That(t, g.Max == 12_000 && g.Used <= g.Max, "%d of %d tokens", g.Used, g.Max)
	check.Len(t, "refused by the double", servers["own"].Refusals(), 0)
	check.That(t, check.Soon(func() bool { return strings.Contains(strings.Join(r.usageRows(), "\n"), " summary small ") }), "the chosen model wrote no summary")
	check.Lacks(t, "usage", strings.Join(r.usageRows(), "\n"), " summary own ")
}
