// The state cache: servers, channels, threads and roles, from gateway events.

package discord

import (
	"cmp"
	"maps"
	"slices"
	"sync"

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
	p := s.places[id]
	server := s.guilds[p.Guild].Name
	if p.Parent != "" {
		return channel.Label(p.Name, s.places[p.Parent].Name, server)
	}
	return channel.Label("", p.Name, server)
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

// hidden reports whether a channel's overwrites keep the bot from reading it. It assumes that the
// server's roles allow reading: a wrong guess costs one refused request.
func (s *stateCache) hidden(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.places[id]
	g := s.guilds[p.Guild]
	can := p.changed(p.changed(p.changed(toRead, p.Guild), g.botRoles...), s.me.ID)
	return g.permissions(g.botRoles)&discordgo.PermissionAdministrator == 0 && can&toRead != toRead
}
