// Package discord connects Cairn to Discord: events come from the gateway, replies go to the REST API.
package discord

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/chat"
	"cairn/connector/platform"
)

// Name is the first part of the names of Discord conversations.
const Name = "discord"

// Discord is the connector. Its methods are safe for concurrent use.
type Discord struct {
	*platform.Base
	o               Options
	files           platform.Files
	rest            *rest
	state           stateCache
	queue           platform.KeyedQueue[func()] // work on events, by channel
	gaps            sync.Map                    // unchecked gaps since the last session, by conversation: the id after which the gap begins, or "" if unknown
	notFirstStart   bool                        // this process or an earlier one had a session or conversations; used only by the goroutine in Run, like the next three
	hadSession      bool                        // this process had a session
	lastIdentify    time.Time                   // when the latest session began
	nextIdentify    time.Time                   // when the next session may begin
	own             platform.Cache              // the bot's own messages
	reactionRefused platform.Cache              // channels in which Discord refuses reactions
	started         time.Time                   // an earlier process may have started answering messages older than this
	registered      atomic.Bool                 // the commands are registered, or being registered
	servers         servers                     // used only by the goroutine in Run
	pauses          pauses
}

var (
	_ channel.Connector = (*Discord)(nil)
	_ channel.Indicator = (*writer)(nil)
	_ channel.Completer = (*Discord)(nil)
	_ channel.Historian = (*Discord)(nil)
	_ channel.Reactor   = (*Discord)(nil)
	_ channel.Whisperer = (*Discord)(nil)

	_ channel.WriteChecker = (*Discord)(nil)
)

// pauses are the connector's waits and timeouts. Tests set shorter ones.
type pauses struct {
	identify platform.Backoff // between two new sessions; First: Discord's 5 s (Gateway: Rate Limiting) and some margin

	open      time.Duration // from the dial to READY
	firstPost time.Duration // from the first text of a reply to its first message, so that a short reply is posted whole
	edit      time.Duration // between two edits of a reply; Discord documents no limit, but starts refusing edits below this
	typing    time.Duration // between two typing requests; Discord shows each for 10 s
	review    time.Duration // how far back a quiet channel is checked for edits and deletions made while the bot was offline
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
	base.Link.Pause = platform.Backoff{First: time.Second, Most: maxPause}
	base.Link.Steady = steadyAfter
	base.Link.Hint = silentHint
	d := &Discord{
		Base: base, o: o, rest: newREST(o.APIBase, o.Token, &base.Clock), started: time.Now(),
		pauses: pauses{
			identify: platform.Backoff{First: 5500 * time.Millisecond, Most: maxIdentifyPause}, open: 20 * time.Second, firstPost: 700 * time.Millisecond,
			edit: 1200 * time.Millisecond, typing: 8 * time.Second, review: 24 * time.Hour,
		},
		servers: servers{ids: make(map[string]bool)},
		queue:   platform.KeyedQueue[func()]{Group: base.Work, Do: platform.CallEach},
	}
	d.MissedAfter = func(newest, _ string, since time.Time) string {
		if timeOf(newest).Before(since) {
			return ""
		}
		return newest // Discord delivers events in order
	}
	d.files = platform.Files{Tokens: o.AttachmentTokens, Pictures: o.Pictures, Fetch: d.fetch}
	return d, nil
}

// silentHint is what to check when Discord, or a compatible server, does not answer.
const silentHint = "check that a firewall or proxy lets HTTPS and WebSockets to Discord through, and the server behind api_base if it is set; outages: https://discordstatus.com"

// Run serves Discord until ctx is done, then returns nil; or an error that says what a person has to fix. It runs only once.
func (d *Discord) Run(ctx context.Context, hub *channel.Hub) error {
	return d.Serve(ctx, hub, d.rest.client, d.supervise)
}

func channelID(conversation string) string {
	p := chat.ParsePlace(conversation)
	return cmp.Or(p.Thread, p.Channel)
}

// contentFlags are those of an app, verified or not, that may read message content (Discord, Application: Application Flags).
const contentFlags = 1<<18 | 1<<19

const invitePermissions = discordgo.PermissionViewChannel | discordgo.PermissionSendMessages | discordgo.PermissionSendMessagesInThreads |
	discordgo.PermissionReadMessageHistory | discordgo.PermissionAddReactions

// InviteURL returns the address at which people invite an application's bot to their server.
func InviteURL(application string) string {
	return fmt.Sprintf("https://discord.com/oauth2/authorize?client_id=%s&scope=bot%%20applications.commands&permissions=%d", url.QueryEscape(application), invitePermissions)
}

// Application is what Discord reports about a token.
type Application struct {
	ID        string                // for InviteURL
	Bot       string                // the bot's name
	NoContent bool                  // the bot may not read messages that are not addressed to it
	User      string                // id of the bot's user
	Servers   []discordgo.UserGuild // the first of them
	Count     int                   // of all servers, about
}

// ErrContentIntent is returned if Message Content Intent is needed but off. Its text says what to do.
var ErrContentIntent = errors.New(fatalMessages[4014])

// Application asks Discord what the token belongs to. The error says what a person has to do, or that Discord cannot be
// reached; the result then contains what was found before it.
func (d *Discord) Application(ctx context.Context) (found Application, err error) {
	defer d.rest.client.CloseIdleConnections()
	get := func(path string, into any) error {
		err := d.rest.do(ctx, call{method: http.MethodGet, path: path, into: into})
		return cmp.Or(fatal(err), err)
	}
	var self discordgo.User
	if err := get("/users/@me", &self); err != nil {
		return found, err
	}
	found.ID = self.ID
	found.User = self.ID
	found.Bot = self.Username
	var app struct {
		ID    string
		Flags int
		Count int `json:"approximate_guild_count"`
	}
	err = get("/applications/@me", &app)
	switch {
	case refusalIn(err).status == http.StatusNotFound: // a compatible server may not know this
	case err != nil:
		return found, err
	default:
		found.ID = cmp.Or(app.ID, found.ID)
		found.NoContent = app.Flags&contentFlags == 0
	}
	err = get("/users/@me/guilds", &found.Servers) // the first page of them
	found.Count = max(len(found.Servers), app.Count)
	return found, err
}

// Check asks Discord what the token allows, and returns its findings, one sentence each. Errors are those of Application.
func (d *Discord) Check(ctx context.Context) (facts []string, err error) {
	app, err := d.Application(ctx)
	facts = d.ClockFacts()
	if app.Bot != "" {
		facts = append(facts, fmt.Sprintf("the token is valid: the bot is %s", app.Bot))
	}
	switch {
	case err != nil:
		return facts, err
	case d.o.MentionOnly:
		facts = append(facts, "it answers only messages addressed to it: Message Content Intent is not needed")
	case app.NoContent:
		return facts, ErrContentIntent
	default:
		facts = append(facts, "Message Content Intent is on")
	}
	if len(app.Servers) == 0 {
		return facts, errors.New("the bot is in no server: invite it with " + InviteURL(app.ID))
	}
	facts = append(facts, fmt.Sprintf("servers with the bot: %d", app.Count))
	if app.Count >= manyServers {
		found, _ := d.findGateway(ctx) // its number only completes the warning
		facts = append(facts, "warning: "+crowded(app.Count, found.Shards))
	}
	unwritable, checked := d.readUnwritable(ctx, app.Servers, user{ID: app.User})
	if more := app.Count - checked; more > 0 {
		facts = append(facts, fmt.Sprintf("permissions to write were checked in %d of them, and not in %d more", checked, more))
	}
	return append(facts, platform.UnwritableFacts(unwritable)...), nil
}
