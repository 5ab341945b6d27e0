// Messages are converted from Discord's form to the hub's.

package discord

import (
	"slices"
	"strings"

	"cairn/channel"
	"cairn/internal/platform"
)

// inbound converts a message. ok is false for system messages, the bot's own messages, and messages
// without readable content.
func (d *Discord) inbound(m message, p place) (in channel.Inbound, ok bool) {
	me, _ := d.state.self()
	if m.ID == "" || m.Author == nil || m.Author.ID == "" || m.Author.ID == me.ID || !m.isChat() {
		return in, false
	}
	in = channel.Inbound{
		ID: m.ID, AuthorID: m.Author.ID, Author: nameIn(p.Guild, *m.Author, m.Member), Time: m.sentAt(),
		Bot: m.Author.Bot || m.WebhookID != "", Thread: p.Parent != "",
		Addressed: p.Guild == "" || d.addresses(m, p, me),
	}
	if m.WebhookID != "" {
		in.AuthorID = m.WebhookID
	}
	in.Text = d.textOf(m, p.Guild, me, in.Bot)
	d.attach(&in, m)
	if in.Text == "" && len(in.Attachments) == 0 {
		return in, false // nothing is readable, e.g. without the message content intent
	}
	if m.Reference != nil && m.Reference.Type == 0 {
		in.ReplyTo = m.Reference.MessageID
	}
	if to := m.Referenced; to != nil && to.Author != nil {
		in.Quote = d.quote(*to, p.Guild, me)
	}
	return in, true
}

// addresses reports whether a message in a server is addressed to the bot.
func (d *Discord) addresses(m message, p place, me user) bool {
	if slices.ContainsFunc(m.Mentions, func(u mentioned) bool { return u.ID == me.ID }) || mentions(m.text(), me.ID) {
		return true
	}
	if to := m.Referenced; to != nil && to.Author != nil && to.Author.ID == me.ID {
		return true
	}
	// Discord may leave out the message that a reply refers to (Message: Message Structure).
	if to := m.Reference; to != nil && to.Type == 0 && m.Referenced == nil {
		if _, own := d.own.Find(to.MessageID); own {
			return true
		}
	}
	return d.state.guild(p.Guild).hasRole(m.Roles)
}

// nameIn returns the display name of a user in a server, or in direct messages if guild is empty.
func nameIn(guild string, u user, m *member) string {
	if guild == "" {
		m = nil
	}
	return u.name(m)
}

// quote returns what a reply to a message quotes.
func (d *Discord) quote(m message, guild string, me user) string {
	file := ""
	if files := m.files(); len(files) > 0 {
		file = files[0].Filename
	}
	return platform.Quote(nameIn(guild, *m.Author, m.Member), d.textOf(m, guild, me, m.Author.Bot), file)
}

// attach adds descriptions of the files of a message, and of the messages that it forwards.
func (d *Discord) attach(in *channel.Inbound, m message) {
	files := slices.Clone(m.files())
	for _, s := range m.Snapshots {
		files = append(files, s.Message.files()...)
	}
	in.Attachments = slices.Grow(in.Attachments, len(files))[:len(files)]
	for i, f := range files {
		a := &in.Attachments[i]
		a.Kind, a.Name, a.Size, a.URL, a.Caption = platform.KindOf(f.ContentType), f.Filename, f.Size, f.URL, f.Description
		a.Type, _, _ = strings.Cut(f.ContentType, ";")
		in.Incomplete = in.Incomplete || d.files.Wanted(*a)
	}
}
