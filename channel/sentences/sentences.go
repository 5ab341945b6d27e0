// Package sentences translates the bot's own sentences, which are English in the code.
//
// A file for each language maps the English sentences, with verbs for values, to their translations.
// "command: compact" is Discord's name for /compact, and "kind: leaf" a Word.
package sentences

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"cairn/chat"
	"cairn/prompts"
)

// Speaker writes the bot's own sentences for people, usually those of one conversation. The zero value writes English.
type Speaker struct {
	Language string // its code, one of prompts.Languages; any other means English

	// Spelling writes the commands in a text as people write them in the conversation; nil: "/compact".
	Spelling func(text string) string
}

// In returns a speaker of a language that leaves commands as they are.
func In(language string) Speaker { return Speaker{Language: language} }

// English reports whether the speaker's sentences stay as they are in the code.
func (s Speaker) English() bool { return all[s.Language] == nil }

// Translate translates a sentence and the sentences that are filled in for its values.
// What has no translation stays English. Commands stay as they are.
func (s Speaker) Translate(text string) string {
	t := s.translations()
	if there, ok := t.whole[text]; ok {
		return there
	}
	for _, p := range t.patterns {
		found := p.english.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		values := make([]any, len(found)-1)
		for i, value := range found[1:] {
			values[i] = s.Translate(value)
		}
		return fmt.Sprintf(p.text, values...)
	}
	return text
}

// Say translates a sentence like Translate, and spells its commands.
func (s Speaker) Say(text string) string { return s.Spell(s.Translate(text)) }

// Sayf is fmt.Sprintf with a format that is translated and whose commands are spelled. The values stay unchanged.
func (s Speaker) Sayf(format string, values ...any) string {
	return fmt.Sprintf(s.Spell(s.format(format)), values...)
}

// Spell writes the commands in a text as people write them in the conversation.
func (s Speaker) Spell(text string) string {
	if s.Spelling == nil {
		return text
	}
	return s.Spelling(text)
}

// Word translates a word of a group, such as a kind of summaries: the same word may need another translation in
// another group. What has no translation stays as it is.
func (s Speaker) Word(group, word string) string {
	key := group + ": " + word
	if there := s.Translate(key); there != key {
		return there
	}
	return word
}

// Count writes a number of things: "1 message", "3 messages".
func (s Speaker) Count(n int, one, more string) string {
	return s.Translate(chat.Counted(n, one, more))
}

// format translates a format. The verbs of a translation are %s; here they become %v, which fits any value.
func (s Speaker) format(english string) string {
	there, ok := s.translations().whole[english]
	if !ok || strings.Contains(english, "%q") {
		return english
	}
	return strings.ReplaceAll(strings.ReplaceAll(there, "%s", "%v"), "]s", "]v")
}

func (s Speaker) translations() (t translations) {
	if read := all[s.Language]; read != nil {
		t = read()
	}
	return t
}

//go:embed *.json
var files embed.FS

// translations are the sentences of a language: all by their English text, and patterns of those with verbs.
type translations struct {
	whole    map[string]string
	patterns []pattern // the closest first: a text may match several
}

// pattern matches an English sentence with values in place of its verbs.
type pattern struct {
	english *regexp.Regexp
	text    string // the translation
}

var verb = regexp.MustCompile(`%[dqs]`)

// values has an expression for what each verb writes.
var values = map[string]string{"%d": `(\d+)`, "%q": `(".*")`, "%s": `(.+?)`}

// all has the translations by language, each read when it is first used. English has none.
var all = func() map[string]func() translations {
	byLanguage := map[string]func() translations{}
	for _, language := range prompts.Languages {
		byLanguage[language] = sync.OnceValue(func() translations { return read(language) })
	}
	delete(byLanguage, prompts.English)
	return byLanguage
}()

// read reads the file of a language. It is part of the program; a broken one is a panic.
func read(language string) (t translations) {
	text, err := files.ReadFile(language + ".json")
	if err == nil {
		err = json.Unmarshal(text, &t.whole)
	}
	if err != nil {
		panic(err)
	}
	for _, english := range slices.SortedFunc(maps.Keys(t.whole), compareLetters) {
		literal := regexp.QuoteMeta(english)
		expression := verb.ReplaceAllStringFunc(literal, func(v string) string { return values[v] })
		if expression != literal {
			t.patterns = append(t.patterns, pattern{regexp.MustCompile("(?s)^" + expression + "$"), t.whole[english]})
		}
	}
	return t
}

// compareLetters puts the sentence with more letters between its verbs first.
func compareLetters(a, b string) int {
	return cmp.Or(cmp.Compare(letters(b), letters(a)), cmp.Compare(a, b))
}

func letters(english string) int { return len(verb.ReplaceAllString(english, "")) }
