// Servers, channels and roles, as the gateway describes them, and who may read a channel.

package discord

import (
	"strconv"
	"strings"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
)

type channelData struct {
	ID         string      `json:"id"`
	Type       int         `json:"type"`
	GuildID    string      `json:"guild_id"`
	ParentID   string      `json:"parent_id"`
	Name       string      `json:"name"`
	LastID     string      `json:"last_message_id"`
	Overwrites []overwrite `json:"permission_overwrites"`
}

type overwrite struct {
	ID    string `json:"id"`
	Allow bitset `json:"allow"`
	Deny  bitset `json:"deny"`
}

type guildData struct {
	ID          string        `json:"id"`
	GuildID     string        `json:"guild_id"` // the id of a list of threads
	Name        string        `json:"name"`
	Unavailable bool          `json:"unavailable"`
	OwnerID     string        `json:"owner_id"`
	Joined      string        `json:"joined_at"` // when the bot joined
	Roles       []roleData    `json:"roles"`
	Channels    []channelData `json:"channels"`
	Threads     []channelData `json:"threads"`
	Members     []member      `json:"members"`
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
	case p.Guild == "" || p.Private:
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
	if !known || !p.OverwritesKnown {
		return ""
	}
	const needed = discordgo.PermissionViewChannel | discordgo.PermissionReadMessageHistory
	can := everyone.Permissions
	if can&discordgo.PermissionAdministrator == 0 && (can&^p.Deny|p.Allow)&needed != needed {
		return channel.Members
	}
	return channel.ServerWide
}
