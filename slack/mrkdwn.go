// Slack's markup: converted to plain text on the way in, made harmless on the way out.

package slack

import (
	"cmp"
	"regexp"
	"strings"
)

// token matches a control sequence in angle brackets. Slack escapes what people type, so each one
// is Slack's own.
var token = regexp.MustCompile(`<([^<>\n]*)>`)

var entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

// mentioned reports whether a raw text mentions the bot.
func (s *Slack) mentioned(raw string) bool {
	return strings.Contains(raw, "<@"+s.self.user+">") || strings.Contains(raw, "<@"+s.self.user+"|")
}

// withoutMention cuts the mention of the bot off the beginning.
func (s *Slack) withoutMention(raw string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(raw), "<@"+s.self.user)
	if !ok {
		return raw
	}
	label, rest, ok := strings.Cut(rest, ">")
	if !ok || label != "" && label[0] != '|' {
		return raw
	}
	if rest = strings.TrimSpace(strings.TrimLeft(rest, " ,:")); rest == "" {
		return strings.TrimSpace(raw) // it is all that was said
	}
	return rest
}

// plainWords converts a raw text to plain text. known is false if a name is not cached: it stays
// <@U1> or <#C1>, for Complete.
func (s *Slack) plainWords(raw string) (text string, known bool) {
	known = true
	var b strings.Builder
	last := 0
	for _, at := range token.FindAllStringSubmatchIndex(raw, -1) {
		b.WriteString(entities.Replace(raw[last:at[0]]))
		words, ok := s.word(raw[at[2]:at[3]])
		b.WriteString(words)
		known = known && ok
		last = at[1]
	}
	b.WriteString(entities.Replace(raw[last:]))
	return b.String(), known
}

// word returns the text that people see for a token.
func (s *Slack) word(inside string) (words string, known bool) {
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
	address := entities.Replace(target)
	bare := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(address, "mailto:"), "https://"), "http://")
	switch {
	case label == "":
		return strings.TrimPrefix(address, "mailto:"), true
	case label == address, label == bare, label == strings.TrimSuffix(bare, "/"):
		if strings.HasPrefix(address, "mailto:") {
			return label, true
		}
		return address, true
	}
	return label + " (" + address + ")", true
}

// nameFor returns the name of a person (@) or a channel (#).
func (s *Slack) nameFor(sign, id, label string) (words string, known bool) {
	if id == s.self.user {
		return "@" + s.self.name, true
	}
	if name, ok := s.names.find(id); ok {
		return sign + name, true
	}
	if label != "" {
		return sign + strings.TrimLeft(label, "@#"), true
	}
	return "<" + sign + id + ">", false
}

// The calls to everybody, as control sequences, escaped ones too, and as words, and
// those to one person.
var (
	somebody      = regexp.MustCompile(`(<|&lt;)@([UW][A-Z0-9])`)
	everybody     = regexp.MustCompile(`(?i)(<|&lt;)!(channel|here|everyone|group|subteam)`)
	everybodyWord = regexp.MustCompile(`(?i)@(channel|here|everyone)`)
)

// joiner has no width. Inserted into a mention, it keeps Slack from recognizing it.
const joiner = "\u2060"

// defuseMentions makes mentions in a text of the model harmless: people may have asked it for them.
func defuseMentions(text string) string {
	if !strings.ContainsAny(text, "!@") {
		return text
	}
	text = everybody.ReplaceAllString(text, "$1!"+joiner+"$2")
	text = somebody.ReplaceAllString(text, "$1@"+joiner+"$2")
	return everybodyWord.ReplaceAllString(text, "@"+joiner+"$1")
}

var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// escaped escapes a text so that Slack shows it literally.
func escaped(text string) string { return escapes.Replace(defuseMentions(text)) }
