// Slack's markup is converted to plain text on the way in, and made harmless and split on the way out.

package slack

import (
	"cmp"
	"regexp"
	"strings"
	"unicode/utf8"

	"cairn/internal/platform"
)

// token matches a control sequence in angle brackets. Slack escapes what people type, so every match comes from Slack.
var token = regexp.MustCompile(`<([^<>\n]*)>`)

var entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

func (s *Slack) mentionsBot(raw string) bool {
	return strings.Contains(raw, "<@"+s.self.user+">") || strings.Contains(raw, "<@"+s.self.user+"|")
}

var leadingMention = regexp.MustCompile(`^\s*<@(\w+)(?:\|[^>]*)?>[ ,:]*`)

// withoutMention removes a mention of the bot from the start of a text, unless there is nothing else.
func (s *Slack) withoutMention(raw string) string {
	m := leadingMention.FindStringSubmatch(raw)
	if m == nil || m[1] != s.self.user {
		return raw
	}
	return cmp.Or(strings.TrimSpace(raw[len(m[0]):]), strings.TrimSpace(raw))
}

// plainText converts a raw text. known is false if a name is not cached: its <@U1> or <#C1> stays, for Complete to resolve.
func (s *Slack) plainText(raw string) (text string, known bool) {
	known = true
	var b strings.Builder
	last := 0
	for _, at := range token.FindAllStringSubmatchIndex(raw, -1) {
		b.WriteString(entities.Replace(raw[last:at[0]]))
		shown, ok := s.tokenText(raw[at[2]:at[3]])
		b.WriteString(shown)
		known = known && ok
		last = at[1]
	}
	b.WriteString(entities.Replace(raw[last:]))
	return b.String(), known
}

func (s *Slack) tokenText(inside string) (text string, known bool) {
	target, label, _ := strings.Cut(inside, "|")
	label = entities.Replace(label)
	switch {
	case strings.HasPrefix(target, "@"), strings.HasPrefix(target, "#"):
		return s.nameFor(target[:1], target[1:], label)
	case strings.HasPrefix(target, "!subteam^"):
		return "@" + strings.TrimPrefix(cmp.Or(label, strings.TrimPrefix(target, "!subteam^")), "@"), true
	case strings.HasPrefix(target, "!date^"):
		return label, true
	case strings.HasPrefix(target, "!"):
		return "@" + strings.TrimPrefix(cmp.Or(label, target[1:]), "@"), true
	}
	address := strings.TrimPrefix(entities.Replace(target), "mailto:")
	if strings.HasSuffix(strings.TrimSuffix(address, "/"), strings.TrimSuffix(label, "/")) { // or there is no label
		return address, true
	}
	return label + " (" + address + ")", true
}

// nameFor returns the name of a person (@) or a channel (#); known is false if it is not cached.
func (s *Slack) nameFor(sign, id, label string) (text string, known bool) {
	if id == s.self.user {
		return "@" + s.self.name, true
	}
	if name, ok := s.nameOf(id); ok {
		return sign + name, true
	}
	if label != "" {
		return sign + strings.TrimLeft(label, "@#"), true
	}
	return "<" + sign + id + ">", false
}

// Mentions that notify people: of one person or a group as control sequences, escaped or not, and
// of a group as a plain word. plainMention also matches e-mail addresses, in which such a word is none.
var (
	userMention  = regexp.MustCompile(`(<|&lt;)@([UW][A-Z0-9])`)
	groupMention = regexp.MustCompile(`(?i)(<|&lt;)!(channel|here|everyone|group|subteam)`)
	plainMention = regexp.MustCompile(`(?i)\w@[\w-]+\.\w|@(channel|here|everyone)`)
)

// wordJoiner is an invisible character that, inserted into a mention, keeps Slack from recognizing it.
const wordJoiner = "\u2060"

// defuseMentions makes the mentions in a model's text harmless, because people may have prompted it to write them.
func defuseMentions(text string) string {
	if !strings.ContainsAny(text, "!@") {
		return text
	}
	text = groupMention.ReplaceAllString(text, "$1!"+wordJoiner+"$2")
	text = userMention.ReplaceAllString(text, "$1@"+wordJoiner+"$2")
	return plainMention.ReplaceAllStringFunc(text, func(found string) string {
		if found[0] != '@' { // an address: people copy it
			return found
		}
		return "@" + wordJoiner + found[1:]
	})
}

var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// escape escapes a text so that Slack shows it literally.
func escape(text string) string { return escapes.Replace(defuseMentions(text)) }

// Splitters, with limits in UTF-16 units, which are at least as many as characters.
var (
	messages = platform.Splitter{Limit: 4_000, Cost: cost} // as Slack recommends; an edit without Markdown may have no more
	section  = platform.Splitter{Limit: 3_000, Cost: cost} // a section
)

// Split splits a reply into messages that Slack accepts.
func (s *Slack) Split(text string) []string { return messages.Texts(text, "") }

// cost returns the most units that a character takes when it is sent: see escape and defuseMentions.
func cost(r rune) int {
	switch {
	case r == '&':
		return 5
	case r == '<', r == '>':
		return 4
	case r == '@', r == '!', r > 0xFFFF:
		return 2
	}
	return 1
}

// blockCost returns about how many bytes a character takes in the JSON of a block.
func blockCost(r rune) int {
	switch r {
	case '&', '<', '>': // written as \u0026amp; and the like
		return 10
	case '@', '!': // see defuseMentions
		return 1 + len(wordJoiner)
	case '"', '\\', '\n', '\t':
		return 2
	}
	return utf8.RuneLen(r)
}
