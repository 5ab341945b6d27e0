// Servers, channels, threads and roles, as gateway events describe them, and who may read a channel.

package discord

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/chat"
)

// stateCache has no messages and no members. What it returns is a copy. Only the goroutine of its shard changes a server.
type stateCache struct {
	bot    atomic.Pointer[self] // nil: unknown
	places sync.Map             // by id
	guilds sync.Map             // by id
}

// self is who the bot is.
type self struct {
	user
	app string // id of the application, needed to register commands
}

// self returns who the bot is; the zero value before READY.
func (s *stateCache) self() self {
	if bot := s.bot.Load(); bot != nil {
		return *bot
	}
	return self{}
}

// place returns a channel or a thread; the zero value if it is unknown.
func (s *stateCache) place(id string) (p place) {
	if known, ok := s.places.Load(id); ok {
		p = known.(place)
	}
	return p
}

// guild returns a server; the zero value if it is unknown.
func (s *stateCache) guild(id string) (g guild) {
	if known, ok := s.guilds.Load(id); ok {
		g = known.(guild)
	}
	return g
}

// addGuild adds or replaces a server. It returns the server's channels and threads.
func (s *stateCache) addGuild(g guild) (channels []place) {
	me := s.self().ID
	for _, r := range g.Roles {
		if r.Tags.BotID != "" && r.Tags.BotID == me {
			g.botRoles = append(g.botRoles, r.ID)
		}
	}
	for _, m := range g.Members {
		if m.User != nil && m.User.ID == me {
			m.Roles = slices.Concat(g.botRoles, m.Roles)
			g.noteBot(m)
		}
	}
	channels = slices.Concat(g.Channels, g.Threads)
	g.Channels = nil
	g.Threads = nil
	g.Members = nil
	s.guilds.Store(g.ID, g)
	for i := range channels {
		channels[i].Guild = g.ID
		channels[i] = s.add(channels[i])
	}
	return channels
}

// add adds or replaces a place. Its event may leave the server out (Discord, Channel: Channel Structure).
func (s *stateCache) add(p place) place {
	p.Guild = cmp.Or(p.Guild, s.place(p.ID).Guild, s.place(p.Parent).Guild)
	p = p.withoutCategory()
	s.places.Store(p.ID, p)
	return p
}

func (s *stateCache) removeGuild(id string) {
	s.guilds.Delete(id)
	s.places.Range(func(key, p any) bool {
		if p.(place).Guild == id {
			s.places.Delete(key)
		}
		return true
	})
}

func (s *stateCache) updateGuild(id string, change func(g *guild)) {
	if g := s.guild(id); g.ID != "" {
		change(&g)
		s.guilds.Store(id, g)
	}
}

// label returns the display name of a place; empty if unknown.
func (s *stateCache) label(id string) string {
	p := s.place(id)
	thread := ""
	server := s.guild(p.Guild).Name
	if p.Parent != "" {
		p, thread = s.place(p.Parent), p.Name
	}
	return chat.PlaceLabel(thread, p.Name, server)
}

// audience returns who may read a place; empty if unknown.
func (s *stateCache) audience(id string) channel.Audience {
	p := s.place(id)
	everyone := s.guild(p.Guild).role(p.Guild)
	can := everyone.Permissions
	switch {
	case p.ID == "":
		return ""
	case p.Guild == "" || p.Type == discordgo.ChannelTypeGuildPrivateThread:
		return channel.Members
	case p.Parent != "" && s.audience(p.Parent) == channel.ServerWide:
		return channel.ServerWide
	case p.Parent != "":
		return channel.ChannelWide
	case everyone.ID == "" || p.Overwrites == nil:
		return ""
	case can&discordgo.PermissionAdministrator == 0 && p.changed(can, p.Guild)&toRead != toRead:
		return channel.Members
	}
	return channel.ServerWide
}

// hidden reports whether a channel's overwrites hide it from the bot, if its roles do not: a wrong guess costs a request.
func (s *stateCache) hidden(id string) bool {
	p := s.place(id)
	g := s.guild(p.Guild)
	can := p.overwritten(toRead, s.self().ID, g.botRoles)
	return g.permissions(g.botRoles)&discordgo.PermissionAdministrator == 0 && can&toRead != toRead
}

type place struct {
	ID, Name   string
	Type       discordgo.ChannelType
	Guild      string                `json:"guild_id"`
	Owner      string                `json:"owner_id"`  // of a thread: who started it
	Parent     string                `json:"parent_id"` // in the state cache only of threads: the channel
	Last       string                `json:"last_message_id"`
	Overwrites []overwrite           `json:"permission_overwrites"` // nil: unknown
	Thread     struct{ Locked bool } `json:"thread_metadata"`
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

	botRoles []string  // ids of the bot's roles
	botKnown bool      // these are all of them
	timedOut time.Time // until when the bot may only read
}

// noteBot notes what the bot is in the server.
func (g *guild) noteBot(m member) {
	g.botRoles = m.Roles
	g.botKnown = true
	g.timedOut = m.timedOut()
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

// withoutCategory returns the place with a parent only if it is a thread: that of a channel is a category.
func (p place) withoutCategory() place {
	switch p.Type {
	case discordgo.ChannelTypeGuildPublicThread, discordgo.ChannelTypeGuildPrivateThread, discordgo.ChannelTypeGuildNewsThread:
	default:
		p.Parent = ""
	}
	return p
}

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
	name := chat.Place{Connector: Name, Server: cmp.Or(p.Guild, chat.DirectServer), Channel: p.ID}
	if p.Guild != "" && p.Parent != "" {
		name.Channel = p.Parent
		name.Thread = p.ID
	}
	return name.String()
}

func placeOf(conversation string) place {
	p := chat.ParsePlace(conversation)
	at := place{Guild: p.Server}
	if p.Direct() {
		at.Guild = ""
	}
	if p.Thread != "" {
		at.Parent = p.Channel
	}
	return at
}
