package sentences_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/channel/command"
	"cairn/channel/report"
	"cairn/channel/sentences"
	"cairn/chat"
	"cairn/compactor"
	"cairn/compactor/judge"
	"cairn/compactor/summarize"
	"cairn/llm"
	"cairn/memory"
	"cairn/prompts"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// verbOf matches the verbs of a translation, which may be numbered; verb those of an English sentence.
var verbOf, verb = regexp.MustCompile(`%(?:\[\d\])?[dqs]`), regexp.MustCompile(`%[dqs]`)

// translations returns the sentences of a language by their English texts.
func translations(t *testing.T, language string) (all map[string]string) {
	t.Helper()
	check.NoError(t, json.Unmarshal(check.Must(os.ReadFile(language+".json"))(t), &all))
	return all
}

func TestEverySentenceIsTranslated(t *testing.T) {
	english := slices.Sorted(maps.Keys(translations(t, "de")))
	for _, language := range prompts.Languages[1:] {
		there := translations(t, language)
		check.EqualAll(t, fmt.Sprintf("sentences of %s", language), slices.Sorted(maps.Keys(there)), english)
		for _, sentence := range english {
			text := there[sentence]
			check.That(t, text != "" && len(verbOf.FindAllString(text, -1)) == len(verb.FindAllString(sentence, -1)),
				"%s: translation of %q: got %q", language, sentence, text)
			for _, kept := range regexp.MustCompile("`[^`]+`|\\b[a-z]+_[a-z]+\\b").FindAllString(sentence, -1) {
				check.Contains(t, language, text, kept)
			}
			filled := verb.ReplaceAllStringFunc(sentence, func(v string) string { return map[string]string{"%d": "12", "%q": `"tea"`, "%s": "Ada"}[v] })
			got := sentences.In(language).Translate(filled)
			check.That(t, !strings.Contains(got, "%!") && (got != filled || strings.ReplaceAll(sentence, "%d", "%s") == text),
				"%s: translation of %q: got %q", language, filled, got)
		}
	}
}

// A Word has a translation for each of its values.
func TestEveryWordIsTranslated(t *testing.T) {
	named := map[string][]string{"memory": memory.Kinds, "kind": {string(compactor.Leaf), string(compactor.Rollup), string(compactor.Placeholder)}}
	for _, trigger := range compactor.Triggers {
		named["trigger"] = append(named["trigger"], string(trigger))
	}
	for _, state := range []store.TaskState{store.TaskOpen, store.TaskDone, store.TaskFailed, store.TaskStopped, store.TaskExpired} {
		named["task"] = append(named["task"], string(state))
	}
	for _, language := range prompts.Languages[1:] {
		there := translations(t, language)
		for of, words := range named {
			for _, word := range words {
				check.That(t, there[of+": "+word] != "", "%s: no translation of the %s %q", language, of, word)
			}
		}
		for _, by := range []compactor.By{compactor.ByWorker, compactor.ByExtractive, compactor.ByNobody} {
			check.Lacks(t, language, report.MadeBy(by, sentences.In(language)), "by ", "to be ")
		}
	}
}

func TestEveryRemedyAndCommandIsTranslated(t *testing.T) {
	check.Equal(t, "why a /compact does not start", sentences.In("de").Translate("a compaction is already running"), "es wird schon zusammengefasst")
	for _, kind := range llm.Kinds {
		remedy, ok := llm.RemedyOf(&llm.Error{Kind: kind, Status: 400})
		check.That(t, ok && sentences.In("ja").Translate(remedy.Person) != remedy.Person, "%s: %q", kind, remedy.Person)
		check.That(t, sentences.In("ja").Translate(remedy.Reason) != remedy.Reason, "%s: %q", kind, remedy.Reason)
	}
	for _, language := range prompts.Languages[1:] {
		names := map[string]string{}
		for _, c := range command.All {
			name := sentences.In(language).Translate("command: " + c.Name)
			check.That(t, name != "command: "+c.Name && names[name] == "", "%s.json: the name of /%s, \"command: %s\", is missing, or that of /%s", language, c.Name, c.Name, names[name])
			names[name] = c.Name
			for _, text := range append(storetest.Map(c.Args, func(a command.Arg) string { return a.Help }), c.Help) {
				there := sentences.In(language).Translate(text)
				check.That(t, there != text && len([]rune(there)) <= 100, "%s.json: %q is not translated, or in more than 100 characters: %q", language, text, there)
			}
		}
	}
}

// Whatever the language, people read in it why a line of a summary was dropped.
func TestReasonsOfDroppedLinesAreTranslated(t *testing.T) {
	at := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	judge := judge.Of(summarize.ItemsOf([]chat.Message{
		{Seq: 1, Turn: 1, Time: at, Author: "Ada", AuthorID: "Ada", Role: llm.RoleUser, Text: "The parish hall costs 48,000 EUR to renovate, says the architect."},
		{Seq: 2, Turn: 2, Time: at, Author: "Ben", AuthorID: "Ben", Role: llm.RoleUser, Text: "I talk to the bank on 9 March about the loan."},
		{Seq: 3, Turn: 3, Time: at, Author: "Ada", AuthorID: "Ada", Role: llm.RoleUser, Text: "Could we keep the old oak doors? I like them, and the roof has 3 leaks."},
		{Seq: 4, Turn: 4, Time: at, Author: "Ben", AuthorID: "Ben", Role: llm.RoleUser, Text: "Yes, we can, and I will ask for the permit, which takes six weeks."},
	}, summarize.MaxMessage))
	for _, line := range []string{
		"- The renovation of the parish hall costs 99,000 EUR (#1).",
		"- Ben talks to the bank about the loan on 19 April (#2).",
		"- The parish hall is to be renovated (#99).",
		"- Ada talks to the bank about the loan (#2).",
		"- Zacharias wants to keep the old oak doors (#3).",
	} {
		wrong := judge.Check("- Ben talks to the bank (#2).\n" + line).Wrong
		check.Len(t, line, wrong, 1)
		for _, code := range prompts.Languages {
			there := sentences.In(code).Translate(wrong[0].Why)
			if code != prompts.English {
				check.That(t, there != wrong[0].Why, "in %s it stays English: %s", code, there)
			}
		}
	}
}
