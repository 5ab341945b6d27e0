// Package discord is the door to Discord: its gateway brings what people say, its
// REST API takes what the bot answers.
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

// DefaultCatchUp is how far back the door looks in channels nothing is known of.
const DefaultCatchUp = time.Hour

// Discord is the door. Its methods are safe for concurrent use.
type Discord struct {
	o       Options
	log     *slog.Logger
	rest    *rest
	state   *stateCache
	queue   platform.KeyedQueue[func()] // what happens, by channel
	overran sync.Map                    // channels of which messages were left out of the queue
	work    *platform.Group
	gaps    *gaps
	throttle    *editThrottle
	commandLines   *platform.Cache // of commands, that do not fit a button
	seen    *platform.Cache // interactions and commands that were taken
	own     *platform.Cache // messages of the bot's own
	reactionRefused  *platform.Cache // channels in which the bot may not react
	started time.Time       // replies to older messages may have been begun by an earlier process

	linkIncident platform.Incident // the connection to the gateway
	storeIncident platform.Incident // messages that could not be stored

	registered atomic.Bool // the commands are, or are being
	connected  atomic.Bool // to the gateway, and its events are taken

	pauses pauses
	hub    *channel.Hub // set by Run, before anything that uses it starts
}

var (
	_ channel.Door      = (*Discord)(nil)
	_ channel.Completer = (*Discord)(nil)
	_ channel.Historian = (*Discord)(nil)
	_ channel.Reactor   = (*Discord)(nil)
)

// pauses are how long the door waits for what. Tests wait less.
type pauses struct {
	identify time.Duration // between two new sessions: Discord's 5 s (Gateway: Rate Limiting) and a little
	connect  time.Duration // before the first new attempt to connect
	resume   time.Duration // before a session is resumed that stood, at most: that is not counted
	open     time.Duration // from the dial to READY
	shown    time.Duration // from a reply's first words to its first message: a short one is posted whole
	typing   time.Duration // until Discord is told again that the bot types; people see it for 10 s
	review   time.Duration // after which nobody looks whether what was said in a quiet channel was changed while the bot was away
}

var defaultPauses = pauses{
	identify: 5500 * time.Millisecond, connect: time.Second, resume: 3 * time.Second, open: 20 * time.Second,
	shown: 700 * time.Millisecond, typing: 8 * time.Second, review: 24 * time.Hour,
}

// New returns the door that o describes. It starts nothing. The error says what
// cannot be right.
func New(o Options) (*Discord, error) {
	o.Token = strings.TrimPrefix(strings.TrimSpace(o.Token), "Bot ")
	if o.Token == "" || strings.ContainsAny(o.Token, " \t\r\n") {
		return nil, errors.New("DISCORD_TOKEN is no bot token: copy it from https://discord.com/developers/applications → your application → Bot → Reset Token")
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
	return &Discord{
		o: o, log: log, rest: newREST(base, o.Token), state: newStateCache(), work: work, gaps: newGaps(),
		queue: platform.KeyedQueue[func()]{Group: work, Do: platform.CallEach},
		throttle:  newEditThrottle(), commandLines: platform.NewCache(0), seen: platform.NewCache(seenFor), own: platform.NewCache(ownFor), reactionRefused: platform.NewCache(ownFor), started: time.Now(), pauses: defaultPauses,
		linkIncident: platform.Incident{Log: log, Failed: "connection_failed", Recovered: "connection_recovered"},
		storeIncident: platform.Incident{Log: log, Failed: "store_message_failed", Recovered: "store_message_recovered"},
	}, nil
}

// version is the end of an API's root as some people write it.
var version = regexp.MustCompile(`/api(/v\d+)?$`)

// root checks the root of the API and returns it without what follows the host.
func root(base string) (string, error) {
	if base == "" {
		return "https://discord.com", nil
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" {
		return "", errors.New(`api_base under [discord] is no address of a server: write it as "http://localhost:8080"`)
	}
	return version.ReplaceAllString(strings.TrimRight(base, "/"), ""), nil
}

// Name is "discord".
func (d *Discord) Name() string { return Name }

// Connected tells whether what people say is heard just now.
func (d *Discord) Connected() bool { return d.connected.Load() }

// Run talks until ctx is done, and returns nil then, or an error in words about
// what only a person can mend. Everything it started has ended when it returns.
func (d *Discord) Run(ctx context.Context, hub *channel.Hub) error {
	d.hub = hub
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !d.work.Open(ctx) {
		return errors.New("the door to Discord was opened before")
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

// target is the id of the channel or thread that a conversation is.
func channelID(conversation string) string {
	p := channel.ParsePlace(conversation)
	if p.Thread != "" {
		return p.Thread
	}
	return p.Channel
}
