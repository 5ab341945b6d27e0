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

// The bot's own sentences, in the language of the conversation. The code has them in English; a
// sentence is translated when it goes out. sentences/ has a file for each language, which maps the
// English sentences, with verbs for the values filled in, to their translations; "command: compact"
// is Discord's name for /compact. A sentence that is not in the file stays English.

//go:embed sentences/*.json
var sentenceFiles embed.FS

// translation is a sentence in another language.
type translation struct {
	english *regexp.Regexp // matches a sentence with verbs; nil: it has none
	text    string
}

// translations are the sentences of a language: those without verbs by their English text, and a
// list of the others.
type translations struct {
	whole    map[string]string
	patterns []translation
}

var verb = regexp.MustCompile(`%[dqs]`)

// byLanguage are the sentences by the code of their language; each language is read when it is first used.
var byLanguage = func() map[string]func() translations {
	all := map[string]func() translations{}
	for _, code := range prompts.Languages {
		all[code] = sync.OnceValue(func() translations { return readTranslations(code) })
	}
	delete(all, prompts.English)
	return all
}()

// translationsInto returns the sentences of a language; of English and of unknown ones there are none.
func translationsInto(language string) translations {
	if read, written := byLanguage[language]; written {
		return read()
	}
	return translations{}
}

// readTranslations reads the file of a language. It is embedded in the program; a broken one is a
// panic.
func readTranslations(language string) translations {
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
	return t
}

// Translated translates one of the bot's English sentences into a language, one of Languages; the
// values filled in may be sentences too. A sentence without a translation stays English.
func Translated(language, text string) string {
	t := translationsInto(language)
	if text == "" {
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

// translated translates a sentence into the language of the conversation.
func (c *conversation) translated(text string) string { return Translated(c.language(), text) }

// translatedFormat translates the format of a sentence into the language of the conversation. The
// verbs of a translation are %s, here they become fit for any value.
func (c *conversation) translatedFormat(format string) string {
	there, ok := translationsInto(c.language()).whole[format]
	if !ok || strings.Contains(format, "%q") {
		return format
	}
	return strings.ReplaceAll(strings.ReplaceAll(there, "%s", "%v"), "]s", "]v")
}
