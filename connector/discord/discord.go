// Package discord connects Cairn to Discord: events come from the gateway, replies go to the REST API.
package discord

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"cairn/channel"
	"cairn/chat"
	"cairn/connector/platform"
)

// Name is the first part of the names of Discord conversations.
const Name = "discord"

// Discord is the connector: the parts that read and write, and what they share. Its methods are safe for concurrent use.
type Discord struct {
	*platform.Base
	*history
	*poster
	o      Options
	pauses *pauses
	files  *platform.Files
	rest   *rest
	state  *stateCache
	queue  *platform.KeyedQueue[func()] // work on events, by channel

	shards *shards
}

var (
	_ channel.Connector = (*Discord)(nil)
	_ channel.Indicator = (*writer)(nil)
	_ channel.Adopter   = (*writer)(nil)
	_ channel.Completer = (*Discord)(nil)
	_ channel.Historian = (*Discord)(nil)
	_ channel.Reactor   = (*Discord)(nil)
	_ channel.Whisperer = (*Discord)(nil)

	_ channel.WriteChecker = (*Discord)(nil)
	_ channel.Reader       = (*Discord)(nil)
	_ channel.Linker       = (*Discord)(nil)
	_ channel.Resolver     = (*Discord)(nil)
	_ channel.Sharded      = (*Discord)(nil)
)

// pauses are the connector's waits and timeouts. Tests set shorter ones.
type pauses struct {
	identify platform.Backoff // between two new sessions; First: Discord's 5 s (Gateway: Rate Limiting) and some margin

	open      time.Duration // from the dial to READY
	firstPost time.Duration // from the first text of a reply to its first message, so that a short reply is posted complete
	edit      time.Duration // between two edits of a reply; Discord documents no limit, but starts refusing edits below this
	typing    time.Duration // between two typing requests; Discord shows each for 10 s
	settings  time.Duration // between two looks whether the settings let other people use the commands
	review    time.Duration // how far back a quiet channel is checked for edits and deletions while the bot was offline
}

// Options are the settings of the connector.
type Options struct {
	Token            string   // of the bot, with or without the prefix "Bot "; never logged
	APIBase          string   // root of a compatible server, e.g. "http://localhost:8080"; empty: Discord itself
	Shards           int      // connections among which the servers are divided; 0: as many as Discord recommends when the connector starts
	Reactions        []string // which of platform.Reactions count when people put them on messages
	Threads          string   // which answers in a server's channel go to a thread from their question, one of ThreadChoices; empty: "never"
	MentionOnly      bool     // do without the privileged message content intent, and read only what is addressed to the bot
	AttachmentTokens int      // for text files, per message; 0: text files are not fetched
	Pictures         bool     // fetch pictures, for models that can see

	Voice *platform.Transcriber // transcribes voice; nil: it is not transcribed
	PDF   *platform.PDFReader   // reads PDFs; nil: they are not read

	CatchUp time.Duration // how far back to read unknown channels after the bot was offline; 0: channel.DefaultCatchUp
	Log     *slog.Logger  // nil: slog.Default()
}

// New returns a connector, which does nothing before Run. The error says which option is invalid.
func New(o Options) (*Discord, error) {
	o.Token = strings.TrimPrefix(strings.TrimSpace(o.Token), "Bot ")
	if o.Token == "" || strings.ContainsAny(o.Token, " \t\r\n") {
		return nil, errors.New("DISCORD_TOKEN is not a bot token: copy it from https://discord.com/developers/applications → your application → Bot → Reset Token")
	}
	o.APIBase = strings.TrimRight(cmp.Or(o.APIBase, "https://discord.com"), "/")
	if u, err := url.Parse(o.APIBase); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" {
		return nil, errors.New(`api_base under [discord] is not a server address: write it as "http://localhost:8080"`)
	}
	o.CatchUp = cmp.Or(o.CatchUp, channel.DefaultCatchUp)
	base := platform.NewBase(Name, o.Log)
	base.Link.Hint = silentHint
	base.MissedAfter = func(newest, _ string, since time.Time) string {
		if timeOf(newest).Before(since) {
			return ""
		}
		return newest // Discord delivers events in order
	}
	return assemble(o, base), nil
}

