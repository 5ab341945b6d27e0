// The state cache: servers, channels, threads and roles, from gateway events.

package discord

import (
	"cmp"
	"slices"
	"sync"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
)

// stateCache knows where things are and what they are called, from gateway events.
// It holds no messages and no members.
type stateCache struct {
	mu     sync.Mutex // guards everything below
	me     user
	app    string // id of the application, for its commands
	places map[string]place
	guilds map[string]guild
}

// place is a channel or a thread.
type place struct {
	Guild           string
	Parent          string // of a thread; empty: it is none
	Name            string
	Last            string // id of its newest message
	Hidden          bool   // from the bot
	Silent          bool   // of a kind that holds no messages
	Secret          bool   // a private thread
	OverwritesKnown bool   // the next two are known
	Deny            bitset // what the channel takes from everyone on the server
	Allow           bitset // what it gives everyone
}

// guild is what people call a server.
type guild struct {
	Name  string
	Owner string
	Roles map[string]role
	Mine  []string // ids of the bot's roles
}

type role struct {
	Name        string
	Permissions bitset
}

func newStateCache() *stateCache {
	return &stateCache{places: make(map[string]place), guilds: make(map[string]guild)}
}

func (a *stateCache) setSelf(me user, app string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.me, a.app = me, app
}

// setSelfIfUnknown sets who the bot is, unless READY said it.
func (a *stateCache) setSelfIfUnknown(me user) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.me.ID == "" {
		a.me = me
	}
}

func (a *stateCache) self() (me user, app string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.me, a.app
}

// addGuild replaces a server, and returns its channels and threads, and the newest message known
// of each before.
func (a *stateCache) addGuild(g guildData) (channels []channelData, before map[string]string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known := guild{Name: g.Name, Owner: g.OwnerID, Roles: make(map[string]role)}
	for _, r := range g.Roles {
		known.Roles[r.ID] = role{r.Name, r.Permissions}
		if r.Tags.BotID != "" && r.Tags.BotID == a.me.ID {
			known.Mine = append(known.Mine, r.ID)
		}
	}
	for _, m := range g.Members {
		if m.User != nil && m.User.ID == a.me.ID {
			known.Mine = append(known.Mine, m.Roles...)
		}
	}
	a.guilds[g.ID] = known
	before = make(map[string]string)
	for _, c := range slices.Concat(g.Channels, g.Threads) {
		c.GuildID = g.ID
		before[c.ID] = a.places[c.ID].Last
		a.addLocked(c)
		channels = append(channels, c)
	}
	return channels, before
}

func (a *stateCache) add(c channelData) place {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.addLocked(c)
}

func (a *stateCache) addLocked(c channelData) place {
	old := a.places[c.ID]
	// Events may leave the server out (Discord, Channel: Channel Structure).
	c.GuildID = cmp.Or(c.GuildID, cmp.Or(old.Guild, a.places[c.ParentID].Guild))
	p := place{Guild: c.GuildID, Name: c.Name, Last: c.LastID}
	if newer(old.Last, p.Last) {
		p.Last = old.Last
	}
	p.Secret = discordgo.ChannelType(c.Type) == discordgo.ChannelTypeGuildPrivateThread
	p.OverwritesKnown = c.Overwrites != nil // the channel of an interaction has none
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
		p.Silent = true
	}
	p.Hidden = a.hiddenLocked(c)
	a.places[c.ID] = p
	return p
}

// hiddenLocked reports whether a channel's own overwrites keep the bot from reading it
// (Discord, Permissions: Permission Overwrites). What servers grant to begin with is
// taken for granted: a wrong guess costs one refused request.
func (a *stateCache) hiddenLocked(c channelData) bool {
	g := a.guilds[c.GuildID]
	for _, id := range g.Mine {
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
	apply(func(id string) bool { return slices.Contains(g.Mine, id) })
	apply(func(id string) bool { return id == a.me.ID })
	return can != needed
}

func (a *stateCache) remove(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.places, id)
}

// removeGuild removes a server that the bot was removed from.
func (a *stateCache) removeGuild(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.guilds, id)
	for c, p := range a.places {
		if p.Guild == id {
			delete(a.places, c)
		}
	}
}

// setRole replaces a role; one without a name was deleted.
func (a *stateCache) setRole(guild string, r roleData) {
	a.mu.Lock()
	defer a.mu.Unlock()
	g, known := a.guilds[guild]
	switch {
	case !known:
	case r.Name == "":
		delete(g.Roles, r.ID)
	default:
		g.Roles[r.ID] = role{r.Name, r.Permissions}
	}
}

// setMine sets the roles of the bot.
func (a *stateCache) setMine(guild string, roles []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if g, known := a.guilds[guild]; known {
		g.Mine = roles
		a.guilds[guild] = g
	}
}

func (a *stateCache) place(id string) (p place, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p, known = a.places[id]
	return p, known
}

// setLastMessage sets the newest message of a place.
func (a *stateCache) setLastMessage(id, message string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p, known := a.places[id]; known && newer(message, p.Last) {
		p.Last = message
		a.places[id] = p
	}
}

// label is the display name of a place; empty if unknown.
func (a *stateCache) label(id string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.places[id]
	server := a.guilds[p.Guild].Name
	if p.Parent != "" {
		return channel.Label(p.Name, a.places[p.Parent].Name, server)
	}
	return channel.Label("", p.Name, server)
}

// roleName is empty for a role that is not known.
func (a *stateCache) roleName(guild, id string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.guilds[guild].Roles[id].Name
}

// hasRole reports whether the bot itself has one of these roles.
func (a *stateCache) hasRole(guild string, roles []string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(a.guilds[guild].Mine, func(id string) bool { return slices.Contains(roles, id) })
}

// trusts reports whether a server trusts somebody with these roles to manage it.
func (a *stateCache) trusts(guild, user string, roles []string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	g := a.guilds[guild]
	permissions := g.Roles[guild].Permissions // everyone's
	for _, id := range roles {
		permissions |= g.Roles[id].Permissions
	}
	return g.Owner != "" && g.Owner == user || manages(permissions)
}

// conversation is the name of the conversation that a place is.
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
