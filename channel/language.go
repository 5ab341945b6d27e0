package channel

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"cairn/chat"
	"cairn/internal/tokens"
	"cairn/internal/words"
	"cairn/llm"
	"cairn/prompts"
	"cairn/store"
)

// The language of a conversation's prompts, and of the bot's own sentences. Models answer in the question's.

// Languages are the values of the setting; the first one detects the language from the messages.
var Languages = append([]string{autoLanguage}, prompts.Languages...)

const (
	autoLanguage    = "auto"
	DefaultLanguage = prompts.English // when no setting says otherwise

	sampleMessages = 20  // the most messages used to detect the language: each batch of messages does it anew
	sampleTokens   = 200 // of each message: one long pasted text must not decide
)

// language returns the code of the language in use here, one of prompts.Languages. Any goroutine may call it.
func (c *conversation) language() string {
	if code := c.speaks.Load(); code != nil {
		return *code
	}
	return supported(c.hub.o.Agent(c.account()).Language)
}

// detectLanguage sets the language of a conversation being opened; after an error it is the default until then.
func (c *conversation) detectLanguage(ctx context.Context) {
	if c.speaks.Load() != nil {
		return
	}
	if code, err := languageIn(ctx, c.records, c.hub.o.Agent(c.account()).Language); err == nil {
		c.speaks.CompareAndSwap(nil, &code)
	}
}

// SpokenIn returns the language in which the bot speaks in a conversation, one of Languages.
func SpokenIn(h *Hub, conversation string) string { return h.languageOf(conversation) }

// languageOf returns the language of a conversation that may not be open.
func (h *Hub) languageOf(name string) string {
	if c, _ := h.find(name, nil); c != nil {
		defer h.release(c)
		return c.language()
	}
	return supported(h.o.Agent(name).Language)
}

// supported returns code if there are prompts in that language, otherwise the default.
func supported(code string) string {
	if !slices.Contains(prompts.Languages, code) {
		return DefaultLanguage
	}
	return code
}

// languageIn returns the language that a setting means in a conversation. Only data on disk decides it, so that a
// restart gets the same: with "auto", the newest messages that summaries cover or, before any summary, the first
// ones, as soon as they are clear. So it can only change when the provider's prompt cache is invalid anyway.
func languageIn(ctx context.Context, records *store.Conversation, setting string) (code string, err error) {
	if setting != autoLanguage {
		return supported(setting), nil
	}
	head, err := records.Compactions().Head(ctx)
	if err != nil {
		return "", err
	}
	shown := head.Start
	for _, row := range head.Stack {
		shown = max(shown, row.To+1)
	}
	first := shown <= 1
	var said []chat.Message
	if !first {
		said, _, err = records.Transcript().Earlier(ctx, shown, sampleMessages)
	} else {
		said, err = records.Transcript().Page(ctx, 1, sampleMessages)
		if head.Inherited.Root != nil {
			said = append([]chat.Message{*head.Inherited.Root}, said...)
		}
	}
	sample := ""
	for i, m := range said {
		if m.Role == llm.RoleUser {
			sample += tokens.Beginning(m.Text, sampleTokens) + "\n"
		}
		if first || i == len(said)-1 {
			if found, sure := words.Language(sample); sure || !first {
				return supported(found), err
			}
		}
	}
	return DefaultLanguage, err
}

// spokenIn returns the agent with the language it uses in a conversation.
func (a Agent) spokenIn(ctx context.Context, records *store.Conversation) (Agent, error) {
	code, err := languageIn(ctx, records, a.Language)
	a.Language, a.detects = code, a.Language == autoLanguage
	return a, err
}

// redetectLanguage reopens the conversation if its messages now show another language: before its first answers,
// and after summaries have replaced messages. Only the child calls it, between turns.
func (c *conversation) redetectLanguage(ctx context.Context) error {
	if !c.agent.detects {
		return nil
	}
	now, err := languageIn(ctx, c.records, autoLanguage)
	if err == nil && now != c.agent.Language {
		_, err = c.load(ctx)
	}
	return err
}

// The bot's own sentences are English in the code, and translated when they go out. sentences/ has a file for each
// language, from the English sentences, with verbs for values, to their translations; "command: compact" is
// Discord's name for /compact, and "kind: leaf" a Word. A sentence that is not in the file stays English.

//go:embed sentences/*.json
var sentenceFiles embed.FS

// translations are the sentences of a language: all by their English text, and patterns of those with verbs.
type translations struct {
	whole    map[string]string
	patterns []pattern
}

// pattern matches an English sentence with values in place of its verbs.
type pattern struct {
	english *regexp.Regexp
	text    string // the translation
}

var verb = regexp.MustCompile(`%[dqs]`)

// byLanguage has the sentences by code of language, read when first used; none are English.
var byLanguage = func() map[string]func() translations {
	all := map[string]func() translations{}
	for _, code := range prompts.Languages {
		all[code] = sync.OnceValue(func() translations { return readTranslations(code) })
	}
	delete(all, prompts.English)
	return all
}()

func translationsInto(language string) (t translations) {
	if read := byLanguage[language]; read != nil {
		t = read()
	}
	return t
}

// readTranslations reads the file of a language. It is part of the program; a broken one is a panic.
func readTranslations(language string) (t translations) {
	text, err := sentenceFiles.ReadFile("sentences/" + language + ".json")
	if err == nil {
		err = json.Unmarshal(text, &t.whole)
	}
	if err != nil {
		panic(err)
	}
	letters := func(english string) int { return len(verb.ReplaceAllString(english, "")) }
	byLetters := func(a, b string) int { return cmp.Or(cmp.Compare(letters(b), letters(a)), cmp.Compare(a, b)) }
	for _, english := range slices.SortedFunc(maps.Keys(t.whole), byLetters) { // a text may match several: the closest pattern counts
		expression := verb.ReplaceAllStringFunc(regexp.QuoteMeta(english), func(v string) string {
			return map[string]string{"%d": `(\d+)`, "%q": `(".*")`, "%s": `(.+?)`}[v]
		})
		if expression != regexp.QuoteMeta(english) {
			t.patterns = append(t.patterns, pattern{regexp.MustCompile("(?s)^" + expression + "$"), t.whole[english]})
		}
	}
	return t
}

// Translated translates one of the bot's English sentences into a language, one of Languages; the
// values filled in may be sentences too. A sentence without a translation stays English.
func Translated(language, text string) string {
	t := translationsInto(language)
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

func (c *conversation) translated(text string) string { return Translated(c.language(), text) }

// Sayf is fmt.Sprintf with format translated into a language; args stay unchanged.
func Sayf(language, format string, args ...any) string {
	return fmt.Sprintf(translatedFormat(language, format), args...)
}

// Word translates one of Cairn's own words, such as a kind of summaries: one word may need different translations. What has
// no translation stays as it is.
func Word(language, of, name string) string {
	key := of + ": " + name
	if there := Translated(language, key); there != key {
		return there
	}
	return name
}

func (c *conversation) word(of, name string) string { return Word(c.language(), of, name) }

// count translates a number of things.
func count(language string, n int, one, more string) string {
	return Translated(language, chat.Counted(n, one, more))
}

// translatedFormat translates a format. The verbs of a translation are %s, here they become fit for any value.
func translatedFormat(language, format string) string {
	there, ok := translationsInto(language).whole[format]
	if !ok || strings.Contains(format, "%q") {
		return format
	}
	return strings.ReplaceAll(strings.ReplaceAll(there, "%s", "%v"), "]s", "]v")
}
