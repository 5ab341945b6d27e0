package channel_test

import (
	"context"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/prompts"
)

// talks holds a conversation in some languages, and a summary of it.
var talks = map[string]struct {
	said    []string
	summary string
}{
	"de": {
		[]string{
			"Ines: Wir verschieben den Start der Garten-App auf den 9. Mai, weil die Druckerei im Verzug ist.", "Tom: Ich zahle die Anzahlung von 1.200 EUR für den Saal in Turin.",
			"Ines: Die Plakate müssen blau sein, rote mag ich nicht.", "Tom: Wer bringt den Beamer zur Probe mit?",
		},
		"## Decisions\n- Ines hat den Start der Garten-App auf den 9. Mai verschoben, weil die Druckerei im Verzug ist (#1).\n- Tom zahlt die Anzahlung von 1.200 EUR für den Saal in Turin (#3).\n## Open questions\n- Tom fragte, wer den Beamer zur Probe mitbringt (#7).",
	},
	"zh": {
		[]string{
			"Ines: 因为印刷厂延误了，我们把花园应用的发布推迟到5月9日。", "Tom: 都灵会场的定金 1,200 EUR 由我来付。",
			"Ines: 海报必须是蓝色的，我不喜欢红色。", "Tom: 谁带投影仪来排练？",
		},
		"## Decisions\n- 因为印刷厂延误了，Ines 把花园应用的发布推迟到5月9日 (#1)。\n- Tom 付都灵会场的定金 1,200 EUR (#3)。\n## Open questions\n- Tom 问谁带投影仪来排练 (#7)。",
	},
}

// withLanguageWorker returns a worker that submits the summary of a talk.
func (r *rig) withLanguageWorker(language string) *llmtest.Model {
	return r.withWorker(always(summary(talks[language].summary)))
}

func (r *rig) fillInLanguage(language string) {
	r.t.Helper()
	for _, text := range talks[language].said {
		r.ask(text)
	}
}

// lastWorkerRequest has the messages summarized, and returns the bot's next request.
func (r *rig) lastWorkerRequest() llm.Request {
	r.t.Helper()
	r.finished(r.runAsManager("/compact"))
	r.ask("👍")
	all := r.model.Requests()
	return all[len(all)-1]
}

func system(req llm.Request) string { return req.Messages[0].Text }

func TestConversationLanguage(t *testing.T) {
	for language := range talks {
		r := withLanguage(t, language)
		worker, texts := r.withLanguageWorker(language), prompts.In(language)
		r.fillInLanguage(language)
		next := r.lastWorkerRequest()
		asked := worker.Requests()
		check.Len(t, "worker requests", asked, 1)
		check.Equal(t, "system prompt of the worker", system(asked[0]), texts.Worker)
		ask, _, _ := strings.Cut(texts.Ask, "%d")
		check.Contains(t, "worker request", asked[0].Messages[1].Text, "\n\n"+ask)
		check.Contains(t, "system prompt", system(next), texts.System)
		check.Contains(t, "summary in the prompt", textOf(next), talks[language].summary)
		r.finished(r.runAsManager("/recap"))
		check.Equal(t, "system prompt of the recap", system(worker.Requests()[1]), texts.Recap+"\n\n"+texts.Plain)
	}
}

// languages returns the language of the bot's prompt in each request.
func (r *rig) languages() (all []string) {
	r.t.Helper()
	for _, req := range r.model.Requests() {
		for _, language := range prompts.Languages {
			if system(req) == prompts.In(language).System {
				all = append(all, language)
			}
		}
	}
	return all
}

func withLanguage(t *testing.T, language string) *rig {
	r := newRig(t, echo)
	r.agent.Language = language
	r.setFilePolicy(func(p *compactor.Policy) { p.KeepFirst, p.KeepLastN, p.PrepareThreshold = 0, 0, 0 })
	return r
}

func TestDetectedLanguageReachesModel(t *testing.T) {
	t.Run("the first messages decide the language until there is a summary", func(t *testing.T) {
		r := withLanguage(t, "auto")
		for _, text := range []string{"ok", "Hallo, kannst du mir bei der Steuer helfen?", "Could you please tell me what the weather is like?", "¿Y qué es esto?"} {
			r.ask(text)
		}
		r.restart()
		r.ask("And what do you say to this?")
		check.EqualAll(t, "languages of the requests", r.languages(), []string{"en", "de", "de", "de", "de"})
	})
	t.Run("after a summary, the messages that it covers decide", func(t *testing.T) {
		r := withLanguage(t, "auto")
		r.withLanguageWorker("de")
		r.ask("Hi, can you help us with the launch of the app?")
		r.fillInLanguage("de")
		check.EqualAll(t, "languages before", r.languages(), []string{"en", "en", "en", "en", "en"})
		r.lastWorkerRequest()
		check.EqualAll(t, "languages after the summary", r.languages()[5:], []string{"de"})
		r.restart()
		r.ask("So what do you think about this now?")
		check.EqualAll(t, "languages after a restart", r.languages()[6:], []string{"de"})
	})
	t.Run("commands right after a start are answered in the language of the messages", func(t *testing.T) {
		r := withLanguage(t, "auto")
		r.ask("Hallo, wer kann mir am Samstag beim Umzug helfen?")
		for line, want := range map[string]string{"/tasks": "Es gibt keine Aufgaben.", "/compact": "/compact ist für die, die diesen Ort verwalten."} {
			r.reopen()
			r.says(bo, place, line, want)
		}
	})
	t.Run("a thread takes the language of its first message", func(t *testing.T) {
		r := withLanguage(t, "auto")
		r.overhear("Hallo, wer kann mir am Samstag beim Umzug helfen?")
		r.tell(branch, "ok", addressed)
		check.EqualAll(t, "languages in the thread", r.languages(), []string{"de"})
	})
	t.Run("a language without prompts falls back to English", func(t *testing.T) {
		r := withLanguage(t, "auto")
		for range 2 {
			r.ask("Ciao, mi puoi aiutare con la dichiarazione dei redditi? Non so come si fa.")
		}
		r.agent.Language = "ja" // a setting applies from the next turn on
		r.hub.Renew(channel.Rules{})
		r.ask("hello again")
		check.EqualAll(t, "languages", r.languages(), []string{"en", "en", "ja"})
	})
}

func TestAgentsAndToolsUseConversationLanguage(t *testing.T) {
	texts := prompts.In("pt")
	r := newRig(t, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if !strings.Contains(lastText(req), "go") {
			return echo(ctx, n, req)
		}
		return llmtest.Use(llmtest.Call("1", "spawn", map[string]any{"agent": "critic", "task": "count"}),
			llmtest.Call("2", "context", map[string]any{"op": "help", "topic": "memory"})), nil
	})
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
	r := newRig(t, func(context.Context, int, llm.Request) (llm.Response, error) {
		return llm.Response{}, &llm.Error{Kind: llm.KindAuth, Status: 401}
	})
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
