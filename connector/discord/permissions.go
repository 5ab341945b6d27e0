// The bot's permissions, and where it may not write.

package discord

import (
	"context"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/connector/platform"
)

// cannotWrite returns why the bot may not write in a place (Discord, Permissions: Implicit Permissions, Inherited Permissions
// (Threads), Permissions For Timed Out Members; Threads: Locked Threads); "" if it may, or that is unknown.
func (s *stateCache) cannotWrite(id string, now time.Time) (why string) {
	p := s.place(id)
	can, known := s.granted(p)
	lacks := func(permission bitset) bool { return can&permission == 0 }
	switch {
	case !known:
		return ""
	case lacks(discordgo.PermissionViewChannel):
		return channel.NoViewChannel
	case lacks(discordgo.PermissionAdministrator) && now.Before(s.guild(p.Guild).timedOut):
		return channel.TimedOut
	case p.Parent == "" && lacks(discordgo.PermissionSendMessages):
		return channel.NoSendMessages
	case p.Parent != "" && lacks(discordgo.PermissionSendMessagesInThreads):
		return channel.NoSendInThreads
	case p.Thread.Locked && lacks(discordgo.PermissionManageThreads):
		return channel.ThreadLocked
	}
	return ""
}

// cannotAnswer is cannotWrite, but where the bot opens threads from questions, it need not write in the channel itself: SEND_MESSAGES has no
// effect in threads (Discord, Permissions: Inherited Permissions (Threads)).
func (s *stateCache) cannotAnswer(id string, now time.Time, opens bool) (why string) {
	why = s.cannotWrite(id, now)
	p := s.place(id)
	if why != channel.NoSendMessages || !opens || !p.hasThreads() {
		return why
	}
	if can, _ := s.granted(p); can&toOpen == toOpen {
		return ""
	}
	return channel.NoOpenThreads
}

// granted returns the bot's permissions in a place. known is false if that cannot be computed: in a direct message, and of what no
// event has described.
func (s *stateCache) granted(p place) (can bitset, known bool) {
	g := s.guild(p.Guild)
	can, known = s.permissions(p, s.self().ID, g.botRoles)
	return can, known && g.botKnown
}

// permissions returns those of a member of the server in a channel, or in a thread, which inherits them (Discord, Permissions:
// Permission Overwrites). known is false if they cannot be computed.
func (s *stateCache) permissions(p place, user string, roles []string) (can bitset, known bool) {
	if p.Parent != "" {
		p = s.place(p.Parent)
	}
	g := s.guild(p.Guild)
	everyone := g.role(g.ID)
	if g.ID == "" || everyone.ID == "" || p.Overwrites == nil {
		return 0, false
	}
	can = everyone.Permissions | g.permissions(roles)
	if can&discordgo.PermissionAdministrator != 0 || g.OwnerID == user {
		return -1, true
	}
	return p.overwritten(can, user, roles), true
}

// overwritten applies a channel's overwrites to permissions of a member.
func (p place) overwritten(can bitset, user string, roles []string) bitset {
	return p.changed(p.changed(p.changed(can, p.Guild), roles...), user)
}

// unwritable returns the places in which the bot may read but not answer.
func (s *stateCache) unwritable(now time.Time, opens bool) (all []channel.Unwritable) {
	s.places.Range(func(_, known any) bool {
		p := known.(place)
		why := s.cannotAnswer(p.ID, now, opens)
		if why != "" && why != channel.NoViewChannel && p.hasMessages() {
			all = append(all, channel.Unwritable{Conversation: p.conversation(), Label: s.label(p.ID), Why: why})
		}
		return true
	})
	return all
}

const maxChecked = 20 // servers whose channels Check looks at

// readChannels reads the channels of some servers. checked is how many servers it could read.
func (d *Discord) readChannels(ctx context.Context, servers []discordgo.UserGuild, bot user) (found *stateCache, checked int) {
	ctx, cancel := context.WithTimeout(ctx, platform.CheckTime)
	defer cancel()
	found = &stateCache{}
	found.bot.Store(&self{user: bot})
	for _, server := range servers[:min(len(servers), maxChecked)] {
		g, err := d.rest.readServer(ctx, server.ID, bot.ID, false)
		if err == nil {
			found.addGuild(g)
			checked++
		}
	}
	return found, checked
}
