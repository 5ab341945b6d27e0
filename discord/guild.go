// Servers, channels and roles, as the gateway describes them, and who may read a channel.

package discord

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
)

// place is a channel or a thread.
type place struct {
	ID, Name   string
	Type       discordgo.ChannelType
	Guild      string      `json:"guild_id"`
	Parent     string      `json:"parent_id"` // in the state cache only of threads: the channel
	Last       string      `json:"last_message_id"`
	Overwrites []overwrite `json:"permission_overwrites"` // nil: unknown
}

type overwrite struct {
	ID          string
	Allow, Deny bitset
}

// guild is a server. The state cache has no members, and no channels in it.
type guild struct {
	ID, Name          string
	Unavailable       bool
	GuildID           string `json:"guild_id"` // the id of a list of threads
	OwnerID           string `json:"owner_id"`
	Joined            string `json:"joined_at"` // when the bot joined
	Roles             []role // replaced, not changed
	Channels, Threads []place
	Members           []member

	botRoles []string // ids of the bot's roles
}

type role struct {
	ID, Name    string
	Permissions bitset
	Tags        struct {
		BotID string `json:"bot_id"`
	}
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

// joined returns the id that a message would have had when the bot joined.
func (g guild) joined() string {
	t, _ := time.Parse(time.RFC3339, g.Joined) // a missing time counts as the distant past
	return idAt(t)
}

func (g guild) role(id string) role {
	if i := slices.IndexFunc(g.Roles, func(r role) bool { return r.ID == id }); i >= 0 {
		return g.Roles[i]
	}
	return role{}
}

// setRole adds or replaces a role; a role without a name is deleted.
func (g *guild) setRole(r role) {
	g.Roles = slices.DeleteFunc(slices.Clone(g.Roles), func(old role) bool { return old.ID == r.ID })
	if r.Name != "" {
		g.Roles = append(g.Roles, r)
	}
}

func (g guild) permissions(roles []string) (all bitset) {
	for _, id := range roles {
		all |= g.role(id).Permissions
	}
	return all
}

// hasRole reports whether the bot has one of these roles.
func (g guild) hasRole(roles []string) bool {
	return slices.ContainsFunc(g.botRoles, func(id string) bool { return slices.Contains(roles, id) })
}

func (g guild) trusts(user string, roles []string) bool {
	everyone := g.role(g.ID).Permissions
	return g.OwnerID != "" && g.OwnerID == user || manages(everyone|g.permissions(roles))
}

func manages(permissions bitset) bool {
	return permissions&(discordgo.PermissionManageMessages|discordgo.PermissionManageGuild|discordgo.PermissionAdministrator) != 0
}

// toRead are the permissions needed to read a channel.
const toRead = bitset(discordgo.PermissionViewChannel | discordgo.PermissionReadMessageHistory)

// changed returns permissions as the overwrites for some roles or a person change them (Discord,
// Permissions: Permission Overwrites).
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

func (p place) hasMessages() bool {
	switch p.Type {
	case discordgo.ChannelTypeGuildCategory, discordgo.ChannelTypeGuildForum, discordgo.ChannelTypeGuildMedia,
		discordgo.ChannelTypeGuildStore, discordgo.ChannelTypeGuildDirectory:
		return false
	}
	return true
}

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

func placeOf(conversation string) place {
	p := channel.ParsePlace(conversation)
	at := place{Guild: p.Server}
	if p.Direct() {
		at.Guild = ""
	}
	if p.Thread != "" {
		at.Parent = p.Channel
	}
	return at
}
