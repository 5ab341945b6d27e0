package channel

import (
	"embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"cairn/prompts"
)

// What the bot says by itself, in the language of the conversation. The code speaks English; a
// sentence is looked up when it goes out. sentences/ has a file for each language: the English
// sentences, with verbs where something is filled in, and what they are there; "command: compact" is
// what Discord calls /compact. What is not in the file is said in English.

//go:embed sentences/*.json
var sentenceFiles embed.FS

// translation is a sentence in another language.
type translation struct {
	english *regexp.Regexp // of a sentence with verbs; nil: it has none
	text    string
}

// translations are the sentences of a language: those without verbs by their English text, and the
// others in turn.
type translations struct {
	whole    map[string]string
	patterns []translation
}

var verb = regexp.MustCompile(`%[dqs]`)

// readTranslations reads the files once, when somebody needs them. All of them are in the program,
// or it does not speak.
var readTranslations = sync.OnceValue(func() map[string]translations {
	all := map[string]translations{}
	for _, language := range prompts.Languages {
		if language == prompts.English {
			continue
		}
		text, err := sentenceFiles.ReadFile("sentences/" + language + ".json")
		if err != nil {
			panic(err)
		}
		t := translations{whole: map[string]string{}}
		if err := json.Unmarshal(text, &t.whole); err != nil {
			panic(err)
		}
		for english, there := range t.whole {
			if !verb.MatchString(english) {
				continue
			}
			pattern := verb.ReplaceAllStringFunc(regexp.QuoteMeta(english), func(v string) string {
				return map[string]string{"%d": `(\d+)`, "%q": `(".*")`, "%s": `(.+?)`}[v]
			})
			t.patterns = append(t.patterns, translation{regexp.MustCompile("(?s)^" + pattern + "$"), there})
		}
		slices.SortFunc(t.patterns, func(a, b translation) int { return strings.Compare(a.english.String(), b.english.String()) })
		all[language] = t
	}
	return all
})

// Translated is an English sentence of the bot's own in a language, one of Languages; what is
// filled in may be a sentence itself. A sentence that nobody translated stays English.
func Translated(language, text string) string {
	t, known := readTranslations()[language]
	if !known || text == "" {
		return text
	}
	if there, ok := t.whole[text]; ok {
		return there
	}
	for _, p := range t.patterns {
		found := p.english.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		filled := make([]any, len(found)-1)
		for i, part := range found[1:] {
			filled[i] = Translated(language, part)
		}
		return fmt.Sprintf(p.text, filled...)
	}
	return text
}

// languageOf is the language of a conversation that may not be open.
func (h *Hub) languageOf(name string) string {
	h.mu.Lock()
	c := h.open[name]
	h.mu.Unlock()
	if c != nil {
		return c.language()
	}
	return supported(h.o.Agent(name).Language)
}

// translated is a sentence in the language of the conversation.
func (c *conversation) translated(text string) string { return Translated(c.language(), text) }

// translatedFormat is the format of a sentence in the language of the conversation, for what its
// English format is filled with. Verbs become those that take what they are given.
func (c *conversation) translatedFormat(format string, args []any) string {
	there, ok := readTranslations()[c.language()].whole[format]
	if !ok {
		return format
	}
	if verbs := verb.FindAllString(format, -1); len(verbs) != len(args) || strings.Contains(format, "%q") {
		return format
	}
	return strings.ReplaceAll(strings.ReplaceAll(there, "%s", "%v"), "]s", "]v")
}
