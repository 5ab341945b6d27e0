// Package discord connects Cairn to Discord: events come from the gateway, replies go to the REST
// API.
package discord

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cairn/channel"
	"cairn/internal/platform"
)

// Name is the first part of the names of Discord's conversations.
const Name = "discord"

const (
	seenFor = 15 * time.Minute // at least: Discord repeats an event within minutes, if at all
	ownFor  = 24 * time.Hour   // at least: people reply to what was said lately
)

// DefaultCatchUp is how far back an unknown channel is read after an absence.
const DefaultCatchUp = time.Hour

// Discord is the connector. Its methods are safe for concurrent use.
type Discord struct {
	o               Options
	log             *slog.Logger
	files           platform.Files
	rest            *rest
	state           *stateCache
	queue           platform.KeyedQueue[func()] // work on events, by channel
	overran         sync.Map                    // channels whose queue was full, so that messages are read from history
	work            *platform.Group
	gaps            sync.Map        // conversations that may have missed messages since the last session, until that is checked: the id behind which the gap begins; empty: not known
	hereBefore      atomic.Bool     // the bot was here before, in this process or an earlier one
	hadSession      bool            // this process had a session; of the goroutine in Run
	commandLines    *platform.Cache // command lines too long for a button
	seen            *platform.Cache // interactions and commands already handled
	own             *platform.Cache // the bot's own messages
	nicks           *platform.Cache // of people, by server and user: history does not tell them
	reactionRefused *platform.Cache // channels in which Discord refuses reactions
	started         time.Time       // an earlier process may have started to answer older messages

	linkIncident  platform.Incident // the connection to the gateway
	storeIncident platform.Incident // messages that could not be stored

	registered atomic.Bool // the commands are, or are being
	connected  atomic.Bool // to the gateway, and its events are taken

	pauses pauses
	hub    *channel.Hub // set by Run, before anything that uses it starts
}

var (
	_ channel.Connector = (*Discord)(nil)
	_ channel.Indicator = (*writer)(nil)
	_ channel.Completer = (*Discord)(nil)
	_ channel.Historian = (*Discord)(nil)
	_ channel.Reactor   = (*Discord)(nil)
)

// pauses are the waits of the connector. Tests set shorter ones.
type pauses struct {
	identify time.Duration // between two new sessions: Discord's 5 s (Gateway: Rate Limiting) and a little
	connect  time.Duration // before the first new attempt to connect
	resume   time.Duration // at most, before an established session is resumed: Discord does not count those
	open     time.Duration // from the dial to READY
	shown    time.Duration // from a reply's first words to its first message: a short one is posted whole
	edit     time.Duration // between two edits of a reply: Discord names no number; below this it begins to refuse them
	typing   time.Duration // between two typing requests: Discord shows one for 10 s
	review   time.Duration // how far back messages of a quiet channel are checked for edits and deletions made during an absence
}

var defaultPauses = pauses{
	identify: 5500 * time.Millisecond, connect: time.Second, resume: 3 * time.Second, open: 20 * time.Second,
	shown: 700 * time.Millisecond, edit: 1200 * time.Millisecond, typing: 8 * time.Second, review: 24 * time.Hour,
}

// New returns a connector. It starts nothing. The error says which option is invalid.
func New(o Options) (*Discord, error) {
	o.Token = strings.TrimPrefix(strings.TrimSpace(o.Token), "Bot ")
	if o.Token == "" || strings.ContainsAny(o.Token, " \t\r\n") {
		return nil, errors.New("DISCORD_TOKEN is not a bot token: copy it from https://discord.com/developers/applications → your application → Bot → Reset Token")
	}
	base, err := root(o.APIBase)
	if err != nil {
		return nil, err
	}
	if o.CatchUp == 0 {
		o.CatchUp = DefaultCatchUp
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	log := o.Log.With("connector", Name)
	work := new(platform.Group)
	d := &Discord{
		o: o, log: log, rest: newREST(base, o.Token), state: newStateCache(), work: work,
		queue:        platform.KeyedQueue[func()]{Group: work, Do: platform.CallEach},
		commandLines: platform.NewCache(0), seen: platform.NewCache(seenFor), own: platform.NewCache(ownFor), nicks: platform.NewCache(0), reactionRefused: platform.NewCache(ownFor), started: time.Now(), pauses: defaultPauses,
		linkIncident:  platform.Incident{Log: log, Failed: "connection_failed", Recovered: "connection_recovered"},
		storeIncident: platform.Incident{Log: log, Failed: "store_message_failed", Recovered: "store_message_recovered"},
	}
	d.files = platform.Files{Tokens: o.AttachmentTokens, Pictures: o.Pictures, Fetch: d.fetch}
	return d, nil
}

// version is a suffix that some people give the API root.
var version = regexp.MustCompile(`/api(/v\d+)?$`)

// root checks the root of the API and returns it without what follows the host.
func root(base string) (string, error) {
	if base == "" {
		return "https://discord.com", nil
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" {
		return "", errors.New(`api_base under [discord] is not a server address: write it as "http://localhost:8080"`)
	}
	return version.ReplaceAllString(strings.TrimRight(base, "/"), ""), nil
}

// Name is "discord".
func (d *Discord) Name() string { return Name }

// Connected reports whether the gateway connection is up.
func (d *Discord) Connected() bool { return d.connected.Load() }

// Run serves Discord until ctx is done and returns nil then. An error is one that only a person can
// fix, and says how. All goroutines have ended when it returns.
func (d *Discord) Run(ctx context.Context, hub *channel.Hub) error {
	d.hub = hub
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !d.work.Open(ctx) {
		return errors.New("discord: Run was called before")
	}
	err := d.supervise(ctx)
	cancel()
	d.work.Close()
	d.rest.client.CloseIdleConnections()
	if err != nil {
		return fmt.Errorf("discord: %w", err)
	}
	return nil
}

// channelID is the id of the channel or thread that a conversation is.
func channelID(conversation string) string {
	p := channel.ParsePlace(conversation)
	if p.Thread != "" {
		return p.Thread
	}
	return p.Channel
}

// Options are the settings of the connector.
type Options struct {
	Token            string        // of the bot, without "Bot " before it; never logged
	APIBase          string        // root of a compatible server, as "http://localhost:8080"; empty: Discord itself
	MentionOnly      bool          // do without the privileged message content intent: only what is addressed to the bot is read
	AttachmentTokens int           // of text files, for each message; 0: their contents are not read
	Pictures         bool          // fetch pictures, for models that can see
	CatchUp          time.Duration // how far back to look, after an absence, in channels that nothing is known of; 0: an hour
	Log              *slog.Logger  // nil: slog.Default()
}
