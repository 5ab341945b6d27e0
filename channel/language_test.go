package channel_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
	"cairn/prompts"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// everyCommand are uses of all commands, right and wrong ones, by a manager and by others.
var everyCommand = []struct {
	who   access.Person
	lines []string
}{
	{boss, []string{
		"/compact", "/compact", "/undo", "/undo", "/compact tea", "/context", "/summaries", "/summaries 1", "/summaries 1 1", "/summaries 9", "/summaries x",
		"/summaries edit 1 1 tea", "/summaries edit 1 1", "/summaries edit 1 77 x", "/summaries 2", "/expand 1", "/expand 9", "/expand x", "/pin", "/pin #1", "/pin #1",
		"/pin #999", "/pins", "/unpin #1", "/unpin 5", "/unpin x", "/pins", "/memories", "/remember the tea is green", "/remember the tea is green", "/remember",
		"/remember server: x", "/memories", "/memories kind:fact", "/memories kind:x", "/memories state:x", "/memories about:me state:known", "/memories pin 1", "/memories unpin 1", "/memories restore 1", "/memories restore 7",
		"/forget 1", "/memories", "/memories restore 1", "/forget tea", "/forget", "/recall tea", "/recall zzz", "/recall", "/recall by:zzz", "/recall tea order:x", "/recall since:soon", "/forget me", "/forget me now", "/forget me everywhere",
		"/optout", "/optout off", "/optout x", "/ask", "/ask @nobody count", "/ask @marvin count the ships", "/tasks", "/tasks stop 1", "/tasks stop 9", "/tasks x", "/tasks",
		"/stop", "/steer", "/steer tea", "/pause", "/resume", "/pause everywhere", "/pause x", "/settings", "/settings focus tea", "/settings keep_first x", "/settings keep_first 1", "/settings keep_frist 1",
		"/settings background_threshold 2", "/settings background_threshold 70", "/settings background_threshold -5", "/settings prepare_threshold 0.9", "/settings notify x",
		"/settings cache_ttl 48h", "/settings strategy x", "/settings timeout x", "/settings enabled x", "/settings compact_at_tokens 5", "/settings max_turns 1.5", "/settings model x",
		"/settings keep_first", "/settings keep_first default", "/settings", "/model", "/model x", "/model tea", "/model", "/context", "/model default", "/tools", "/tools add x", "/tools remove x", "/tools x", "/allow", "/deny x", "/recap", "/new", "/new",
		"/context", "/summaries", "/help", "/help x", "/undo", "/undo x", "/undo 9", "/sources", "/sources 1", "/sources x", "/pin msg:9", "/forget msg:9",
	}},
	{ada, []string{"/compact", "/model", "/forget me", "/summaries edit 1 1 x", "/forget 1", "/memories pin 1", "/forget me yes"}},
}

// spoken runs all commands in a conversation in a language, and returns the answers by number, and the notices.
func spoken(t *testing.T, language string, worker script) (lines, answers []string) {
	r := newRig(t, echo)
	r.agent.Language = language
	r.agent.ID = "marvin"
	r.agent.Spawn = []string{"marvin"}
	r.agent.Choices = []channel.Choice{{Name: "tea", Model: &llmtest.Model{Func: echo, Tokens: 9000}}}
	r.opts.Rules = access.Rules{CallsPerHour: 500, Money: access.Money{PerDay: 1000, PerMonth: 9000, Prices: priced}}
	r.withWorker(worker)
	picture := r.inbound("note", false)
	picture.Attachments = []channel.Attachment{
		{Kind: "image", Name: "note.png"},
		{Name: "note"},
		{Kind: chat.Voice, Seconds: 34, Text: "note"},
		{Kind: chat.Voice, Note: "not transcribed: it took too long"},
		{Kind: "file", Note: "not read: it contains no text; perhaps its pages are pictures"},
	}
	r.post(picture)
	r.sendNotes(40)
	r.ask("what is tea?")
	for _, by := range everyCommand {
		for _, line := range by.lines {
			answer := r.runAs(by.who, place, line)
			text := answer.String()
			if answer.Then != nil {
				text += "\n" + r.finished(answer)
			}
			if line == "/recap" {
				text = text[strings.LastIndex(text, "\n\n"):] // behind what it quotes
			}
			lines = append(lines, by.who.Name+": "+line)
			answers = append(answers, text)
			r.waitForReplies()
		}
	}
	return lines, append(answers, strings.Join(r.connector.texts(), "\n"))
}

var englishWord = regexp.MustCompile(`[A-Za-z]{2,}`)

// TestNothingStaysEnglish compares what people read in a language with what they read in English: a word that occurs in both must
// be theirs, a name or a key, or be a word of the other language too.
func TestNothingStaysEnglish(t *testing.T) {
	check.SkipUnderRace(t)
	for _, c := range command.All {
		used := slices.ContainsFunc(everyCommand[0].lines, func(line string) bool {
			of, _, _ := command.Parse(line)
			return of.Name == c.Name
		})
		check.Require(t, used, "everyCommand has no use of /%s", c.Name)
	}
	workers := map[string]script{"a model that works": always(summary("Ada: note 1 word, note 2 word")), "a model that fails": failing(&llm.Error{Kind: llm.KindOverloaded, Status: 503})}
	for name, worker := range workers {
		t.Run(name, func(t *testing.T) { compareLanguages(t, worker) })
	}
}

func compareLanguages(t *testing.T, worker script) {
	lines, english := spoken(t, "en", worker)
	lines = append(lines, "notices")
	for _, language := range prompts.Languages[1:] {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			theirs := wordsOf(argumentNames(), string(check.Must(json.Marshal(everyCommand[0].lines))(t)), strings.Join(compactor.Keys(), " "))
			var sentences map[string]string
			check.NoError(t, json.Unmarshal(check.Must(os.ReadFile("sentences/"+language+".json"))(t), &sentences))
			for _, text := range sentences {
				theirs = append(theirs, wordsOf(text)...)
			}
			_, there := spoken(t, language, worker)
			for i, text := range there {
				for _, word := range wordsOf(text) {
					same := slices.Contains(wordsOf(english[i]), word) && !slices.Contains(theirs, word)
					check.That(t, !same, "%s: the answer has the English word %q:\n%s", lines[i], word, text)
				}
			}
		})
	}
}

// argumentNames returns the names of the commands' arguments, which are English everywhere, as the commands are.
func argumentNames() (all string) {
	for _, c := range command.All {
		for _, a := range c.Args {
			all += " " + a.Name
		}
	}
	return all
}

// names are words of the test that are no sentences of the bot: of messages, people, models, files and values of settings.
var names = strings.Fields("note word answer what is tea ada bo boss png marvin worker scripted wor low off yes extractive config toml server test general utc script")

func wordsOf(texts ...string) (all []string) {
	for _, word := range englishWord.FindAllString(strings.ToLower(strings.Join(texts, " ")), -1) {
		if !slices.Contains(all, word) && !slices.Contains(names, word) {
			all = append(all, word)
		}
	}
	return all
}
