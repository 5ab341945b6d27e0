// The state cache: servers, channels, threads and roles, from gateway events.

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

// stateCache contains the servers, channels, threads and roles that gateway events describe. It has
// no messages and no members.
type stateCache struct {
	mu     sync.Mutex // guards everything below
	me     user
	app    string // id of the application, needed to register commands
	places map[string]place
	guilds map[string]guild
}

// place is a channel or a thread.
type place struct {
	Guild           string
	Parent          string // channel of a thread; empty: not a thread
	Name            string
	Last            string // id of the newest message
	Hidden          bool   // the bot may not read it
	NoMessages      bool   // of a type that contains no messages
	Private         bool   // a private thread
	OverwritesKnown bool   // the next two are known
	Deny            bitset // permissions that the channel denies to everyone on the server
	Allow           bitset // permissions that it grants to everyone
}

// guild is a server.
type guild struct {
	Name     string
	Owner    string
	Joined   string              // the id that a message would have had when the bot joined
	Roles    map[string]roleData // replaced, not changed
	BotRoles []string            // ids of the bot's roles
}

// setRole adds or replaces a role; a role without a name is deleted.
func (g *guild) setRole(r roleData) {
	g.Roles = maps.Clone(g.Roles)
	g.Roles[r.ID] = r
	if r.Name == "" {
		delete(g.Roles, r.ID)
	}
}

// hasRole reports whether the bot has one of these roles.
func (g guild) hasRole(roles []string) bool {
	return slices.ContainsFunc(g.BotRoles, func(id string) bool { return slices.Contains(roles, id) })
}

// trusts reports whether a user owns the server or may manage it by these roles.
func (g guild) trusts(user string, roles []string) bool {
	var permissions bitset
	for _, id := range roles {
		permissions |= g.Roles[id].Permissions
	}
	return g.Owner != "" && g.Owner == user || manages(permissions)
}

func newStateCache() *stateCache {
	return &stateCache{places: make(map[string]place), guilds: make(map[string]guild)}
}

func (s *stateCache) setSelf(me user, app string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.me, s.app = me, cmp.Or(app, s.app)
}

func (s *stateCache) self() (me user, app string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.me, s.app
}

// addGuild adds or replaces a server. It returns the server's channels and threads, and by their
// ids the newest messages that were known before.
func (s *stateCache) addGuild(g guildData) (channels []channelData, lastSeen map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	joined, _ := time.Parse(time.RFC3339, g.Joined) // a missing time counts as the distant past
	cached := guild{Name: g.Name, Owner: g.OwnerID, Joined: idAt(joined), Roles: make(map[string]roleData)}
	for _, r := range g.Roles {
		cached.Roles[r.ID] = r
		if r.Tags.BotID != "" && r.Tags.BotID == s.me.ID {
			cached.BotRoles = append(cached.BotRoles, r.ID)
		}
	}
	for _, m := range g.Members {
		if m.User != nil && m.User.ID == s.me.ID {
			cached.BotRoles = append(cached.BotRoles, m.Roles...)
		}
	}
	s.guilds[g.ID] = cached
	lastSeen = make(map[string]string)
	for _, c := range slices.Concat(g.Channels, g.Threads) {
		c.GuildID = g.ID
		lastSeen[c.ID] = s.places[c.ID].Last
		s.addLocked(c)
		channels = append(channels, c)
	}
	return channels, lastSeen
}

func (s *stateCache) add(c channelData) place {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addLocked(c)
}

func (s *stateCache) addLocked(c channelData) place {
	old := s.places[c.ID]
	// Events may leave the server out (Discord, Channel: Channel Structure).
	c.GuildID = cmp.Or(c.GuildID, cmp.Or(old.Guild, s.places[c.ParentID].Guild))
	p := place{Guild: c.GuildID, Name: c.Name, Last: c.LastID}
	if newer(old.Last, p.Last) {
		p.Last = old.Last
	}
	p.Private = discordgo.ChannelType(c.Type) == discordgo.ChannelTypeGuildPrivateThread
	p.OverwritesKnown = c.Overwrites != nil // the channel in an interaction has none
	for _, o := range c.Overwrites {
		if o.ID == c.GuildID {
			p.Deny, p.Allow = o.Deny, o.Allow
		}
	}
	switch discordgo.ChannelType(c.Type) {
	case discordgo.ChannelTypeGuildPublicThread, discordgo.ChannelTypeGuildPrivateThread, discordgo.ChannelTypeGuildNewsThread:
		p.Parent = c.ParentID
	case discordgo.ChannelTypeGuildCategory, discordgo.ChannelTypeGuildForum, discordgo.ChannelTypeGuildMedia,
		discordgo.ChannelTypeGuildStore, discordgo.ChannelTypeGuildDirectory:
		p.NoMessages = true
	}
	p.Hidden = s.hiddenLocked(c)
	s.places[c.ID] = p
	return p
}

// hiddenLocked reports whether a channel's overwrites keep the bot from reading it (Discord,
// Permissions: Permission Overwrites). It assumes that the server's roles allow reading: a wrong
// guess costs one refused request.
func (s *stateCache) hiddenLocked(c channelData) bool {
	g := s.guilds[c.GuildID]
	for _, id := range g.BotRoles {
		if g.Roles[id].Permissions&discordgo.PermissionAdministrator != 0 {
			return false
		}
	}
	const needed = discordgo.PermissionViewChannel | discordgo.PermissionReadMessageHistory
	can := bitset(needed)
	apply := func(who func(id string) bool) {
		var deny, allow bitset
		for _, o := range c.Overwrites {
			if who(o.ID) {
				deny |= o.Deny
				allow |= o.Allow
			}
		}
		can = can&^deny | allow&needed
	}
	apply(func(id string) bool { return id == c.GuildID }) // everyone
	apply(func(id string) bool { return slices.Contains(g.BotRoles, id) })
	apply(func(id string) bool { return id == s.me.ID })
	return can != needed
}

func (s *stateCache) remove(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.places, id)
}

// removeGuild removes a server that the bot was removed from.
func (s *stateCache) removeGuild(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.guilds, id)
	for c, p := range s.places {
		if p.Guild == id {
			delete(s.places, c)
		}
	}
}

// updateGuild changes a server if it is known.
func (s *stateCache) updateGuild(id string, change func(g *guild)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g, known := s.guilds[id]; known {
		change(&g)
		s.guilds[id] = g
	}
}

// guild returns a server; the zero value if it is unknown.
func (s *stateCache) guild(id string) guild {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.guilds[id]
}

func (s *stateCache) place(id string) (p place, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, known = s.places[id]
	return p, known
}

// setLastMessage sets the newest message of a place, unless a newer one is known.
func (s *stateCache) setLastMessage(id, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, known := s.places[id]; known && newer(message, p.Last) {
		p.Last = message
		s.places[id] = p
	}
}

// label returns the display name of a place; empty if unknown.
func (s *stateCache) label(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.places[id]
	server := s.guilds[p.Guild].Name
	if p.Parent != "" {
		return channel.Label(p.Name, s.places[p.Parent].Name, server)
	}
	return channel.Label("", p.Name, server)
}

// conversation returns the name of a place's conversation.
func (p place) conversation(id string) string {
	name := channel.Place{Connector: Name, Server: p.Guild, Channel: id}
	switch {
	case p.Guild == "":
		name.Server = channel.DirectServer
	case p.Parent != "":
		name.Channel, name.Thread = p.Parent, id
	}
	return name.String()
}
