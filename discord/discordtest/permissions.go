// The bot's permissions in a channel of a guild: denied actions are rejected, and events of
// invisible channels are not sent.
package discordtest

import (
	"net/http"
	"strconv"
)

// Permissions that the double checks (Discord, Permissions: Bitwise Permission Flags).
const (
	PermissionAddReactions         = 1 << 6
	PermissionViewChannel          = 1 << 10
	PermissionSendMessages         = 1 << 11 // not in threads
	PermissionReadMessageHistory   = 1 << 16
	PermissionSendMessagesInThread = 1 << 38

	// Initial permissions of the bot in each channel.
	defaultPermissions = PermissionAddReactions | PermissionViewChannel | PermissionSendMessages |
		PermissionReadMessageHistory | PermissionSendMessagesInThread
)

// Deny removes permissions of the bot in a channel and its threads.
func (s *Server) Deny(channel string, permissions int64) {
	s.do(func(w *world) {
		c := w.channel(channel)
		if c.Type == DirectChat || c.Thread != nil {
			panic("discordtest: only a channel of a guild has permissions: " + channel)
		}
		w.permissions[c.ID] = w.permissionsIn(c) &^ permissions
	})
}

// permissionsIn returns the bot's permissions. Threads have those of their parent (Discord,
// Permissions: Inherited Permissions (Threads)).
func (w *world) permissionsIn(c *Channel) int64 {
	at := c.ID
	if c.Thread != nil {
		at = c.ParentID
	}
	if has, ok := w.permissions[at]; ok {
		return has
	}
	return defaultPermissions
}

// may reports whether the bot has a permission. Without VIEW_CHANNEL it has none (Discord,
// Permissions: Implicit Permissions). In direct messages it has all.
func (w *world) may(c *Channel, permission int64) bool {
	has := w.permissionsIn(c)
	return c.Type == DirectChat || has&PermissionViewChannel != 0 && has&permission == permission
}

// errPermission is the error for a missing permission other than VIEW_CHANNEL, for which it is
// 50001 (Discord, Opcodes and Status Codes: JSON Error Codes; which of the two is sent is
// judgement).
var errPermission = &apiError{status: http.StatusForbidden, code: 50013, message: "Missing Permissions"}

// sendable refuses a request if the bot lacks a permission to send a message (Discord, Message:
// Create Message; Permissions: Inherited Permissions (Threads)).
func (w *world) sendable(c *Channel, p payload) {
	needed := int64(PermissionSendMessages)
	if c.Thread != nil {
		needed = PermissionSendMessagesInThread
	}
	refuseIf(!w.may(c, needed), errPermission)
	unread := p.Reference != nil && !w.may(c, PermissionReadMessageHistory)
	refuseIf(unread, &apiError{status: http.StatusForbidden, code: 160002, message: "Cannot reply without permission to read message history"})
}

// channelEvent dispatches an event about messages in a channel, if the bot may see the channel.
func (w *world) channelEvent(c *Channel, name string, data any) {
	if w.may(c, PermissionViewChannel) {
		w.dispatch(event{name: name, intent: c.intent(), data: data})
	}
}

// deleted marks a message as deleted and dispatches the event.
func (w *world) deleted(m *Message) {
	m.Deleted = true
	c := w.channel(m.ChannelID)
	data := map[string]any{"id": m.ID, "channel_id": c.ID}
	if c.GuildID != "" {
		data["guild_id"] = c.GuildID
	}
	w.channelEvent(c, "MESSAGE_DELETE", data)
}

// Role adds a role to a guild; Permit assigns it to members. Permissions is a decimal bit set.
func (s *Server) Role(guild, name, permissions string) (r Role) {
	s.do(func(w *world) {
		g := w.guild(guild)
		r = Role{ID: w.newID(), Name: name, Permissions: permissions}
		g.Roles = append(g.Roles, r)
		w.dispatch(event{name: "GUILD_ROLE_CREATE", intent: IntentGuilds, data: map[string]any{"guild_id": g.ID, "role": r}})
	})
	return r
}

// rolePermissions returns the combined permissions of a member's roles (Discord, Permissions:
// Permission Overwrites). Owners get no permissions automatically (judgement), so that tests state
// who is trusted.
func (g *Guild) rolePermissions(m *Member) string {
	var all int64
	for _, r := range g.Roles {
		bits, err := strconv.ParseInt(r.Permissions, 10, 64)
		if err != nil {
			panic("discordtest: a role's permissions are no decimal bit set: " + r.Permissions)
		}
		for _, id := range append(m.Roles, g.ID) { // everyone has the role with the guild's id
			if id == r.ID {
				all |= bits
			}
		}
	}
	return strconv.FormatInt(all, 10)
}
