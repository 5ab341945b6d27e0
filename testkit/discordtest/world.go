// The world is the whole state of the double. The Server's lock guards it, so its methods do not lock.

package discordtest

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/testkit/loopback"
)

type world struct {
	options Options
	url     string
	bot     *discordgo.User // its id is the application's too, as for applications created since 2016
	lastID  uint64

	content
	gateway

	handshakes []Handshake
	drop       int // events that will not be sent
	requests   []Request
	second     time.Time // start of the current window of the global limit
	inSecond   int
}

// content is who and what the guilds have.
type content struct {
	users        map[string]*discordgo.User // never changed
	guilds       map[string]*discordgo.Guild
	channels     map[string]*discordgo.Channel
	messages     map[string][]*Message // by channel, oldest first
	files        map[string]File       // by path
	commands     []*discordgo.ApplicationCommand
	interactions map[string]*Interaction
}

// gateway is the connections of bots.
type gateway struct {
	sessions    map[string]*session
	open        map[*connection]struct{}
	connections []*Connection
	identifies  int
	resetAt     time.Time         // when the count of IDENTIFYs starts anew; zero: none was counted
	lastStart   map[int]time.Time // of the last IDENTIFY, by bucket
	tokenReset  bool
}

func newWorld(o Options) world {
	w := world{
		options: o,
		content: content{
			users: map[string]*discordgo.User{}, guilds: map[string]*discordgo.Guild{}, channels: map[string]*discordgo.Channel{},
			messages: map[string][]*Message{}, files: map[string]File{}, interactions: map[string]*Interaction{},
		},
		gateway: gateway{sessions: map[string]*session{}, open: map[*connection]struct{}{}, lastStart: map[int]time.Time{}},
	}
	w.bot = &discordgo.User{ID: w.newID(), Username: "bot", Discriminator: "0000", Bot: true}
	w.users[w.bot.ID] = w.bot
	return w
}

// now returns the time by Discord's clock.
func (w *world) now() time.Time { return time.Now().Add(w.options.Ahead).UTC() }

// newID returns a snowflake: milliseconds since 2015 in the upper 42 bits (Discord, Reference: Snowflakes).
func (w *world) newID() string {
	const epoch = 1420070400000
	w.lastID = max(w.lastID+1, uint64(w.now().UnixMilli()-epoch)<<22)
	return strconv.FormatUint(w.lastID, 10)
}

// User adds a person.
func (s *Server) User(name string) (u *discordgo.User) {
	s.do(func(w *world) {
		u = &discordgo.User{ID: w.newID(), Username: name, Discriminator: "0"}
		w.users[u.ID] = u
	})
	return u
}

// OtherBot adds another app's bot.
func (s *Server) OtherBot(name string) *discordgo.User {
	u := s.User(name)
	s.do(func(*world) { u.Bot = true })
	return u
}

// Guild adds a guild with these members and the bot, and dispatches GUILD_CREATE. The first member owns it.
func (s *Server) Guild(name string, members ...*discordgo.User) (g discordgo.Guild) {
	s.do(func(w *world) {
		members = append(members, w.bot)
		n := &discordgo.Guild{ID: w.newID(), Name: name, OwnerID: members[0].ID}
		n.Roles = []*discordgo.Role{{ID: n.ID, Name: "@everyone", Permissions: defaultPermissions}}
		for _, u := range members {
			n.Members = append(n.Members, &discordgo.Member{User: u, Roles: []string{}, JoinedAt: w.now()})
		}
		w.guilds[n.ID] = n
		w.dispatch(event{name: "GUILD_CREATE", intent: discordgo.IntentGuilds, guild: n.ID, data: w.guildCreate(n)})
		g = *n
	})
	return g
}

// Rejoin has the bot join a guild now. The messages of before stay.
func (s *Server) Rejoin(guild string) {
	s.do(func(w *world) { w.guild(guild).JoinedAt = w.now() })
}

// member returns a user as a member of a guild, or nil.
func member(g *discordgo.Guild, user string) *discordgo.Member {
	for _, m := range g.Members {
		if m.User.ID == user {
			return m
		}
	}
	return nil
}

// Channel adds a text channel to a guild, with the default permissions for the bot; see Deny.
func (s *Server) Channel(guild, name string) discordgo.Channel {
	return s.addChannel("CHANNEL_CREATE", func(w *world) *discordgo.Channel {
		return &discordgo.Channel{
			Type: discordgo.ChannelTypeGuildText, GuildID: w.guild(guild).ID, Name: name, PermissionOverwrites: []*discordgo.PermissionOverwrite{},
		}
	})
}

// Direct returns a direct message channel, of which the bot learns by its messages (Discord, Gateway Events: Channel Create).
func (s *Server) Direct(user string) (c discordgo.Channel) {
	s.do(func(w *world) { c = *w.direct(w.user(user)) })
	return c
}

// direct returns the direct message channel with a user, and opens it if there is none.
func (w *world) direct(u *discordgo.User) *discordgo.Channel {
	for _, known := range w.channels {
		if known.Type == discordgo.ChannelTypeDM && known.Recipients[0] == u {
			return known
		}
	}
	c := &discordgo.Channel{ID: w.newID(), Type: discordgo.ChannelTypeDM, Recipients: []*discordgo.User{u}}
	w.channels[c.ID] = c
	return c
}

// createDirect opens a direct message channel (Discord, User: Create DM). The error is that of other unknown users (judgement).
func (w *world) createDirect(q query) any {
	var asked struct {
		Recipient string `json:"recipient_id"`
	}
	_ = json.Unmarshal(q.body, &asked) // checkRequest has read it
	u := w.users[asked.Recipient]
	refuseIf(u == nil || u.Bot, &apiError{status: http.StatusBadRequest, code: 50033, message: "Invalid Recipient(s)"})
	return w.direct(u)
}

func (s *Server) addChannel(announce string, make func(*world) *discordgo.Channel) (c discordgo.Channel) {
	s.do(func(w *world) {
		n := make(w)
		n.ID = w.newID()
		w.channels[n.ID] = n
		var data any = n
		if n.IsThread() {
			data = discordgo.ThreadCreate{Channel: n, NewlyCreated: true}
		}
		w.announce(n, event{name: announce, intent: discordgo.IntentGuilds, data: data})
		c = *n
	})
	return c
}

func (w *world) user(id string) *discordgo.User   { return loopback.Must(w.users, id, "user") }
func (w *world) guild(id string) *discordgo.Guild { return loopback.Must(w.guilds, id, "guild") }

func (w *world) channel(id string) *discordgo.Channel {
	return loopback.Must(w.channels, id, "channel")
}
