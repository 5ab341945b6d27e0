// Servers, channels, threads and roles, as gateway events describe them, and who may read a channel.

package discord

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
)

// stateCache has no messages and no members.
type stateCache struct {
	mu     sync.Mutex // guards everything below
	me     user
	app    string // id of the application, needed to register commands
	places map[string]place
	guilds map[string]guild
}

func (s *stateCache) do(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *stateCache) setSelf(me user, app string) {
	s.do(func() { s.me, s.app = me, cmp.Or(app, s.app) })
}

func (s *stateCache) self() (me user, app string) {
	s.do(func() { me, app = s.me, s.app })
	return me, app
}

// addGuild adds or replaces a server. It returns the server's channels and threads.
func (s *stateCache) addGuild(g guild) (channels []place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range g.Roles {
		if r.Tags.BotID != "" && r.Tags.BotID == s.me.ID {
			g.botRoles = append(g.botRoles, r.ID)
		}
	}
	for _, m := range g.Members {
		if m.User != nil && m.User.ID == s.me.ID {
			g.botRoles = append(g.botRoles, m.Roles...)
		}
	}
	channels = slices.Concat(g.Channels, g.Threads)
	g.Channels, g.Threads, g.Members = nil, nil, nil
	s.guilds[g.ID] = g
	for i := range channels {
		channels[i].Guild = g.ID
		channels[i] = s.addLocked(channels[i])
	}
	return channels
}

func (s *stateCache) add(p place) place {
	s.do(func() { p = s.addLocked(p) })
	return p
}

func (s *stateCache) addLocked(p place) place {
	// Events may leave the server out (Discord, Channel: Channel Structure).
	p.Guild = cmp.Or(p.Guild, s.places[p.ID].Guild, s.places[p.Parent].Guild)
	switch p.Type {
	case discordgo.ChannelTypeGuildPublicThread, discordgo.ChannelTypeGuildPrivateThread, discordgo.ChannelTypeGuildNewsThread:
	default:
		p.Parent = "" // a category
	}
	s.places[p.ID] = p
	return p
}

func (s *stateCache) remove(id string) { s.do(func() { delete(s.places, id) }) }

func (s *stateCache) removeGuild(id string) {
	s.do(func() {
		delete(s.guilds, id)
		maps.DeleteFunc(s.places, func(_ string, p place) bool { return p.Guild == id })
	})
}

func (s *stateCache) updateGuild(id string, change func(g *guild)) {
	s.do(func() {
		if g, known := s.guilds[id]; known {
			change(&g)
			s.guilds[id] = g
		}
	})
}

// guild returns a server; the zero value if it is unknown.
func (s *stateCache) guild(id string) (g guild) {
	s.do(func() { g = s.guilds[id] })
	return g
}

func (s *stateCache) place(id string) (p place, known bool) {
	s.do(func() { p, known = s.places[id] })
	return p, known
}

// label returns the display name of a place; empty if unknown.
func (s *stateCache) label(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, thread := s.places[id], ""
	server := s.guilds[p.Guild].Name
	if p.Parent != "" {
		p, thread = s.places[p.Parent], p.Name
	}
	return channel.Label(thread, p.Name, server)
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
	case p.Parent == "":
		return s.openLocked(p)
	case s.openLocked(s.places[p.Parent]) == channel.ServerWide:
		return channel.ServerWide
	}
	return channel.ChannelWide
}

// openLocked returns ServerWide if everyone on the server may read a channel, else Members; empty if unknown.
func (s *stateCache) openLocked(p place) channel.Audience {
	everyone := s.guilds[p.Guild].role(p.Guild)
	switch can := everyone.Permissions; {
	case everyone.ID == "" || p.Overwrites == nil:
		return ""
	case can&discordgo.PermissionAdministrator == 0 && p.changed(can, p.Guild)&toRead != toRead:
		return channel.Members
	}
	return channel.ServerWide
}

// hidden reports whether a channel's overwrites hide it from the bot, if its roles do not: a wrong guess costs a request.
func (s *stateCache) hidden(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.places[id]
	g := s.guilds[p.Guild]
	can := p.changed(p.changed(p.changed(toRead, p.Guild), g.botRoles...), s.me.ID)
	return g.permissions(g.botRoles)&discordgo.PermissionAdministrator == 0 && can&toRead != toRead
}

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

// joined returns the id that a message would have had when the bot joined.
func (g guild) joined() string {
	t, _ := time.Parse(time.RFC3339, g.Joined) // a missing time counts as the distant past
	return idAt(t)
}

func (g guild) role(id string) role {
	for _, r := range g.Roles {
		if r.ID == id {
			return r
		}
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

const toRead = bitset(discordgo.PermissionViewChannel | discordgo.PermissionReadMessageHistory)

// changed applies the overwrites for some roles or a person (Discord, Permissions: Permission Overwrites).
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
	return !slices.Contains([]discordgo.ChannelType{
		discordgo.ChannelTypeGuildCategory, discordgo.ChannelTypeGuildForum, discordgo.ChannelTypeGuildMedia,
		discordgo.ChannelTypeGuildStore, discordgo.ChannelTypeGuildDirectory,
	}, p.Type)
}

func (p place) conversation() string {
	name := channel.Place{Connector: Name, Server: cmp.Or(p.Guild, channel.DirectServer), Channel: p.ID}
	if p.Guild != "" && p.Parent != "" {
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
