// What the bot may do in a channel: permissions, of which denied ones also hide events.

package discordtest

import (
	"net/http"
	"slices"
	"time"

	"github.com/bwmarrin/discordgo"
)

// defaultPermissions are what everyone may do in a guild, and so the bot in each of its channels.
const defaultPermissions = discordgo.PermissionAddReactions | discordgo.PermissionViewChannel | discordgo.PermissionSendMessages |
	discordgo.PermissionReadMessageHistory | discordgo.PermissionSendMessagesInThreads

// Deny denies the bot permissions in a channel and its threads; see Allow.
func (s *Server) Deny(channel string, permissions int64) { s.overwrite(channel, 0, permissions) }

// Allow gives the bot permissions in a channel and its threads.
func (s *Server) Allow(channel string, permissions int64) { s.overwrite(channel, permissions, 0) }

// overwrite changes the bot's own overwrite of a channel, and dispatches CHANNEL_UPDATE, also of a channel that the bot may not
// see (judgement, as in guildCreate).
func (s *Server) overwrite(channel string, allow, deny int64) {
	s.do(func(w *world) {
		c := *w.channel(channel)
		if c.Type != discordgo.ChannelTypeGuildText {
			panic("discordtest: only a channel of a guild has permissions: " + channel)
		}
		own := discordgo.PermissionOverwrite{ID: w.bot.ID, Type: discordgo.PermissionOverwriteTypeMember}
		others := []*discordgo.PermissionOverwrite{}
		for _, o := range c.PermissionOverwrites {
			if o.ID == own.ID {
				own = *o
			} else {
				others = append(others, o)
			}
		}
		own.Allow = own.Allow&^deny | allow
		own.Deny = own.Deny&^allow | deny
		c.PermissionOverwrites = append(others, &own)
		w.channels[c.ID] = &c
		w.dispatch(event{name: "CHANNEL_UPDATE", intent: discordgo.IntentGuilds, guild: c.GuildID, data: &c})
	})
}

// permissionsIn computes the bot's permissions (Discord, Permissions: Permission Overwrites). Threads have those of their parent
// (Inherited Permissions (Threads)). While it is timed out it may only read (Permissions For Timed Out Members).
func (w *world) permissionsIn(c *discordgo.Channel) int64 {
	switch {
	case c.Type == discordgo.ChannelTypeDM:
		return discordgo.PermissionAll
	case c.IsThread():
		c = w.channel(c.ParentID)
	}
	g := w.guild(c.GuildID)
	bot := member(g, w.bot.ID)
	can := rolePermissions(g, bot)
	if can&discordgo.PermissionAdministrator != 0 {
		return discordgo.PermissionAll
	}
	for _, whose := range [][]string{{g.ID}, bot.Roles, {w.bot.ID}} {
		var allow, deny int64
		for _, o := range c.PermissionOverwrites {
			if slices.Contains(whose, o.ID) {
				allow = allow | o.Allow
				deny = deny | o.Deny
			}
		}
		can = can&^deny | allow
	}
	if until := bot.CommunicationDisabledUntil; until != nil && until.After(w.now()) {
		can &= discordgo.PermissionViewChannel | discordgo.PermissionReadMessageHistory
	}
	return can
}

// may: without VIEW_CHANNEL there are none, in direct messages all (Discord, Permissions: Implicit Permissions).
func (w *world) may(c *discordgo.Channel, permission int64) bool {
	has := w.permissionsIn(c)
	return has&discordgo.PermissionViewChannel != 0 && has&permission == permission
}

// errPermission is the error for a missing permission other than VIEW_CHANNEL, for which it is 50001 (Discord,
// Opcodes and Status Codes: JSON Error Codes; which of the two is sent is judgement).
var errPermission = &apiError{status: http.StatusForbidden, code: 50013, message: "Missing Permissions"}

// sendable: Discord, Message: Create Message; Permissions: Inherited Permissions (Threads): SEND_MESSAGES has no effect in threads.
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
		e.guild = c.GuildID
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
	m.Deleted = true
	if !m.is(discordgo.MessageFlagsEphemeral) {
		w.messageEvent(w.channel(m.ChannelID), "MESSAGE_DELETE", map[string]any{"id": m.ID})
	}
}

// Role adds a role to a guild; Permit assigns it to members.
func (s *Server) Role(guild, name string, permissions int64) (r discordgo.Role) {
	s.do(func(w *world) {
		g := w.guild(guild)
		r = discordgo.Role{ID: w.newID(), Name: name, Permissions: permissions}
		g.Roles = append(g.Roles, &r)
		w.dispatch(event{name: "GUILD_ROLE_CREATE", intent: discordgo.IntentGuilds, guild: g.ID, data: map[string]any{"guild_id": g.ID, "role": r}})
	})
	return r
}

// SetRole changes the permissions of a role; everyone has the role with the guild's id.
func (s *Server) SetRole(guild, role string, permissions int64) {
	s.do(func(w *world) {
		g := w.guild(guild)
		for i, old := range g.Roles {
			if old.ID == role {
				changed := *old
				changed.Permissions = permissions
				g.Roles[i] = &changed
				w.dispatch(event{name: "GUILD_ROLE_UPDATE", intent: discordgo.IntentGuilds, guild: g.ID, data: map[string]any{"guild_id": g.ID, "role": changed}})
			}
		}
	})
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
		m.Nick = nick
		m.Permissions = permissions
		m.Roles = append([]string{}, roles...)
		w.memberChanged(guild, m)
	})
}

// TimeOut times the bot out in a guild until a moment (Discord, Guild: Guild Member Object, communication_disabled_until).
func (s *Server) TimeOut(guild string, until time.Time) {
	s.do(func(w *world) {
		m := member(w.guild(guild), w.bot.ID)
		m.CommunicationDisabledUntil = &until
		w.memberChanged(guild, m)
	})
}

func (w *world) memberChanged(guild string, m *discordgo.Member) {
	e := event{name: "GUILD_MEMBER_UPDATE", intent: discordgo.IntentGuildMembers, guild: guild, data: discordgo.Member{
		GuildID: guild, User: m.User, Nick: m.Nick, Roles: m.Roles, JoinedAt: m.JoinedAt, CommunicationDisabledUntil: m.CommunicationDisabledUntil,
	}}
	if m.User.ID == w.bot.ID {
		e.intent = 0
	}
	w.dispatch(e)
}
