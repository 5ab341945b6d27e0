// Messages are converted from Discord's form to the hub's: markup and ids to plain text; files are described,
// and text and pictures fetched.

package discord

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
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

// inbound converts a message. ok is false for system messages, the bot's own messages, and messages without readable content.
func (d *Discord) inbound(m message, p place) (in channel.Inbound, ok bool) {
	me := d.state.self()
	if m.ID == "" || m.Author == nil || m.Author.ID == "" || m.Author.ID == me.ID || !m.isChat() {
		return in, false
	}
	in = channel.Inbound{
		ID: m.ID, AuthorID: cmp.Or(m.WebhookID, m.Author.ID), Author: m.Author.name(p.Guild, m.Member), Time: timeOf(m.ID),
		Bot: m.Author.Bot || m.WebhookID != "", Thread: p.Parent != "",
		Addressed: p.Guild == "" || d.addresses(m, p, me),
	}
	if t, err := time.Parse(time.RFC3339, m.Timestamp); err == nil {
		in.Time = t
	}
	in.Text = d.textOf(m, p.Guild, me, in.Bot)
	files := m.Attachments
	for _, s := range m.Snapshots {
		files = slices.Concat(files, s.Message.Attachments)
	}
	for _, f := range files {
		a := channel.Attachment{Kind: platform.KindOf(f.ContentType), Name: f.Filename, Size: f.Size, URL: f.URL, Caption: f.Description}
		a.Type, _, _ = strings.Cut(f.ContentType, ";")
		in.Incomplete = in.Incomplete || d.files.Wanted(a)
		in.Attachments = append(in.Attachments, a)
	}
	if in.Text == "" && len(in.Attachments) == 0 {
		return in, false // nothing is readable, e.g. without the message content intent
	}
	if m.Reference != nil && m.Reference.Type == discordgo.MessageReferenceTypeDefault {
		in.ReplyTo = m.Reference.MessageID
	}
	if to := m.Referenced; to != nil && to.Author != nil {
		file := ""
		if len(to.Attachments) > 0 {
			file = to.Attachments[0].Filename
		}
		in.Quote = platform.Quote(to.Author.name(p.Guild, to.Member), d.textOf(*to, p.Guild, me, to.Author.Bot), file)
	}
	return in, true
}

func (d *Discord) addresses(m message, p place, me self) bool {
	named := func(u mentioned) bool { return u.ID == me.ID } // or in the text, where a server tells no mentions
	own := m.Referenced != nil && m.Referenced.Author != nil && m.Referenced.Author.ID == me.ID
	// Discord may leave out the message that a reply refers to (Message: Message Structure).
	if to := m.Reference; to != nil && to.Type == discordgo.MessageReferenceTypeDefault && m.Referenced == nil {
		_, own = d.own.Find(to.MessageID)
	}
	return own || slices.ContainsFunc(m.Mentions, named) || strings.Contains(m.text(), "<@"+me.ID+">") ||
		strings.Contains(m.text(), "<@!"+me.ID+">") || d.state.guild(p.Guild).hasRole(m.Roles)
}

const completeTimeout = 10 * time.Second

// Complete fetches the files of a message. A file that cannot be fetched stays described.
func (d *Discord) Complete(ctx context.Context, _ string, m channel.Inbound) (_ channel.Inbound, err error) {
	ctx, cancel := context.WithTimeout(ctx, completeTimeout)
	defer cancel()
	m.Attachments, err = d.files.Complete(ctx, m.Attachments)
	m.Incomplete = err != nil
	return m, err
}

// fetch reads a file; nothing if it is not available. Its URL is signed, so the token is not sent.
func (d *Discord) fetch(ctx context.Context, address string) ([]byte, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	q.Header.Set("User-Agent", userAgent)
	resp, err := d.rest.client.Do(q)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
		return nil, fmt.Errorf("HTTP %d", resp.StatusCode)
	case resp.StatusCode != http.StatusOK:
		return nil, nil
	}
	return io.ReadAll(resp.Body)
}

// markup matches what Discord shows as something else, such as mentions (Discord, Reference: Message Formatting).
var markup = regexp.MustCompile(`<(@!?|@&|#)(\d+)>|<a?(:\w+:)\d+>|<t:(-?\d+)(?::[a-zA-Z])?>|<(/[^:<>]+):\d+>`)

// textOf returns a message as plain text: the title of a forum's post, its content with names instead of ids, then in
// brackets its stickers, poll and the messages it forwards, and then what an app built it of.
func (d *Discord) textOf(m message, guild string, me self, program bool) string {
	said := d.replaceIDs(d.stripMentions(m.text(), guild, me), m, guild, me)
	title := ""
	if post := d.state.place(m.ID); m.ID == m.ChannelID && post.Name != "" && !command.Is(said) { // the first message of a post has the post's id
		title = "[post: " + post.Name + "]"
	}
	parts := []string{title, said}
	for _, s := range m.Snapshots { // they do not say whether a program wrote them
		parts = append(parts, "[forwarded] "+d.textOf(s.Message, guild, me, true))
	}
	for _, s := range m.Stickers {
		parts = append(parts, "[sticker: "+s.Name+"]")
	}
	if p := m.Poll; p != nil {
		var answers []string
		for _, a := range p.Answers {
			answers = append(answers, a.Media.Text)
		}
		parts = append(parts, fmt.Sprintf("[poll: %s — %s]", p.Question.Text, strings.Join(answers, " / ")))
	}
	if program { // the embeds of people are previews of links
		parts = append(parts, d.replaceIDs(withoutRepetition(said, appParts(m)), m, guild, me))
	}
	return lines(parts)
}

// lines joins the texts that are not blank.
func lines(texts []string) string {
	for i, t := range texts {
		texts[i] = strings.TrimSpace(t)
	}
	return strings.Join(slices.DeleteFunc(texts, func(t string) bool { return t == "" }), "\n")
}

var leadingMention = regexp.MustCompile(`^<@(!?|&)(\d+)>[ ,:\n]*`)

// stripMentions removes mentions of the bot from the start of a text, unless there is nothing else. A
// mention of one of its roles goes only before a command: it may be about more than the bot.
func (d *Discord) stripMentions(text, guild string, me self) string {
	text = strings.TrimSpace(text)
	rest := text
	role := false
	for {
		m := leadingMention.FindStringSubmatch(rest)
		if m == nil || m[0] == rest || m[2] != me.ID && (m[1] != "&" || !d.state.guild(guild).hasRole(m[2:])) {
			return text
		}
		role = role || m[1] == "&"
		rest = rest[len(m[0]):]
		if !role || command.Is(rest) {
			text = rest
		}
	}
}

// replaceIDs replaces the markup in a text with what people see, such as names for ids.
func (d *Discord) replaceIDs(text string, m message, guild string, me self) string {
	return markup.ReplaceAllStringFunc(text, func(found string) string {
		part := markup.FindStringSubmatch(found)
		switch kind, id := part[1], part[2]; {
		case kind == "@" || kind == "@!":
			return "@" + d.userName(id, m, guild, me)
		case kind == "@&":
			return "@" + cmp.Or(d.state.guild(guild).role(id).Name, "unknown role")
		case kind == "#":
			return "#" + cmp.Or(d.state.place(id).Name, "unknown channel")
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

func (d *Discord) userName(id string, m message, guild string, me self) string {
	for _, u := range append(m.Mentions, mentioned{user: me.user}) {
		if u.ID == id {
			return u.name(guild, u.Member)
		}
	}
	return "unknown"
}
