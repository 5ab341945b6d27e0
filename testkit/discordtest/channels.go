// The endpoints of channels: sending, editing, deleting and reading messages, and typing.

package discordtest

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"
)

func unknown(code int, what string) *apiError {
	return &apiError{status: http.StatusNotFound, code: code, message: "Unknown " + what}
}

func (w *world) channelOf(q query) *discordgo.Channel {
	c := w.channels[q.PathValue("channel")]
	refuseIf(c == nil, unknown(10003, "Channel"))
	refuseIf(!w.may(c, discordgo.PermissionViewChannel), &apiError{status: http.StatusForbidden, code: 50001, message: "Missing Access"})
	return c
}

func (w *world) messageOf(q query) *Message {
	c := w.channelOf(q)
	m := w.find(c.ID, q.PathValue("message"))
	refuseIf(m == nil || m.is(discordgo.MessageFlagsEphemeral), unknown(10008, "Message"))
	return m
}

// shown returns a message as REST shows it to the bot, without guild_id.
func (w *world) shown(m *Message) Message {
	return w.visibleTo(*m, w.options.Forbidden&discordgo.IntentMessageContent == 0)
}

// createMessage: Discord, Message: Create Message.
func (w *world) createMessage(q query) any {
	c := w.channelOf(q)
	p := w.parsePayload(q, false, allowAll)
	refuseIf(p.empty(), errEmpty)
	w.sendable(c, p)
	w.writable(c, false)
	if m := w.sameNonce(c, p); m != nil {
		return w.shown(m)
	}
	m := w.newMessage(c, w.bot, "")
	if r := p.Reference; r != nil {
		refuseIf(strings.Trim(r.MessageID, "0123456789") != "", invalid("message_reference", "NUMBER_TYPE_COERCE", "Value "+r.MessageID+" is not snowflake."))
		to := w.find(c.ID, r.MessageID)
		switch {
		case to != nil && !to.answerable():
			panic(invalid("message_reference", "REPLIES_CANNOT_REFERENCE_SYSTEM_MESSAGE", "Cannot reply to a system message").answer())
		case to != nil && (r.ChannelID == "" || r.ChannelID == c.ID):
			m.reply(to)
		case r.FailIfNotExists == nil || *r.FailIfNotExists:
			panic(invalid("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message").answer())
		}
	}
	m.Nonce = p.Nonce
	w.fill(m, p)
	if c.IsThread() && c.ThreadMetadata.Archived {
		w.archive(c, false, false)
	}
	w.post(m)
	return w.shown(m)
}

// answerable reports whether all see a message, and it is not a system message (Discord, Message: Create Message, Limitations).
func (m *Message) answerable() bool {
	return !m.is(discordgo.MessageFlagsEphemeral) && slices.Contains([]discordgo.MessageType{
		discordgo.MessageTypeDefault, discordgo.MessageTypeReply, discordgo.MessageTypeChatInputCommand,
	}, m.Type)
}

// sameNonce: enforce_nonce is "unique in the past few minutes" (Discord, Message: Create Message).
func (w *world) sameNonce(c *discordgo.Channel, p payload) *Message {
	if !p.Enforce || len(p.Nonce) == 0 || string(p.Nonce) == "null" {
		return nil
	}
	for _, m := range w.messages[c.ID] {
		recent := time.Since(m.Timestamp) < w.options.NonceLife
		if recent && m.Author.ID == w.bot.ID && string(m.Nonce) == string(p.Nonce) {
			return m
		}
	}
	return nil
}

// fill copies a valid payload into a new message.
func (w *world) fill(m *Message, p payload) {
	if p.Content != nil {
		m.Content = *p.Content
	}
	m.Components = append(m.Components, p.Components...)
	m.Flags = p.Flags
	m.mention(w, p.allow)
}

// change applies a valid payload to a message; fields that it lacks are unchanged (Discord, Message: Edit Message).
func (w *world) change(m *Message, p payload) {
	next := *m
	if p.Components != nil {
		next.Components = p.Components
	}
	if p.Content != nil {
		next.edit(*p.Content, w.now())
		next.mention(w, p.allow)
	}
	refuseIf(next.Content == "" && len(next.Embeds)+len(next.Components)+len(next.Attachments) == 0, errEmpty)
	*m = next
}

func (w *world) editMessage(q query) any {
	m := w.messageOf(q)
	refuseIf(m.Author.ID != w.bot.ID, &apiError{status: http.StatusForbidden, code: 50005, message: "Cannot edit a message authored by another user"})
	w.writable(w.channel(m.ChannelID), true)
	p := w.parsePayload(q, true, allowAll)
	w.change(m, p)
	w.dispatchMessage("MESSAGE_UPDATE", m)
	return w.shown(m)
}

// deleteMessage: others' messages require a permission that the bot does not have (Discord, Message: Delete Message).
func (w *world) deleteMessage(q query) any {
	m := w.messageOf(q)
	refuseIf(m.Author.ID != w.bot.ID, errPermission)
	w.deleted(m)
	return nil
}

// getMessage requires more than seeing the channel (Discord, Message: Get Channel Message).
func (w *world) getMessage(q query) any {
	refuseIf(!w.may(w.channelOf(q), discordgo.PermissionReadMessageHistory), errPermission)
	return w.shown(w.messageOf(q))
}

// getMessages returns the newest first, and none without permission (Discord, Message: Get Channel Messages).
func (w *world) getMessages(q query) any {
	c := w.channelOf(q)
	parameters := q.URL.Query()
	limit, err := strconv.Atoi(cmp.Or(parameters.Get("limit"), "50"))
	refuseIf(err != nil || limit < 1 || limit > 100, invalid("limit", "NUMBER_TYPE_RANGE", "int value should be between 1 and 100."))
	before := parameters.Get("before")
	after := parameters.Get("after")
	refuseIf(before != "" && after != "", invalid("after", "MUTUALLY_EXCLUSIVE", "Only one of before and after may be given."))
	at, err := strconv.ParseUint(cmp.Or(before, after, "0"), 10, 64)
	refuseIf(err != nil, invalid("before", "NUMBER_TYPE_COERCE", "Value is not snowflake."))
	found := []Message{}
	for _, m := range w.messages[c.ID] {
		id, _ := strconv.ParseUint(m.ID, 10, 64) // ids created here can be parsed
		asked := (before == "" || id < at) && (after == "" || id > at && len(found) < limit)
		if asked && !m.Deleted && !m.is(discordgo.MessageFlagsEphemeral) && w.may(c, discordgo.PermissionReadMessageHistory) {
			found = append(found, w.shown(m))
		}
	}
	found = found[max(0, len(found)-limit):]
	slices.Reverse(found)
	return found
}

func (w *world) startTyping(q query) any {
	w.sendable(w.channelOf(q), payload{}) // judgement
	return nil
}
