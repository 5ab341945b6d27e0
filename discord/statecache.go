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

// addGuild adds or replaces a server. It returns the server's channels and threads.
func (s *stateCache) addGuild(g guildData) (channels []place) {
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
	for _, p := range slices.Concat(g.Channels, g.Threads) {
		p.Guild = g.ID
		channels = append(channels, s.addLocked(p))
	}
	return channels
}

func (s *stateCache) add(p place) place {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addLocked(p)
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