// defaultPauses are those of the connector, apart from tests.
func defaultPauses() *pauses {
	return &pauses{
		identify: platform.Backoff{First: 5500 * time.Millisecond, Max: maxIdentifyPause}, open: 20 * time.Second, firstPost: 700 * time.Millisecond,
		edit: 1200 * time.Millisecond, typing: 8 * time.Second, settings: time.Minute, review: 24 * time.Hour,
	}
}

// assemble makes the parts of the connector, each of those that it needs.
func assemble(o Options, base *platform.Base) *Discord {
	d := &Discord{
		Base: base, o: o, pauses: defaultPauses(), rest: newREST(o.APIBase, o.Token, &base.Clock), state: &stateCache{},
		queue: &platform.KeyedQueue[func()]{Group: base.Work},
	}
	d.files = &platform.Files{Tokens: o.AttachmentTokens, Pictures: o.Pictures, Fetch: d.rest.fetch, Voice: o.Voice, PDF: o.PDF}
	translator := &translator{base: base, state: d.state, files: d.files}
	d.history = &history{base: base, rest: d.rest, state: d.state, translator: translator}
	threads := &threads{base: base, rest: d.rest, state: d.state, history: d.history, on: o.Threads == threadsMention}
	d.poster = &poster{base: base, rest: d.rest, state: d.state, pauses: d.pauses, history: d.history, threads: threads}
	commands := &commands{base: base, rest: d.rest, state: d.state, queue: d.queue, poster: d.poster, reactions: o.Reactions}
	known := &known{}
	lookup := &lookup{rest: d.rest, state: d.state, page: serversPage, changed: make(map[string]bool)}
	d.shards = newShards(&shards{
		base: base, rest: d.rest, pauses: d.pauses, queue: d.queue, setting: o.Shards, mentionOnly: o.MentionOnly, reactions: len(o.Reactions) > 0,
		newEvents: func(link *platform.Link, servers *servers) *events {
			return &events{
				base: base, link: link, rest: d.rest, state: d.state, queue: d.queue, translator: translator, history: d.history,
				backfill: &backfill{base: base, link: link, state: d.state, queue: d.queue, pauses: d.pauses, catchUp: o.CatchUp, known: known},
				servers:  servers, commands: commands, lookup: lookup,
			}
		},
	})
	d.history.openedAt = d.shards.openedAt
	return d
}

// silentHint is what to check when Discord, or a compatible server, does not answer.
const silentHint = "check that a firewall or proxy lets HTTPS and WebSockets to Discord through, and the server behind api_base if it is set; outages: https://discordstatus.com"

// Run serves Discord until ctx is done, then returns nil; or an error that says what a person has to fix. It runs only once.
func (d *Discord) Run(ctx context.Context, hub *channel.Hub) error {
	return d.Serve(ctx, hub, d.rest.client, d.shards.supervise)
}

// ShardOf implements channel.Sharded.
func (d *Discord) ShardOf(conversation string) int { return d.shards.shardOf(conversation) }

// Split splits a reply into messages.
func (d *Discord) Split(text string) []string { return split(text) }

const completeTimeout = 10 * time.Second // for texts and pictures

// Complete fetches the files of a message, and has its voice and PDFs read. A file that cannot be fetched stays described.
func (d *Discord) Complete(ctx context.Context, conversation string, m channel.Inbound) (channel.Inbound, error) {
	limited, cancel := context.WithTimeout(ctx, completeTimeout)
	defer cancel()
	var err error
	m.Attachments, err = d.files.Complete(limited, m.Attachments)
	m.Attachments = d.files.Extract(ctx, conversation, m)
	m.Incomplete = err != nil
	return m, err
}

func channelID(conversation string) string {
	p := chat.ParsePlace(conversation)
	return cmp.Or(p.Thread, p.Channel)
}
