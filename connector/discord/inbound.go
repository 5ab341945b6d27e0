// Messages are converted from Discord's form to the hub's: markup and ids to plain text; files are described.

package discord

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/channel/command"
	"cairn/connector/platform"
)

// translator converts messages from Discord's form to the hub's.
type translator struct {
	base    *platform.Base
	state   *stateCache
	files   *platform.Files
	fromBot platform.Cache // messages of the bot
	drafts  drafts
}

// noteFromBot notes that the bot wrote a message: people may reply to it.
func (t *translator) noteFromBot(id string) { t.fromBot.Set(id, "") }

// inbound converts a message. ok is false for system messages, the bot's messages, and messages without readable content.
func (t *translator) inbound(m message, p place) (in channel.Inbound, ok bool) {
	me := t.state.self()
	if m.ID == "" || m.Author == nil || m.Author.ID == "" || m.Author.ID == me.ID || !m.isChat() {
		return in, false
	}
	in = channel.Inbound{
		ID: m.ID, AuthorID: cmp.Or(m.WebhookID, m.Author.ID), Author: m.Author.name(p.Guild, m.Member), Time: timeOf(m.ID),
		Bot: m.Author.Bot || m.WebhookID != "", Thread: p.Parent != "",
	}
	in.Addressed = m.Type != pollEnded && (p.Guild == "" || t.addresses(m, p, me) || !in.Bot && t.followsAnswer(m, p, me))
	if at, err := time.Parse(time.RFC3339, m.Timestamp); err == nil {
		in.Time = at
	}
	in.Text = t.textOf(m, p.Guild, me, in.Bot)
	in.Attachments = m.files()
	in.Incomplete = slices.ContainsFunc(in.Attachments, t.files.Wanted)
	if in.Text == "" && len(in.Attachments) == 0 {
		return in, false // nothing is readable, e.g. without the message content intent
	}
	if m.Reference != nil && m.Reference.Type == discordgo.MessageReferenceTypeDefault {
		in.ReplyTo = m.Reference.MessageID
		in.Steers = t.drafts.has(in.ReplyTo)
	}
	if to := m.Referenced; to != nil && to.Author != nil {
		file := ""
		if len(to.Attachments) > 0 {
			file = to.Attachments[0].Filename
		}
		in.Quote = platform.Quote(to.Author.name(p.Guild, to.Member), t.textOf(*to, p.Guild, me, to.Author.Bot), file)
	}
	return in, true
}

func (t *translator) addresses(m message, p place, me self) bool {
	named := func(u mentioned) bool { return u.ID == me.ID } // or in the text, where a server tells no mentions
	toBot := m.Referenced != nil && m.Referenced.Author != nil && m.Referenced.Author.ID == me.ID
	// Discord may leave out the message that a reply refers to (Message: Message Structure).
	if to := m.Reference; to != nil && to.Type == discordgo.MessageReferenceTypeDefault && m.Referenced == nil {
		_, toBot = t.fromBot.Find(to.MessageID)
	}
	return toBot || slices.ContainsFunc(m.Mentions, named) || strings.Contains(m.text(), "<@"+me.ID+">") ||
		strings.Contains(m.text(), "<@!"+me.ID+">") || t.state.guild(p.Guild).hasRole(m.Roles)
}

// markup matches what Discord shows as something else, such as mentions (Discord, Reference: Message Formatting).
var markup = regexp.MustCompile(`<(@!?|@&|#)(\d+)>|<a?(:\w+:)\d+>|<t:(-?\d+)(?::[a-zA-Z])?>|<(/[^:<>]+):\d+>`)

// textOf returns a message as plain text: the title of a forum's post, its content with names instead of ids, then in
// brackets its stickers, its poll or the end of one, and the messages it forwards, and then what an app built it of.
func (t *translator) textOf(m message, guild string, me self, program bool) string {
	text := t.replaceIDs(t.stripMentions(m.text(), guild, me), m, guild, me)
	title := ""
	if post := t.state.place(m.ID); m.ID == m.ChannelID && post.Name != "" && !isCommand(text) { // the first message of a post has the post's id
		title = "[post: " + post.Name + "]"
	}
	parts := []string{title, text}
	for _, s := range m.Snapshots { // they do not say whether a program wrote them
		parts = append(parts, "[forwarded] "+t.textOf(s.Message, guild, me, true))
	}
	for _, s := range m.Stickers {
		parts = append(parts, "[sticker: "+s.Name+"]")
	}
	parts = append(parts, m.Poll.text(), m.pollResult())
	if program { // the embeds of people are previews of links
		parts = append(parts, t.replaceIDs(withoutRepetition(text, appParts(m)), m, guild, me))
	}
	return lines(parts)
}

// lines joins the texts that are not blank.
func lines(texts []string) string {
	for i, text := range texts {
		texts[i] = strings.TrimSpace(text)
	}
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), "\n")
}

var leadingMention = regexp.MustCompile(`^<@(!?|&)(\d+)>[ ,:\n]*`)

// stripMentions removes mentions of the bot from the start of a text, unless there is nothing else. A
// mention of one of its roles goes only before a command: it may be about more than the bot.
func (t *translator) stripMentions(text, guild string, me self) string {
	text = strings.TrimSpace(text)
	rest := text
	role := false
	for {
		m := leadingMention.FindStringSubmatch(rest)
		if m == nil || m[0] == rest || m[2] != me.ID && (m[1] != "&" || !t.state.guild(guild).hasRole(m[2:])) {
			return text
		}
		role = role || m[1] == "&"
		rest = rest[len(m[0]):]
		if !role || isCommand(rest) {
			text = rest
		}
	}
}

// isCommand reports whether a text begins with a command, also with one whose text is a message.
func isCommand(text string) bool {
	_, _, ok := command.Parse(text)
	return ok
}

// replaceIDs replaces the markup in a text with what people see, such as names for ids.
func (t *translator) replaceIDs(text string, m message, guild string, me self) string {
	return markup.ReplaceAllStringFunc(text, func(found string) string {
		part := markup.FindStringSubmatch(found)
		switch kind, id := part[1], part[2]; {
		case kind == "@" || kind == "@!":
			return "@" + t.userName(id, m, guild, me)
		case kind == "@&":
			return "@" + cmp.Or(t.state.guild(guild).role(id).Name, "unknown role")
		case kind == "#":
			return "#" + cmp.Or(t.state.place(id).Name, "unknown channel")
		case part[3] != "":
			return part[3]
		case part[4] != "":
			unix, _ := strconv.ParseInt(part[4], 10, 64) // markup matches digits only
			return time.Unix(unix, 0).Local().Format("2 January 2006 15:04 MST")
		default:
			return part[5]
		}
	})
}

func (t *translator) userName(id string, m message, guild string, me self) string {
	for _, u := range append(m.Mentions, mentioned{user: me.user}) {
		if u.ID == id {
			return u.name(guild, u.Member)
		}
	}
	return "unknown"
}
