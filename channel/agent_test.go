package channel_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/compactor"
	"cairn/llm"
	"cairn/prompts"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
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
	answer := withBilledTokens(llmtest.Say("It will fall."), llm.Usage{Prompt: 40, Completion: 1})
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
	native := slices.ContainsFunc(r.model.Requests()[1].Messages, func(m llm.Message) bool { return m.Native != nil })
	check.Equal(t, "native data of another model", native, false)
	shown := strings.Join(r.connector.shown, "|")
	check.Contains(t, "shown", shown, "critic: It")
	check.Lacks(t, "shown", shown, "|It will")
}

func TestDeletionDuringConsult(t *testing.T) {
	r := newRig(t, echo)
	critic := r.withCritic(nil)
	critic.Func = inSteps(always(useTool("recall", map[string]any{"query": "swordfish"})), func(context.Context, int, llm.Request) (llm.Response, error) {
		return useTool("recall", map[string]any{"query": "tea"}), r.hub.Delete(context.Background(), place, "m1")
	}, alwaysSay("No."))
	r.overhear("the secret is swordfish")
	check.Equal(t, "answer", r.ask("@critic what do you think?"), "critic: No.")
	check.Contains(t, "request 2", textOf(critic.Requests()[1]), "swordfish")
	check.Lacks(t, "request 3", textOf(critic.Requests()[2]), "swordfish")
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
	check.Lacks(t, "briefing", told, "[#1 ")
	check.Contains(t, "briefing", told, "plan-3 ", "plan-39 is", "older messages were truncated", "is plan-3 good?")
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

// germanSummary is a summary of what askInGerman says.
const germanSummary = "## Decisions\n- Ines hat den Start der Garten-App auf den 9. Mai verschoben, weil die Druckerei im Verzug ist (#1).\n" +
	"- Tom zahlt die Anzahlung von 1.200 EUR für den Saal in Turin (#3).\n## Open questions\n- Tom fragte, wer den Beamer zur Probe mitbringt (#7)."

func (r *rig) askInGerman() {
	r.t.Helper()
	r.ask("Ines: Wir verschieben den Start der Garten-App auf den 9. Mai, weil die Druckerei im Verzug ist.")
	r.ask("Tom: Ich zahle die Anzahlung von 1.200 EUR für den Saal in Turin.")
	r.ask("Ines: Die Plakate müssen blau sein, rote mag ich nicht.")
	r.ask("Tom: Wer bringt den Beamer zur Probe mit?")
}

func system(req llm.Request) string { return req.Messages[0].Text }

// wantLanguages checks the language of the bot's prompt in each request.
func (r *rig) wantLanguages(what, want string) {
	r.t.Helper()
	all := storetest.Map(r.model.Requests(), func(req llm.Request) string {
		return prompts.Languages[slices.IndexFunc(prompts.Languages, func(language string) bool { return system(req) == prompts.In(language).System })]
	})
	check.Equal(r.t, what, strings.Join(all, " "), want)
}

// withLanguage returns a rig with a language and a worker that summarizes what askInGerman says.
func withLanguage(t *testing.T, language string) (*rig, *llmtest.Model) {
	r := newRig(t, echo)
	r.agent.Language = language
	r.setFilePolicy(func(p *compactor.Policy) {
		p.KeepFirst = 0
		p.KeepLastN = 0
		p.PrepareThreshold = 0
	})
	return r, r.withWorker(always(summary(germanSummary)))
}

func TestConversationLanguage(t *testing.T) {
	r, worker := withLanguage(t, "de")
	texts := prompts.In("de")
	r.askInGerman()
	r.compact()
	r.ask("👍")
	asked := worker.Requests()
	check.Len(t, "worker requests", asked, 1)
	check.Equal(t, "system prompt of the worker", system(asked[0]), texts.Worker)
	ask, _, _ := strings.Cut(texts.Ask, "%d")
	check.Contains(t, "worker request", asked[0].Messages[1].Text, "\n\n"+ask)
	check.Contains(t, "prompt", r.lastRequestText(), texts.System, germanSummary)
	r.finished(r.runAsManager("/recap"))
	check.Equal(t, "system prompt of the recap", system(worker.Requests()[1]), texts.Recap+"\n\n"+texts.Plain)
}

func TestDetectedLanguageReachesModel(t *testing.T) {
	r, _ := withLanguage(t, "auto")
	for _, text := range []string{"ok", "Hallo, kannst du mir bei der Steuer helfen?", "Could you please tell me what the weather is like?", "¿Y qué es esto?"} {
		r.ask(text)
	}
	r.restart()
	r.ask("And what do you say to this?")
	r.wantLanguages("the first messages decide until there is a summary", "en de de de de")

	r, _ = withLanguage(t, "auto")
	r.ask("Hi, can you help us with the launch of the app?")
	r.askInGerman()
	r.finished(r.runAsManager("/compact"))
	r.ask("👍")
	r.restart()
	r.ask("So what do you think about this now?")
	r.wantLanguages("after a summary, the messages that it covers decide, also after a restart", "en en en en en de de")

	// Commands right after a start are answered in the language of the messages.
	r, _ = withLanguage(t, "auto")
	r.ask("Hallo, wer kann mir am Samstag beim Umzug helfen?")
	for line, text := range map[string]string{"/tasks": "Es gibt keine Aufgaben.", "/compact": "/compact ist für die, die diesen Ort verwalten."} {
		r.reopen()
		r.says(bo, place, line, text)
	}
	r.tell(branch, "ok", addressed)
	r.wantLanguages("a thread takes the language of its first message", "de de")

	r, _ = withLanguage(t, "auto")
	for range 2 {
		r.ask("Ciao, mi puoi aiutare con la dichiarazione dei redditi? Non so come si fa.")
	}
	r.agent.Language = "ja"
	r.hub.Renew(access.Rules{})
	r.ask("hello again")
	r.wantLanguages("a language without prompts falls back to English, and a setting applies from the next turn on", "en en ja")
}

func TestAgentsAndToolsUseConversationLanguage(t *testing.T) {
	texts := prompts.In("pt")
	r := newRig(t, then(llmtest.Use(llmtest.Call("1", "spawn", map[string]any{"agent": "critic", "task": "count"}),
		llmtest.Call("2", "context", map[string]any{"op": "help", "topic": "memory"})), echo))
	r.agent.Language = "pt"
	critic := &llmtest.Model{Func: echo}
	r.withTasks(map[string]channel.Agent{"critic": {Model: critic}})
	r.ask("@critic, what do you think of it?")
	r.say("go", true)
	r.waitForTask(1)
	r.waitForReplies()
	asked := critic.Requests()
	check.Len(t, "requests to the other agent", asked, 2)
	check.Equal(t, "system prompt", system(asked[0])+"\n", texts.Handover)
	check.Equal(t, "system prompt of the task", system(asked[1]), texts.Task)
	check.Contains(t, "help in the prompt", r.promptText(), "tool: "+texts.Help["memory"])
}

// People who write German to the bot get its own sentences in German too.
func TestNoticesUseConversationLanguage(t *testing.T) {
	r := newRig(t, failing(&llm.Error{Kind: llm.KindAuth, Status: 401}))
	r.agent.Language = "de"
	r.withWorker(summarizeRequest)
	check.Contains(t, "a failure", r.ask("Wann treffen wir uns?"), "Der Server des Modells lehnt meinen Schlüssel ab")
	r.wantAnswer("/help", "ältere Nachrichten jetzt zusammenfassen", "\n/stop  ") // commands stay in English
	r.wantAnswer("/compact", "Es wurde nicht zusammengefasst: es gibt nichts, was alt genug wäre")
	r.sendNotes(20)
	r.wantAnswer("/pause", "Ich schweige hier bis /resume.")
	r.says(ada, place, "/recap", "der Grund: gerade darf hier kein Modell gefragt werden.")
	r.says(boss, place, "/compact", "Nachrichten zusammengefasst (#1 bis #")
}
