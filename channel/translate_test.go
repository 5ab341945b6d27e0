package channel

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

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
			if text == "" || len(verbOf.FindAllString(text, -1)) != len(verb.FindAllString(sentence, -1)) {
				t.Errorf("%s: translation of %q: got %q", language, sentence, text)
			}
			for _, kept := range regexp.MustCompile("`[^`]+`|\\b[a-z]+_[a-z]+\\b").FindAllString(sentence, -1) {
				check.Contains(t, language, text, kept)
			}
			filled := verb.ReplaceAllStringFunc(sentence, func(v string) string { return map[string]string{"%d": "12", "%q": `"tea"`, "%s": "Ada"}[v] })
			if got := Translated(language, filled); strings.Contains(got, "%!") || got == filled && strings.ReplaceAll(sentence, "%d", "%s") != text {
				t.Errorf("%s: translation of %q: got %q", language, filled, got)
			}
		}
	}
}

// Every translated sentence occurs in the code, letter by letter.
func TestEveryTranslationIsUsed(t *testing.T) {
	var source strings.Builder
	for _, pattern := range []string{"*.go", "../llm/remedy.go", "../compactor/request.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			check.NoError(t, err)
			if !strings.HasSuffix(name, "_test.go") {
				source.Write(text)
			}
		}
	}
	said := strings.NewReplacer(`" + messageKept + "`, "Your message is saved; ", `" + InMinutes(e.RetryAfter) + "`, "%s", `" + key + "`, "%s", `"+command.Name+"`, "%s", `\"`, `"`).Replace(source.String())
	said = regexp.MustCompile(`"\s*\+\s*"`).ReplaceAllString(said, "")
	for sentence := range translationsInto("de").whole {
		name, command := strings.CutPrefix(sentence, "command: ")
		switch {
		case command:
			sentence = `Name: "` + name + `"`
		case strings.HasPrefix(sentence, "No compaction was started: "), strings.HasPrefix(sentence, "Nothing was undone: "), strings.HasPrefix(sentence, "Summarizing "), strings.HasPrefix(sentence, "Summarized "):
			sentence, _, _ = strings.Cut(sentence, ": ") // assembled from parts
			sentence, _, _ = strings.Cut(sentence, ". Keep talking")
		case strings.Contains(sentence, "the call of"):
			sentence = "%s the call of %s with %s."
		case strings.HasPrefix(sentence, "in %s, when"):
			sentence = ", when the next day begins"
		case strings.HasPrefix(sentence, "from %s"):
			sentence = `+" on"`
		case strings.HasPrefix(sentence, "The budget"):
			sentence = "The budget %s is used up, so I cannot answer now."
		case strings.HasSuffix(sentence, "and the last %d"):
			sentence = " and the last %d"
		case strings.HasPrefix(sentence, "I will remember that"):
			sentence = "I will remember that, as memory %d"
		}
		check.Contains(t, "answer", said, sentence)
	}
}

func TestEveryRemedyAndCommandIsTranslated(t *testing.T) {
	for _, kind := range []llm.Kind{
		llm.KindQuota, llm.KindRateLimited, llm.KindOverloaded, llm.KindUnreachable, llm.KindTruncated, llm.KindFiltered, llm.KindAuth, llm.KindUnknownModel, llm.KindWrongAddress, llm.KindOverflow, llm.KindBadRequest,
	} {
		remedy, ok := llm.RemedyOf(&llm.Error{Kind: kind, Status: 400})
		if !ok || Translated("ja", remedy.Person) == remedy.Person {
			t.Errorf("%s: %q", kind, remedy.Person)
		}
	}
	for _, language := range prompts.Languages[1:] {
		names := map[string]string{}
		for _, c := range Commands {
			name := Translated(language, "command: "+c.Name)
			if other := names[name]; name == "command: "+c.Name || other != "" {
				t.Errorf("%s: /%s: got %q, the same as /%s", language, c.Name, name, other)
			}
			names[name] = c.Name
			texts := []string{c.Help}
			for _, a := range c.Args {
				texts = append(texts, a.Help)
			}
			for _, text := range texts {
				if there := Translated(language, text); there == text || len([]rune(there)) > 100 {
					t.Errorf("%s: %q is %q, %d characters", language, text, there, len([]rune(there)))
				}
			}
		}
	}
}
