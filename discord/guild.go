// Servers, channels and roles, as the gateway describes them, and who may read a channel.

package discord

import (
	"slices"
	"strconv"
	"strings"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
)

// place is a channel or a thread.
type place struct {
	ID         string                `json:"id"`
	Type       discordgo.ChannelType `json:"type"`
	Guild      string                `json:"guild_id"`
	Parent     string                `json:"parent_id"` // in the state cache only of threads: the channel
	Name       string                `json:"name"`
	Last       string                `json:"last_message_id"`
	Overwrites []overwrite           `json:"permission_overwrites"` // nil: unknown
}

type overwrite struct {
	ID    string `json:"id"`
	Allow bitset `json:"allow"`
	Deny  bitset `json:"deny"`
}

type guildData struct {
	ID          string     `json:"id"`
	GuildID     string     `json:"guild_id"` // the id of a list of threads
	Name        string     `json:"name"`
	Unavailable bool       `json:"unavailable"`
	OwnerID     string     `json:"owner_id"`
	Joined      string     `json:"joined_at"` // when the bot joined
	Roles       []roleData `json:"roles"`
	Channels    []place    `json:"channels"`
	Threads     []place    `json:"threads"`
	Members     []member   `json:"members"`
}

type roleData struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Permissions bitset `json:"permissions"`
	Tags        struct {
		BotID string `json:"bot_id"`
	} `json:"tags"`
}

// bitset is a set of permissions. In JSON it is a number, quoted or not, or null.
type bitset int64

// UnmarshalJSON decodes anything but a number as no permissions.
func (b *bitset) UnmarshalJSON(data []byte) error {
	n, err := strconv.ParseInt(strings.Trim(string(data), `"`), 10, 64)
	if err != nil {
		n = 0
	}
	*b = bitset(n)
	return nil
}

// manages reports whether permissions include managing a place.
func manages(permissions bitset) bool {
	return permissions&(discordgo.PermissionManageMessages|discordgo.PermissionManageGuild|discordgo.PermissionAdministrator) != 0
}

// audience returns who may read a place; empty if unknown.
func (s *stateCache) audience(id string) channel.Audience {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, known := s.places[id]
	switch {
	case !known:
		return ""
	case p.Guild == "" || p.Type == discordgo.ChannelTypeGuildPrivateThread:
		return channel.Members
	case p.Parent != "":
		if s.openLocked(p.Parent) == channel.ServerWide {
			return channel.ServerWide
		}
		return channel.ChannelWide
	}
	return s.openLocked(id)
}

// openLocked returns ServerWide if everyone on the server may read a channel (Discord, Permissions:
// Permission Overwrites), else Members; empty if unknown.
func (s *stateCache) openLocked(id string) channel.Audience {
	p := s.places[id]
	everyone, known := s.guilds[p.Guild].Roles[p.Guild]
	if !known || p.Overwrites == nil {
		return ""
	}
	const needed = discordgo.PermissionViewChannel | discordgo.PermissionReadMessageHistory
	can := everyone.Permissions
	if can&discordgo.PermissionAdministrator == 0 && p.changed(can, p.Guild)&needed != needed {
		return channel.Members
	}
	return channel.ServerWide
}

// changed returns permissions as the overwrites for some roles or a person change them.
func (p place) changed(permissions bitset, whose ...string) bitset {
	var deny, allow bitset
	for _, o := range p.Overwrites {
		if slices.Contains(whose, o.ID) {
			deny |= o.Deny
			allow |= o.Allow
		}
	}
	return permissions&^deny | allow
}

// hasMessages reports whether a place is of a type that contains messages.
func (p place) hasMessages() bool {
	switch p.Type {
	case discordgo.ChannelTypeGuildCategory, discordgo.ChannelTypeGuildForum, discordgo.ChannelTypeGuildMedia,
		discordgo.ChannelTypeGuildStore, discordgo.ChannelTypeGuildDirectory:
		return false
	}
	return true
}

// conversation returns the name of a place's conversation.
func (p place) conversation() string {
	name := channel.Place{Connector: Name, Server: p.Guild, Channel: p.ID}
	switch {
	case p.Guild == "":
		name.Server = channel.DirectServer
	case p.Parent != "":
		name.Channel, name.Thread = p.Parent, p.ID
	}
	return name.String()
}

// hidden reports whether a channel's overwrites keep the bot from reading it (Discord, Permissions:
// Permission Overwrites). It assumes that the server's roles allow reading: a wrong guess costs one
// refused request.
func (s *stateCache) hidden(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.places[id]
	g := s.guilds[p.Guild]
	for _, role := range g.BotRoles {
		if g.Roles[role].Permissions&discordgo.PermissionAdministrator != 0 {
			return false
		}
	}
	const needed = bitset(discordgo.PermissionViewChannel | discordgo.PermissionReadMessageHistory)
	can := p.changed(p.changed(p.changed(needed, p.Guild), g.BotRoles...), s.me.ID)
	return can&needed != needed
}
