// Texts: Slack's markup becomes plain text on the way in, with names of people and channels, and harmless on the way out,
// where it is split.

package slack

import (
	"cmp"
	"context"
	"regexp"
	"strings"

	"cairn/channel"
	"cairn/chat"
	"cairn/connector/platform"
)

// token matches a control sequence in angle brackets. Slack escapes what people type, so every match comes from Slack.
var token = regexp.MustCompile(`<([^<>\n]*)>`)

var entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

func (me *self) mentionsBot(raw string) bool {
	return strings.Contains(raw, "<@"+me.user+">") || strings.Contains(raw, "<@"+me.user+"|")
}

var leadingMention = regexp.MustCompile(`^\s*<@(\w+)(?:\|[^>]*)?>[ ,:]*`)

// withoutMention removes a mention of the bot from the start of a text, unless there is nothing else.
func (me *self) withoutMention(raw string) string {
	m := leadingMention.FindStringSubmatch(raw)
	if m == nil || m[1] != me.user {
		return raw
	}
	return cmp.Or(strings.TrimSpace(raw[len(m[0]):]), strings.TrimSpace(raw))
}

// plainText converts a raw text. If a name is not cached, its <@U1> or <#C1> stays, for Complete to resolve.
func (n *names) plainText(raw string) string {
	var b strings.Builder
	last := 0
	for _, at := range token.FindAllStringSubmatchIndex(raw, -1) {
		b.WriteString(entities.Replace(raw[last:at[0]]))
		b.WriteString(n.tokenText(raw[at[2]:at[3]]))
		last = at[1]
	}
	b.WriteString(entities.Replace(raw[last:]))
	return b.String()
}

func (n *names) tokenText(inside string) string {
	target, label, _ := strings.Cut(inside, "|")
	label = entities.Replace(label)
	switch {
	case strings.HasPrefix(target, "@"), strings.HasPrefix(target, "#"):
		if name := cmp.Or(n.nameOf(target[1:]), strings.TrimLeft(label, "@#")); name != "" {
			return target[:1] + name
		}
		return "<" + target + ">"
	case strings.HasPrefix(target, "!subteam^"):
		return "@" + strings.TrimPrefix(cmp.Or(label, strings.TrimPrefix(target, "!subteam^")), "@")
	case strings.HasPrefix(target, "!date^"):
		return label
	case strings.HasPrefix(target, "!"):
		return "@" + strings.TrimPrefix(cmp.Or(label, target[1:]), "@")
	}
	address := strings.TrimPrefix(entities.Replace(target), "mailto:")
	if strings.HasSuffix(strings.TrimSuffix(address, "/"), strings.TrimSuffix(label, "/")) { // or there is no label
		return address
	}
	return label + " (" + address + ")"
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

// markdown is what Slack knows of it (reference/block-kit/blocks/markdown-block).
var markdown = platform.Markdown{Tables: true, Headings: true, Tasks: true}

// split splits a reply into messages that Slack accepts.
func split(text string) []string { return messages.Texts(markdown.Convert(text), "") }

// cost returns the maximum number of units that a character takes when it is sent: see escape and defuseMentions.
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

// label returns the display name of a place, from the cache: that of the author in direct messages; empty if unknown.
func (n *names) label(place chat.Place, author string) string {
	if place.Direct() {
		return author
	}
	name := n.nameOf(place.Channel)
	switch {
	case name == "" || name == place.Channel: // it could not be looked up
		return ""
	case place.Thread != "":
		return chat.PlaceLabel("thread", name, n.self.workspace)
	}
	return chat.PlaceLabel("", name, n.self.workspace)
}

// unresolvedName matches the id of a name that was not cached when the message arrived.
var unresolvedName = regexp.MustCompile(`<[@#][A-Z0-9]+>`)

// isNameless reports whether the name of a message's author has to be looked up. Apps have no other name than in the message.
func isNameless(m channel.Inbound) bool {
	return m.Author == m.AuthorID && !strings.HasPrefix(m.AuthorID, "B")
}

// resolveNames replaces the ids that plainText left with names.
func (n *names) resolveNames(ctx context.Context, text string) string {
	return unresolvedName.ReplaceAllStringFunc(text, func(found string) string {
		return found[1:2] + n.lookUp(ctx, found[2:len(found)-1])
	})
}
