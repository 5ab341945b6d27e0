// Package discord connects Cairn to Discord: events come from the gateway, replies go to the REST
// API.
package discord

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cairn/channel"
	"cairn/internal/platform"
)

// Name is the first part of the names of Discord conversations.
const Name = "discord"

// Discord is the connector. Its methods are safe for concurrent use.
type Discord struct {
	o               Options
	log             *slog.Logger
	files           platform.Files
	rest            *rest
	state           *stateCache
	queue           platform.KeyedQueue[func()] // work on events, by channel
	overflowed      sync.Map                    // channels whose queue was full, until what it had no room for is read
	work            *platform.Group
	gaps            sync.Map       // unchecked gaps since the last session, by conversation: the id after which the gap begins, or "" if unknown
	notFirstStart   bool           // this process or an earlier one had a session or conversations; used only by the goroutine in Run, like the next two
	hadSession      bool           // this process had a session
	lastIdentify    time.Time      // when the latest session began
	seen            platform.Cache // interactions and commands already handled
	own             platform.Cache // the bot's own messages
	reactionRefused platform.Cache // channels in which Discord refuses reactions
	started         time.Time      // an earlier process may have started answering messages older than this

	link          platform.Link     // to the gateway
	storeIncident platform.Incident // messages that could not be stored

	registered atomic.Bool // the commands are registered, or being registered

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

// pauses are the connector's waits and timeouts. Tests set shorter ones.
type pauses struct {
	identify  time.Duration // between two new sessions: Discord's 5 s (Gateway: Rate Limiting) and some margin
	connect   time.Duration // before the first attempt to reconnect; it doubles
	open      time.Duration // from the dial to READY
	firstPost time.Duration // from the first text of a reply to its first message, so that a short reply is posted whole
	edit      time.Duration // between two edits of a reply; Discord documents no limit, but starts refusing edits below this
	typing    time.Duration // between two typing requests; Discord shows each for 10 s
	review    time.Duration // how far back a quiet channel is checked for edits and deletions made while the bot was offline
}

var defaultPauses = pauses{
	identify: 5500 * time.Millisecond, connect: time.Second, open: 20 * time.Second,
	firstPost: 700 * time.Millisecond, edit: 1200 * time.Millisecond, typing: 8 * time.Second, review: 24 * time.Hour,
}

// New returns a connector, which does nothing before Run. The error says which option is invalid.
func New(o Options) (*Discord, error) {
	o.Token = strings.TrimPrefix(strings.TrimSpace(o.Token), "Bot ")
	if o.Token == "" || strings.ContainsAny(o.Token, " \t\r\n") {
		return nil, errors.New("DISCORD_TOKEN is not a bot token: copy it from https://discord.com/developers/applications → your application → Bot → Reset Token")
	}
	base, err := root(o.APIBase)
	if err != nil {
		return nil, err
	}
	o.CatchUp = cmp.Or(o.CatchUp, channel.DefaultCatchUp)
	log := cmp.Or(o.Log, slog.Default()).With("connector", Name)
	work := platform.NewGroup()
	d := &Discord{
		o: o, log: log, rest: newREST(base, o.Token), state: &stateCache{places: make(map[string]place), guilds: make(map[string]guild)}, work: work,
		queue:   platform.KeyedQueue[func()]{Group: work, Do: platform.CallEach},
		started: time.Now(), pauses: defaultPauses,
		link: platform.Link{
			Incident: platform.Incident{Log: log, Failed: "connection_failed", Recovered: "connection_recovered"}, Steady: steadyAfter,
		},
		storeIncident: platform.Incident{Log: log, Failed: "store_message_failed", Recovered: "store_message_recovered"},
	}
	d.files = platform.Files{Tokens: o.AttachmentTokens, Pictures: o.Pictures, Fetch: d.fetch}
	return d, nil
}

// root validates the root of the API and returns it without trailing slash.
func root(base string) (string, error) {
	if base == "" {
		return "https://discord.com", nil
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" {
		return "", errors.New(`api_base under [discord] is not a server address: write it as "http://localhost:8080"`)
	}
	return strings.TrimRight(base, "/"), nil
}

// Name returns "discord".
func (d *Discord) Name() string { return Name }

// Connected reports whether the gateway connection is up.
func (d *Discord) Connected() bool { return d.link.Connected() }

// Run serves Discord until ctx is done, and then returns nil. It returns an error only if a person
// has to fix something; the error says what. All goroutines have ended when Run returns. It can be
// called only once.
func (d *Discord) Run(ctx context.Context, hub *channel.Hub) error {
	d.hub = hub
	d.work.Open(ctx)
	err := d.supervise(d.work.Context())
	d.work.Close()
	d.rest.client.CloseIdleConnections()
	if err != nil {
		return fmt.Errorf("discord: %w", err)
	}
	return nil
}

// channelID returns the id of a conversation's channel or thread.
func channelID(conversation string) string {
	p := channel.ParsePlace(conversation)
	if p.Thread != "" {
		return p.Thread
	}
	return p.Channel
}

// Options are the settings of the connector.
type Options struct {
	Token            string        // of the bot, with or without the prefix "Bot "; never logged
	APIBase          string        // root of a compatible server, e.g. "http://localhost:8080"; empty: Discord itself
	MentionOnly      bool          // do without the privileged message content intent, and read only what is addressed to the bot
	AttachmentTokens int           // for text files, per message; 0: text files are not fetched
	Pictures         bool          // fetch pictures, for models that can see
	CatchUp          time.Duration // how far back to read unknown channels after the bot was offline; 0: channel.DefaultCatchUp
	Log              *slog.Logger  // nil: slog.Default()
}
