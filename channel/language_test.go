package channel_test

import (
	"slices"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/prompts"
)

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

// languages returns the language of the bot's prompt in each request.
func (r *rig) languages() (all []string) {
	r.t.Helper()
	for _, req := range r.model.Requests() {
		i := slices.IndexFunc(prompts.Languages, func(language string) bool { return system(req) == prompts.In(language).System })
		all = append(all, prompts.Languages[i])
	}
	return all
}

// withLanguage returns a rig with a language and a worker that summarizes what askInGerman says.
func withLanguage(t *testing.T, language string) (*rig, *llmtest.Model) {
	r := newRig(t, echo)
	r.agent.Language = language
	r.setFilePolicy(func(p *compactor.Policy) { p.KeepFirst, p.KeepLastN, p.PrepareThreshold = 0, 0, 0 })
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
	want := func(r *rig, what, languages string) {
		t.Helper()
		check.Equal(t, what, strings.Join(r.languages(), " "), languages)
	}
	r, _ := withLanguage(t, "auto")
	for _, text := range []string{"ok", "Hallo, kannst du mir bei der Steuer helfen?", "Could you please tell me what the weather is like?", "¿Y qué es esto?"} {
		r.ask(text)
	}
	r.restart()
	r.ask("And what do you say to this?")
	want(r, "the first messages decide until there is a summary", "en de de de de")

	r, _ = withLanguage(t, "auto")
	r.ask("Hi, can you help us with the launch of the app?")
	r.askInGerman()
	r.finished(r.runAsManager("/compact"))
	r.ask("👍")
	r.restart()
	r.ask("So what do you think about this now?")
	want(r, "after a summary, the messages that it covers decide, also after a restart", "en en en en en de de")

	// Commands right after a start are answered in the language of the messages.
	r, _ = withLanguage(t, "auto")
	r.ask("Hallo, wer kann mir am Samstag beim Umzug helfen?")
	for line, text := range map[string]string{"/tasks": "Es gibt keine Aufgaben.", "/compact": "/compact ist für die, die diesen Ort verwalten."} {
		r.reopen()
		r.says(bo, place, line, text)
	}
	r.tell(branch, "ok", addressed)
	want(r, "a thread takes the language of its first message", "de de")

	r, _ = withLanguage(t, "auto")
	for range 2 {
		r.ask("Ciao, mi puoi aiutare con la dichiarazione dei redditi? Non so come si fa.")
	}
	r.agent.Language = "ja"
	r.hub.Renew(channel.Rules{})
	r.ask("hello again")
	want(r, "a language without prompts falls back to English, and a setting applies from the next turn on", "en en ja")
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
