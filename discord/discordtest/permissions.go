// What the bot may do in a channel: permissions, of which denied ones also hide events, and threads,
// which can be archived and locked.

package discordtest

import (
	"net/http"
	"slices"
	"time"

	"github.com/bwmarrin/discordgo"
)

// defaultPermissions are the initial permissions of the bot in each channel.
const defaultPermissions = discordgo.PermissionAddReactions | discordgo.PermissionViewChannel | discordgo.PermissionSendMessages |
	discordgo.PermissionReadMessageHistory | discordgo.PermissionSendMessagesInThreads

// Deny removes permissions of the bot in a channel and its threads.
func (s *Server) Deny(channel string, permissions int64) {
	s.do(func(w *world) {
		c := w.channel(channel)
		if c.Type != discordgo.ChannelTypeGuildText {
			panic("discordtest: only a channel of a guild has permissions: " + channel)
		}
		w.permissions[c.ID] = w.permissionsIn(c) &^ permissions
	})
}

// permissionsIn returns the bot's permissions. Threads have those of their parent (Discord,
// Permissions: Inherited Permissions (Threads)).
func (w *world) permissionsIn(c *discordgo.Channel) int64 {
	at := c.ID
	if c.IsThread() {
		at = c.ParentID
	}
	if has, ok := w.permissions[at]; ok {
		return has
	}
	return defaultPermissions
}

// may reports whether the bot has a permission. Without VIEW_CHANNEL it has none (Discord,
// Permissions: Implicit Permissions). In direct messages it has all.
func (w *world) may(c *discordgo.Channel, permission int64) bool {
	has := w.permissionsIn(c)
	return c.Type == discordgo.ChannelTypeDM || has&discordgo.PermissionViewChannel != 0 && has&permission == permission
}

// errPermission is the error for a missing permission other than VIEW_CHANNEL, for which it is 50001 (Discord,
// Opcodes and Status Codes: JSON Error Codes; which of the two is sent is judgement).
var errPermission = &apiError{status: http.StatusForbidden, code: 50013, message: "Missing Permissions"}

// sendable refuses a request if the bot lacks a permission to send a message (Discord, Message:
// Create Message; Permissions: Inherited Permissions (Threads)).
func (w *world) sendable(c *discordgo.Channel, p payload) {
	needed := int64(discordgo.PermissionSendMessages)
	if c.IsThread() {
		needed = discordgo.PermissionSendMessagesInThreads
	}
	refuseIf(!w.may(c, needed), errPermission)
	unread := p.Reference != nil && !w.may(c, discordgo.PermissionReadMessageHistory)
	refuseIf(unread, &apiError{status: http.StatusForbidden, code: 160002, message: "Cannot reply without permission to read message history"})
}

func (w *world) announce(c *discordgo.Channel, e event) {
	if w.may(c, discordgo.PermissionViewChannel) {
		w.dispatch(e)
	}
}

// messageEvent announces data about messages of a channel.
func (w *world) messageEvent(c *discordgo.Channel, name string, data map[string]any) {
	data["channel_id"] = c.ID
	if c.GuildID != "" {
		data["guild_id"] = c.GuildID
	}
	w.announce(c, event{name: name, intent: intentOf(c), data: data})
}

func (w *world) deleted(m *Message) {
	if m.Deleted = true; !m.is(discordgo.MessageFlagsEphemeral) {
		w.messageEvent(w.channel(m.ChannelID), "MESSAGE_DELETE", map[string]any{"id": m.ID})
	}
}

// Role adds a role to a guild; Permit assigns it to members.
func (s *Server) Role(guild, name string, permissions int64) (r discordgo.Role) {
	s.do(func(w *world) {
		g := w.guild(guild)
		r = discordgo.Role{ID: w.newID(), Name: name, Permissions: permissions}
		g.Roles = append(g.Roles, &r)
		w.dispatch(event{name: "GUILD_ROLE_CREATE", intent: discordgo.IntentGuilds, data: map[string]any{"guild_id": g.ID, "role": r}})
	})
	return r
}

// rolePermissions returns the combined permissions of a member's roles (Discord, Permissions: Permission Overwrites).
// Owners get no permissions automatically (judgement), so that tests state who is trusted.
func rolePermissions(g *discordgo.Guild, m *discordgo.Member) (all int64) {
	for _, r := range g.Roles {
		if r.ID == g.ID || slices.Contains(m.Roles, r.ID) { // everyone has the role with the guild's id
			all |= r.Permissions
		}
	}
	return all
}

// EnableIntents enables privileged intents in the developer portal.
func (s *Server) EnableIntents(intents discordgo.Intent) {
	s.do(func(w *world) { w.options.Forbidden &^= intents })
}

// Permit sets a member's nickname, role ids and permissions (0: those of the roles). The bot gets GUILD_MEMBER_UPDATE
// if it is the member itself, else only with the intent GUILD_MEMBERS (judgement, from the list of intents).
func (s *Server) Permit(guild, user, nick string, permissions int64, roles ...string) {
	s.do(func(w *world) {
		m := member(w.guild(guild), user)
		m.Nick, m.Permissions, m.Roles = nick, permissions, append([]string{}, roles...)
		e := event{name: "GUILD_MEMBER_UPDATE", intent: discordgo.IntentGuildMembers, data: discordgo.Member{
			GuildID: guild, User: m.User, Nick: nick, Roles: m.Roles, JoinedAt: m.JoinedAt,
		}}
		if user == w.bot.ID {
			e.intent = 0
		}
		w.dispatch(e)
	})
}

// Thread adds a public thread under a channel, started by a user.
func (s *Server) Thread(parent, user, name string) discordgo.Channel {
	return s.addChannel("THREAD_CREATE", func(w *world) *discordgo.Channel {
		meta := &discordgo.ThreadMetadata{AutoArchiveDuration: 4320, ArchiveTimestamp: time.Now().UTC()}
		p := w.channel(parent)
		return &discordgo.Channel{
			Type: discordgo.ChannelTypeGuildPublicThread, GuildID: p.GuildID, ParentID: p.ID, OwnerID: user, Name: name, ThreadMetadata: meta,
		}
	})
}

// Archive archives a thread. A message unarchives it, unless it is locked (Discord, Threads: Active & Archived Threads).
func (s *Server) Archive(thread string, locked bool) {
	s.do(func(w *world) { w.archive(w.channel(thread), true, locked) })
}

func (w *world) archive(c *discordgo.Channel, archived, locked bool) {
	meta := *c.ThreadMetadata
	meta.Archived, meta.Locked, meta.ArchiveTimestamp = archived, locked, time.Now().UTC()
	c.ThreadMetadata = &meta
	w.announce(c, event{name: "THREAD_UPDATE", intent: discordgo.IntentGuilds, data: c})
}

// writable refuses a change that a thread's state forbids (Discord, Threads: Locked Threads; Opcodes
// and Status Codes: JSON Error Codes).
func writable(c *discordgo.Channel, edit bool) {
	if !c.IsThread() {
		return
	}
	refuseIf(c.ThreadMetadata.Locked, &apiError{status: http.StatusBadRequest, code: 160005, message: "Thread is locked"})
	refuseIf(c.ThreadMetadata.Archived && edit, &apiError{status: http.StatusBadRequest, code: 50083, message: "Thread is archived"})
}
