// The endpoints of channels: sending, editing, deleting and reading messages, and typing.
package discordtest

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"time"
)

func unknown(code int, what string) error {
	return &apiError{status: http.StatusNotFound, code: code, message: "Unknown " + what}
}

// channelOf returns the channel of a path, if the bot may see it.
func (w *world) channelOf(q query) *Channel {
	c := w.channels[q.PathValue("channel")]
	refuseIf(c == nil, unknown(10003, "Channel"))
	refuseIf(!w.may(c, PermissionViewChannel), &apiError{status: http.StatusForbidden, code: 50001, message: "Missing Access"})
	return c
}

func (w *world) messageOf(q query) *Message {
	c := w.channelOf(q)
	m := w.find(c.ID, q.PathValue("message"))
	refuseIf(m == nil, unknown(10008, "Message"))
	return m
}

// shown returns a message as REST shows it to the bot, without guild_id.
func (w *world) shown(m *Message) Message {
	return w.visibleTo(*m, w.options.Forbidden&IntentMessageContent == 0)
}

// createMessage: Discord, Message: Create Message.
func (w *world) createMessage(q query) any {
	c := w.channelOf(q)
	p := w.parsePayload(q, false, allowAll)
	refuseIf(p.empty(), errEmpty)
	w.sendable(c, p)
	c.writable(false)
	if m := w.sameNonce(c, p); m != nil {
		return w.shown(m)
	}
	m := w.newMessage(c, w.bot, "")
	if r := p.Reference; r != nil {
		_, err := strconv.ParseUint(r.MessageID, 10, 64)
		refuseIf(err != nil, invalid("message_reference", "NUMBER_TYPE_COERCE", "Value "+r.MessageID+" is not snowflake."))
		to := w.find(c.ID, r.MessageID)
		switch {
		case to != nil && !to.answerable():
			panic(invalid("message_reference", "REPLIES_CANNOT_REFERENCE_SYSTEM_MESSAGE", "Cannot reply to a system message"))
		case to != nil && (r.ChannelID == "" || r.ChannelID == c.ID):
			m.reply(to)
		case r.FailIfNotExists == nil || *r.FailIfNotExists:
			panic(invalid("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message"))
		}
	}
	if len(p.Nonce) > 0 && string(p.Nonce) != "null" {
		m.Nonce = p.Nonce
	}
	w.fill(m, p)
	if c.Thread != nil && c.Thread.Archived {
		w.archive(c, false, false)
	}
	w.post(m)
	return w.shown(m)
}

// answerable reports whether a message is not a system message (Discord, Message: Create Message,
// Limitations).
func (m *Message) answerable() bool {
	return m.Type == MessageDefault || m.Type == MessageReply || m.Type == MessageCommand
}

// sameNonce returns the bot's recent message with this nonce (Discord, Message: Create Message:
// enforce_nonce is "unique in the past few minutes").
func (w *world) sameNonce(c *Channel, p payload) *Message {
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

// change applies a valid payload to a message; fields that it lacks are unchanged (Discord,
// Message: Edit Message).
func (w *world) change(m *Message, p payload) {
	next := *m
	if p.Components != nil {
		next.Components = p.Components
	}
	if p.Content != nil {
		next.edit(*p.Content)
		next.mention(w, p.allow)
	}
	refuseIf(next.Content == "" && len(next.Embeds)+len(next.Components)+len(next.Attachments) == 0, errEmpty)
	*m = next
}

func (w *world) editMessage(q query) any {
	m := w.messageOf(q)
	refuseIf(m.Author.ID != w.bot.ID, &apiError{status: http.StatusForbidden, code: 50005, message: "Cannot edit a message authored by another user"})
	w.channel(m.ChannelID).writable(true)
	p := w.parsePayload(q, true, allowAll)
	w.change(m, p)
	w.dispatchMessage("MESSAGE_UPDATE", m)
	return w.shown(m)
}

// deleteMessage: others' messages require a permission that the bot does not have (Discord,
// Message: Delete Message).
func (w *world) deleteMessage(q query) any {
	m := w.messageOf(q)
	refuseIf(m.Author.ID != w.bot.ID, errPermission)
	w.deleted(m)
	return nil
}

// getMessage requires more than seeing the channel (Discord, Message: Get Channel Message).
func (w *world) getMessage(q query) any {
	refuseIf(!w.may(w.channelOf(q), PermissionReadMessageHistory), errPermission)
	return w.shown(w.messageOf(q))
}

// getMessages returns the newest messages first, whichever anchor is used, and none without
// permission to read the history (Discord, Message: Get Channel Messages).
func (w *world) getMessages(q query) any {
	c := w.channelOf(q)
	anchor, which := "", ""
	limit, err := strconv.Atoi(cmp.Or(q.URL.Query().Get("limit"), "50"))
	refuseIf(err != nil || limit < 1 || limit > 100, invalid("limit", "NUMBER_TYPE_RANGE", "int value should be between 1 and 100."))
	for _, name := range []string{"before", "after"} {
		if id := q.URL.Query().Get(name); id != "" {
			refuseIf(which != "", invalid(name, "MUTUALLY_EXCLUSIVE", "Only one of before and after may be given."))
			which, anchor = name, id
		}
	}
	at, err := strconv.ParseUint(anchor, 10, 64)
	refuseIf(which != "" && err != nil, invalid(which, "NUMBER_TYPE_COERCE", "Value is not snowflake."))
	var all []*Message
	for _, m := range w.messages[c.ID] {
		if !m.Deleted && w.may(c, PermissionReadMessageHistory) {
			all = append(all, m)
		}
	}
	found := []Message{}
	for _, m := range window(all, which, at, limit) {
		found = append(found, w.shown(m))
	}
	slices.Reverse(found)
	return found
}

// window returns the requested part of messages, oldest first.
func window(all []*Message, which string, at uint64, limit int) []*Message {
	isBefore := func(m *Message) bool { return id(m.ID) < at }
	split := 0 // the first that is not before the anchor
	for split < len(all) && isBefore(all[split]) {
		split++
	}
	from, to := max(0, len(all)-limit), len(all)
	switch which {
	case "before":
		from, to = max(0, split-limit), split
	case "after":
		if split < len(all) && id(all[split].ID) == at {
			split++
		}
		from, to = split, min(len(all), split+limit)
	}
	return all[from:to]
}

func id(snowflake string) uint64 {
	n, _ := strconv.ParseUint(snowflake, 10, 64) // ids created here can be parsed
	return n
}

func (w *world) startTyping(q query) any {
	w.sendable(w.channelOf(q), payload{}) // judgement
	return nil
}
