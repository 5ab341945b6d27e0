// Texts: Slack's markup becomes plain text on the way in, with names of people and channels, and harmless on the way out,
// where it is split. Messages are completed with the names, quotes and files that events leave out.

package slack

import (
	"bytes"
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

// plainText converts a raw text. If a name is not cached, its <@U1> or <#C1> stays, for Complete to resolve.
func (s *Slack) plainText(raw string) string {
	var b strings.Builder
	last := 0
	for _, at := range token.FindAllStringSubmatchIndex(raw, -1) {
		b.WriteString(entities.Replace(raw[last:at[0]]))
		b.WriteString(s.tokenText(raw[at[2]:at[3]]))
		last = at[1]
	}
	b.WriteString(entities.Replace(raw[last:]))
	return b.String()
}

func (s *Slack) tokenText(inside string) string {
	target, label, _ := strings.Cut(inside, "|")
	label = entities.Replace(label)
	switch {
	case strings.HasPrefix(target, "@"), strings.HasPrefix(target, "#"):
		if name := cmp.Or(s.nameOf(target[1:]), strings.TrimLeft(label, "@#")); name != "" {
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

// Split splits a reply into messages that Slack accepts.
func (s *Slack) Split(text string) []string { return messages.Texts(markdown.Convert(text), "") }

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

// label returns the display name of a place, from the cache: that of the author in direct messages; empty if unknown.
func (s *Slack) label(place chat.Place, author string) string {
	if place.Direct() {
		return author
	}
	name := s.nameOf(place.Channel)
	switch {
	case name == "" || name == place.Channel: // it could not be looked up
		return ""
	case place.Thread != "":
		return chat.PlaceLabel("thread", name, s.self.workspace)
	}
	return chat.PlaceLabel("", name, s.self.workspace)
}

// unresolvedName matches the id of a name that was not cached when the message arrived.
var unresolvedName = regexp.MustCompile(`<[@#][A-Z0-9]+>`)

// Complete adds what an event leaves out: names, a quote of the message at the top of the thread, and contents of files.
func (s *Slack) Complete(ctx context.Context, conversation string, m channel.Inbound) (channel.Inbound, error) {
	if err := s.Work.Wait(ctx); err != nil {
		return m, err
	}
	limited, cancel := context.WithTimeout(ctx, s.times.complete)
	defer cancel()
	awaited := limited // nobody waits for what is overheard, unless somebody asks something after it
	if !m.Addressed {
		awaited = background(limited, channel.Awaited(ctx))
		limited = background(limited, nil)
	}
	place := chat.ParsePlace(conversation)
	if isNameless(m) {
		m.Author = s.lookUp(limited, m.AuthorID)
	}
	m.Text = s.resolveNames(limited, m.Text)
	if !place.Direct() {
		s.lookUp(limited, place.Channel)
	}
	if m.Author != m.AuthorID {
		m.Label = s.label(place, m.Author)
	}
	if m.Quote == "" && m.ReplyTo != "" && m.ReplyTo == place.Thread {
		m.Quote = s.quote(awaited, place)
	}
	var err error
	m.Attachments, err = s.files.Complete(limited, m.Attachments)
	if err != nil { // files without contents stay described
		s.Log.Debug("read_file_failed", "error", err)
	}
	m.Incomplete = false
	return m, ctx.Err()
}

// isNameless reports whether the name of a message's author has to be looked up. Apps have no other name than in the message.
func isNameless(m channel.Inbound) bool {
	return m.Author == m.AuthorID && !strings.HasPrefix(m.AuthorID, "B")
}

// resolveNames replaces the ids that plainText left with names.
func (s *Slack) resolveNames(ctx context.Context, text string) string {
	return unresolvedName.ReplaceAllStringFunc(text, func(found string) string {
		return found[1:2] + s.lookUp(ctx, found[2:len(found)-1])
	})
}

// quote returns what a reply to the message at the top of a thread quotes; empty if that cannot be read.
func (s *Slack) quote(ctx context.Context, place chat.Place) string {
	found, err := s.page(ctx, place, span{Limit: 1})
	if err != nil || len(found.messages) == 0 {
		return ""
	}
	root := found.messages[0]
	if root.TS != place.Thread || root.SubType == "tombstone" {
		return ""
	}
	file := ""
	if len(root.Files) > 0 {
		file = attachments(root.Files)[0].Name
	}
	name := s.authorName(root)
	if name == root.User {
		name = s.lookUp(ctx, root.User)
	}
	return platform.Quote(name, s.resolveNames(ctx, s.plainText(withForwarded(root))), file)
}

// fetch reads a file. slack-go and sameHost keep the token from other hosts.
func (s *Slack) fetch(ctx context.Context, address string) ([]byte, error) {
	var into bytes.Buffer
	err := s.api.read.GetFileContext(ctx, address, &into)
	return into.Bytes(), err
}
