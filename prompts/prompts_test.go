package prompts

import (
	"io/fs"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cairn/internal/words"
	"cairn/testkit/check"
)

// What a translation must keep unchanged. Order counts only for fmt verbs.
var (
	verb   = regexp.MustCompile(`%[a-z]`)
	fixed  = regexp.MustCompile("`[^`]+`|</?[a-z]+>|\\[(?:#|image|end|masked|no evidence)[^]]*\\]|\\(#[^)]*\\)|[a-z]+=\"[^\"]*\"|\"(?:compact|replying to)\"|\\b[A-Za-z]+_[A-Za-z_]+\\b|/[a-z]{4,}\\b|\\bCairn\\b|\\b(?:op|focus)\\b")
	header = regexp.MustCompile(`#{1,2} (?:[a-z]+|[A-Z][a-z]+(?: questions)?)`)
	number = regexp.MustCompile(`[0-9]+(?:[., \x{202f}][0-9]{3})*`)
	prose  = regexp.MustCompile(`(?m)^(-? ?)[^#\n-].*`)
	month  = regexp.MustCompile(`([0-9]{4})年[0-9]+月([0-9]+)日`)
)

// numbersOf returns the numbers of a text, sorted. English writes months as words.
func numbersOf(text string) []string {
	found := number.FindAllString(month.ReplaceAllString(text, "$1 / $2"), -1)
	for i, n := range found {
		found[i] = strings.NewReplacer(".", "", ",", "", " ", "", "\u202f", "").Replace(n)
	}
	slices.Sort(found)
	return found
}

// linesOf returns the lines with "text" for their words, but for headings: an item of a list is "- text".
func linesOf(text string) []string {
	return strings.Split(prose.ReplaceAllString(text, "${1}text"), "\n")
}

// wrong returns the forbidden differences between a text and its translation.
func wrong(english, text string) (all []string) {
	named := func(text string) []string {
		return slices.Compact(slices.Sorted(slices.Values(fixed.FindAllString(text, -1))))
	}
	for what, pair := range map[string][2][]string{
		"placeholders":    {verb.FindAllString(english, -1), verb.FindAllString(text, -1)},
		"names and marks": {named(english), named(text)},
		"headings":        {header.FindAllString(english, -1), header.FindAllString(text, -1)},
		"numbers":         {numbersOf(english), numbersOf(text)},
		"lines":           {linesOf(english), linesOf(text)},
	} {
		if !slices.Equal(pair[0], pair[1]) {
			all = append(all, what+": "+strings.Join(pair[1], " | ")+"\n\tin English: "+strings.Join(pair[0], " | "))
		}
	}
	return all
}

func filesOf(t *testing.T, language string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, entry := range check.Must(fs.ReadDir(files, language))(t) {
		texts[entry.Name()] = string(check.Must(fs.ReadFile(files, language+"/"+entry.Name()))(t))
	}
	return texts
}

func TestTranslationsSayTheSame(t *testing.T) {
	english := filesOf(t, English)
	for _, language := range Languages[1:] {
		t.Run(language, func(t *testing.T) {
			texts := filesOf(t, language)
			check.EqualAll(t, "files", slices.Sorted(maps.Keys(texts)), slices.Sorted(maps.Keys(english)))
			for name, text := range texts {
				for _, what := range wrong(english[name], text) {
					t.Errorf("%s: %s", name, what)
				}
				code, sure := words.Language(text)
				check.That(t, code != English && (code == language || !sure), "%s: got language %q", name, code)
			}
		})
	}
	t.Run("all texts of a language together are in it", func(t *testing.T) {
		for _, language := range Languages {
			code, sure := words.Language(strings.Join(slices.Collect(maps.Values(filesOf(t, language))), "\n"))
			check.That(t, code == language && sure, "%s: detected as %q, sure: %v", language, code, sure)
		}
	})
}

func TestTextsOfALanguage(t *testing.T) {
	for _, language := range Languages {
		texts := In(language)
		check.That(t, texts.Help["memory"] != "", "%s: there is no help about memory", language)
		for field, value := range reflect.ValueOf(texts).Fields() {
			check.That(t, value.Kind() != reflect.String || strings.TrimSpace(value.String()) != "", "%s: %s is empty", language, field.Name)
		}
	}
	check.That(t, In("xx").System == In(English).System && In("de").System != In(English).System, "fallback to English")
}
