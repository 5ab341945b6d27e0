// The world is the whole state of the double. The Server's lock guards it, so its methods do not
// lock.
package discordtest

import (
	"fmt"
	"strconv"
	"time"
)

type world struct {
	options Options
	url     string
	bot     User
	app     string // the application's id
	lastID  uint64
	changed chan struct{} // closed and replaced at each change

	users        map[string]*User
	guilds       map[string]*Guild
	channels     map[string]*Channel
	messages     map[string][]*Message // by channel, oldest first
	files        map[string]File       // by path
	commands     []Command
	interactions map[string]*Interaction
	permissions  map[string]int64 // of the bot, by channel, where they differ from the default

	sessions    map[string]*session
	open        map[*connection]struct{}
	connections []*Connection
	identifies  int
	lastStart   time.Time // of the last IDENTIFY
	tokenReset  bool

	handshakes []Handshake
	drop       int // events that will not be sent
	faults     []*Fault
	limits     []RouteLimit
	buckets    map[string]*bucket // by limit and top-level resource
	requests   []*Request
	invalid    int
	second     time.Time // start of the current window of the global limit
	inSecond   int
}

func newWorld(o Options) world {
	w := world{
		options: o, changed: make(chan struct{}),
		users: map[string]*User{}, guilds: map[string]*Guild{}, channels: map[string]*Channel{},
		messages: map[string][]*Message{}, files: map[string]File{},
		interactions: map[string]*Interaction{}, permissions: map[string]int64{}, buckets: map[string]*bucket{},
		sessions: map[string]*session{}, open: map[*connection]struct{}{},
	}
	w.bot = User{ID: w.newID(), Username: "bot", Discriminator: "0000", Bot: true}
	w.users[w.bot.ID] = &w.bot
	w.app = w.bot.ID // for applications created since 2016 both ids are the same
	return w
}

func (w *world) notifyChange() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// newID returns a snowflake: milliseconds since 2015 in the upper 42 bits, so that ids are ordered
// by time (Discord, Reference: Snowflakes).
func (w *world) newID() string {
	const epoch = 1420070400000
	w.lastID = max(w.lastID+1, uint64(time.Now().UnixMilli()-epoch)<<22)
	return strconv.FormatUint(w.lastID, 10)
}

// User is a person or a bot.
type User struct {
	ID            string `json:"id"`
	Username      string `json:"username"`
	GlobalName    string `json:"global_name,omitempty"`
	Discriminator string `json:"discriminator"`
	Bot           bool   `json:"bot,omitempty"`
}

// Member is a user in one guild.
type Member struct {
	User        *User     `json:"user,omitempty"` // absent in messages
	Nick        string    `json:"nick,omitempty"`
	Roles       []string  `json:"roles"`
	JoinedAt    time.Time `json:"joined_at"`
	Permissions string    `json:"permissions,omitempty"` // only in interactions
}

// Role is a role of a guild. Permissions is a decimal bit set.
type Role struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Permissions string `json:"permissions"`
}

// Guild is a guild, which people call a server.
type Guild struct {
	ID      string             `json:"id"`
	Name    string             `json:"name"`
	OwnerID string             `json:"owner_id"`
	Roles   []Role             `json:"roles"`
	Members map[string]*Member `json:"-"` // by user id
}

// Types of channels (Discord, Channel: Channel Types).
const (
	GuildText    = 0
	DirectChat   = 1
	PublicThread = 11
)

// Channel is a channel of a guild, a direct message channel, or a thread.
type Channel struct {
	ID         string          `json:"id"`
	Type       int             `json:"type"`
	GuildID    string          `json:"guild_id,omitempty"`
	Name       string          `json:"name,omitempty"`
	ParentID   string          `json:"parent_id,omitempty"`
	OwnerID    string          `json:"owner_id,omitempty"`
	Recipients []User          `json:"recipients,omitempty"`
	LastID     string          `json:"last_message_id,omitempty"`
	Thread     *ThreadMetadata `json:"thread_metadata,omitempty"`
}

// User adds a person.
func (s *Server) User(name string) User { return s.addUser(name, false) }

// OtherBot adds a bot that is not the client.
func (s *Server) OtherBot(name string) User { return s.addUser(name, true) }

func (s *Server) addUser(name string, bot bool) (u User) {
	s.do(func(w *world) {
		u = User{ID: w.newID(), Username: name, Discriminator: "0", Bot: bot}
		w.users[u.ID] = &u
	})
	return u
}

// Guild adds a guild with these members and the bot, and dispatches GUILD_CREATE.
func (s *Server) Guild(name string, members ...User) (g Guild) {
	s.do(func(w *world) {
		n := &Guild{ID: w.newID(), Name: name, OwnerID: w.bot.ID, Members: map[string]*Member{}}
		if len(members) > 0 {
			n.OwnerID = members[0].ID
		}
		n.Roles = []Role{{ID: n.ID, Name: "@everyone", Permissions: "0"}}
		for _, u := range append(members, w.bot) {
			n.Members[u.ID] = &Member{User: w.user(u.ID), Roles: []string{}, JoinedAt: time.Now().UTC()}
		}
		w.guilds[n.ID] = n
		w.dispatch(event{name: "GUILD_CREATE", intent: IntentGuilds, data: w.guildCreate(n)})
		g = *n
	})
	return g
}

// Channel adds a text channel to a guild, with the default permissions for the bot; see Deny.
func (s *Server) Channel(guild, name string) Channel {
	return s.addChannel("CHANNEL_CREATE", func(w *world) *Channel {
		return &Channel{Type: GuildText, GuildID: w.guild(guild).ID, Name: name}
	})
}

// Direct returns the direct message channel of the bot and a user. The bot learns of it only
// through its messages (Discord, Gateway Events: Channel Create).
func (s *Server) Direct(user string) (c Channel) {
	s.do(func(w *world) { c = *w.direct(w.user(user)) })
	return c
}

func (w *world) direct(u *User) *Channel {
	for _, c := range w.channels {
		if c.Type == DirectChat && c.Recipients[0].ID == u.ID {
			return c
		}
	}
	c := &Channel{ID: w.newID(), Type: DirectChat, Recipients: []User{*u}}
	w.channels[c.ID] = c
	return c
}

func (s *Server) addChannel(announce string, make func(*world) *Channel) (c Channel) {
	s.do(func(w *world) { c = *w.addChannel(announce, make(w)) })
	return c
}

func (w *world) addChannel(announce string, c *Channel) *Channel {
	set(&c.ID, w.newID())
	w.channels[c.ID] = c
	var data any = *c
	if c.Thread != nil {
		data = newThreadEvent{*c, true}
	}
	if w.may(c, PermissionViewChannel) {
		w.dispatch(event{name: announce, intent: IntentGuilds, data: data})
	}
	return c
}

func (w *world) user(id string) *User       { return must(w.users, id, "user") }
func (w *world) guild(id string) *Guild     { return must(w.guilds, id, "guild") }
func (w *world) channel(id string) *Channel { return must(w.channels, id, "channel") }

func must[T any](m map[string]*T, id, what string) *T {
	if v, ok := m[id]; ok {
		return v
	}
	panic(fmt.Sprintf("discordtest: the script names a %s that is not there: %q", what, id))
}
