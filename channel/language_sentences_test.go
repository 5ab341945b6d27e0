package channel

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/prompts"
)

// verbOf matches the verbs of a translation, which may be numbered.
var verbOf = regexp.MustCompile(`%(?:\[\d\])?[dqs]`)

func TestEverySentenceIsTranslated(t *testing.T) {
	english := slices.Sorted(maps.Keys(translationsInto("de").whole))
	for _, language := range prompts.Languages[1:] {
		there := translationsInto(language).whole
		check.EqualAll(t, fmt.Sprintf("sentences of %s", language), slices.Sorted(maps.Keys(there)), english)
		for _, sentence := range english {
			text := there[sentence]
			check.That(t, text != "" && len(verbOf.FindAllString(text, -1)) == len(verb.FindAllString(sentence, -1)),
				"%s: translation of %q: got %q", language, sentence, text)
			for _, kept := range regexp.MustCompile("`[^`]+`|\\b[a-z]+_[a-z]+\\b").FindAllString(sentence, -1) {
				check.Contains(t, language, text, kept)
			}
			filled := verb.ReplaceAllStringFunc(sentence, func(v string) string { return map[string]string{"%d": "12", "%q": `"tea"`, "%s": "Ada"}[v] })
			got := Translated(language, filled)
			check.That(t, !strings.Contains(got, "%!") && (got != filled || strings.ReplaceAll(sentence, "%d", "%s") == text),
				"%s: translation of %q: got %q", language, filled, got)
		}
	}
}

// sourceOf returns the code that has sentences for people, in a normal form: texts that are put together
// are one text, with %s in place of what is not constant.
func sourceOf(t *testing.T) string {
	var all strings.Builder
	for _, pattern := range []string{"*.go", "../llm/remedy.go", "../compactor/request.go", "../transcript/undo.go", "../store/apply.go", "../memory/filter.go", "../store/tasks.go"} {
		for _, name := range check.Must(filepath.Glob(pattern))(t) {
			if !strings.HasSuffix(name, "_test.go") {
				all.Write(check.Must(os.ReadFile(name))(t))
			}
		}
	}
	text := strings.ReplaceAll(all.String(), "messageKept", `"Your message is saved; "`)
	// Two functions are for the terminal and for programs, which speak English.
	text = regexp.MustCompile(`(?s)\nfunc (\([^)]*\) )?(FindCommand|PatchOf)\(.*?\n}\n`).ReplaceAllString(text, "\n")
	text = regexp.MustCompile(`"\s*\+\s*"`).ReplaceAllString(text, "")
	return regexp.MustCompile(`"\s*\+\s*[\w.]+(\([^"()]*\))?\s*\+\s*"`).ReplaceAllString(text, "%s")
}

// Every sentence that people see is translated, and every translation is of a sentence in the code.
func TestTranslationsAreOfSentencesInTheCode(t *testing.T) {
	code, german := sourceOf(t), translationsInto("de").whole
	shows := regexp.MustCompile(`(?:\b(?:sayf|spell|translated|errPeople|errDenied)\(\s*|\bAnswer\{[^{}]*?\bText:\s+)(?:fmt\.Sprintf\()?("(?:[^"\\]|\\.)*"|\x60[^\x60]*\x60)`)
	names := regexp.MustCompile(`/[a-z]+( me| everywhere| yes)*`) // commands, which are the same in each language
	for _, found := range shows.FindAllStringSubmatch(code, -1) {
		sentence := check.Must(strconv.Unquote(found[1]))(t)
		words := regexp.MustCompile(`[a-z]{2}`).MatchString(names.ReplaceAllString(sentence, ""))
		check.That(t, german[sentence] != "" || !words, "no translation of %q", sentence)
	}
	counts := regexp.MustCompile(`^(1|%d) (message|memor|summar)`)
	for sentence := range german {
		sentence = strings.TrimPrefix(sentence, "command: ")
		there := strings.Contains(code, strconv.Quote(sentence)) || strings.Contains(code, "`"+sentence+"`")
		check.That(t, there || counts.MatchString(sentence), "%q is not in the code", sentence)
	}
}

func TestEveryRemedyAndCommandIsTranslated(t *testing.T) {
	check.Equal(t, "why a /compact does not start", Translated("de", "a compaction is running already"), "es wird schon zusammengefasst")
	for _, kind := range llm.Kinds {
		remedy, ok := llm.RemedyOf(&llm.Error{Kind: kind, Status: 400})
		check.That(t, ok && Translated("ja", remedy.Person) != remedy.Person, "%s: %q", kind, remedy.Person)
	}
	for _, language := range prompts.Languages[1:] {
		names := map[string]string{}
		for _, c := range Commands {
			name := Translated(language, "command: "+c.Name)
			check.That(t, name != "command: "+c.Name && names[name] == "", "%s: /%s: got %q, as for /%s", language, c.Name, name, names[name])
			names[name] = c.Name
			texts := []string{c.Help}
			for _, a := range c.Args {
				texts = append(texts, a.Help)
			}
			for _, text := range texts {
				there := Translated(language, text)
				check.That(t, there != text && len([]rune(there)) <= 100, "%s: %q is %q", language, text, there)
			}
		}
	}
}

// A fold of earlier summaries that is applied together with a summary adds no messages.
func TestAppliedWordsCountMessagesOnce(t *testing.T) {
	language := "en"
	c := &conversation{hub: &Hub{}}
	c.speaks.Store(&language)
	row := func(kind compactor.Kind, from, to int64) compactor.Compaction {
		return compactor.Compaction{Kind: kind, Span: compactor.Span{From: from, To: to}, Messages: int(to - from + 1), Focus: "tea"}
	}
	e := compactor.Event{From: 121, To: 130, BeforeTokens: 900, AfterTokens: 500, Window: 1000, Set: []compactor.Compaction{
		row(compactor.Rollup, 1, 100), row(compactor.Leaf, 101, 120), row(compactor.Leaf, 121, 130),
	}}
	check.Equal(t, "words", c.appliedWords(e, "tea"), "Summarized 30 messages (#101 to #130): 900 → 500 tokens of 1000.")
}

func TestTruncatedArgumentsMaskSecret(t *testing.T) {
	const part = "aB3dE5gH7jK9"
	for n := 130; n < 136; n++ { // wherever the cut is
		text := strings.Repeat("word ", n) + "sk-proj-" + strings.Repeat(part, 4) + strings.Repeat(" word", 600)
		shown := shownArguments(json.RawMessage(fmt.Sprintf(`{"text":%q}`, text)))
		check.Lacks(t, fmt.Sprintf("%d words before it", n), shown, part)
	}
}
