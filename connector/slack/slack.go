// Package slack connects Cairn to Slack: events come over Socket Mode, replies go to the Web API.
package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"cairn/channel"
	"cairn/channel/command"
	"cairn/chat"
	"cairn/connector/platform"
)

// Name is the first part of the names of Slack conversations.
const Name = "slack"

// Slack is the connector: the parts that read and write, and what they share. Its methods are safe for concurrent use.
type Slack struct {
	*platform.Base
	*history
	*replies
	o     Options
	times *times
	api   *api
	files *platform.Files

	self    *self
	names   *names
	recent  *recent
	home    *home
	sockets *sockets
}

// times are the connector's waits and timeouts. Tests set shorter ones.
type times struct {
	edit     time.Duration // between two edits of a message; chat.update allows 50 a minute
	status   time.Duration // after which a status is renewed; Slack removes it after 2 minutes
	dropped  time.Duration // how long Slack drops events before it says so again
	takeOver time.Duration // after which a process that took over looks for what the one before may have missed
	silence  time.Duration // after which a socket counts as dead; a third of it is between two PINGs
	answer   time.Duration // before the answer to a command is tried again
	list     time.Duration // before the second attempt to list the channels; it doubles
	complete time.Duration // for looking up the names and files of one message
	check    time.Duration // for what Check reads of the channels
	home     time.Duration // between two publications of a Home tab
	modal    time.Duration // for opening a modal, or checking what it says; Slack waits 3 s

	transcript time.Duration // how long Slack may take to transcribe a recording; a sixth of it is between two looks

	retry platform.Backoff // before showing a reply is tried again
}

var (
	_ channel.Connector = (*Slack)(nil)
	_ channel.Indicator = (*writer)(nil)
	_ channel.Adopter   = (*writer)(nil)
	_ channel.Keeper    = (*writer)(nil)
	_ channel.Completer = (*Slack)(nil)
	_ channel.Historian = (*Slack)(nil)
	_ channel.Forgetter = (*Slack)(nil)
	_ channel.Reactor   = (*Slack)(nil)
	_ channel.Whisperer = (*Slack)(nil)
	_ channel.Speller   = (*Slack)(nil)
	_ channel.Shared    = (*Slack)(nil)

	_ channel.WriteChecker = (*Slack)(nil)
	_ channel.Reader       = (*Slack)(nil)
	_ channel.Linker       = (*Slack)(nil)
	_ channel.Threader     = (*Slack)(nil)
	_ channel.Resolver     = (*Slack)(nil)
)

// Options are the settings of the connector.
type Options struct {
	BotToken         string // xoxb-…; never logged
	AppToken         string // xapp-…, with connections:write; never logged
	APIBase          string // Web API of a compatible server, e.g. "http://localhost:8080/api/"; empty: Slack itself
	AttachmentTokens int    // for text files, per message; 0: text files are not fetched
	Pictures         bool   // fetch pictures, for models that can see

	Voice *platform.Transcriber // transcribes what Slack does not; nil: nothing
	PDF   *platform.PDFReader   // reads PDFs; nil: they are not read

	Working   string   // how the bot shows that it is working on an answer, one of Workings; empty: "status"
	Reactions []string // which of platform.Reactions count when people put them on messages

	ReplyIn string        // where answers to messages outside of threads are posted, one of ReplyPlaces; empty: "auto"
	Direct  string        // what is a conversation in a direct message with an agent, one of Directs; empty: "one"
	CatchUp time.Duration // how far back to read unknown channels after the bot was offline; 0: channel.DefaultCatchUp
	Log     *slog.Logger  // nil: slog.Default()
}

// Workings are the values of Options.Working. Where Slack shows no status, "status" means "reaction".
var Workings = []string{workingStatus, workingReaction, workingPlaceholder, workingOff}

// ReplyPlaces are the values of Options.ReplyIn. "auto" is a thread under the answered message, but no thread in direct messages.
// In those with an agent it is always a thread.
var ReplyPlaces = []string{replyAuto, replyThread, replyChannel}

// Directs are the values of Options.Direct: all of a direct message is one conversation, or each of its threads is, as in channels.
var Directs = []string{"one", directThreads}

const directThreads = "threads"

const (
	workingStatus      = "status"
	workingReaction    = "reaction"
	workingPlaceholder = "placeholder"
	workingOff         = "off"

	replyAuto    = "auto"
	replyThread  = "thread"
	replyChannel = "channel"
)

// New returns a connector, which does nothing before Run.
func New(o Options) (*Slack, error) {
	o, err := o.check()
	if err != nil {
		return nil, fmt.Errorf("slack: %w", err)
	}
	base := platform.NewBase(Name, o.Log)
	base.Link.Reason = codeOf
	base.Link.Hint = silentHint
	base.MissedAfter = func(newest, first string, since time.Time) string {
		if timeOf(newest).Before(since) {
			return ""
		}
		return gapAfter(base.Clock.Now())(newest, first)
	}
	base.Beside = func() bool { return channel.FleetOf(base.Hub).StandsBy(Name) }
	return assemble(o, base), nil
}

// defaultTimes are those of the connector, apart from tests.
func defaultTimes() *times {
	return &times{
		edit: 1200 * time.Millisecond, status: 90 * time.Second, dropped: time.Minute, takeOver: time.Minute, silence: 30 * time.Second, answer: time.Second,
		list: time.Minute, complete: 10 * time.Second, check: platform.CheckTime,
		home: time.Second, modal: 2500 * time.Millisecond,
		transcript: 6 * time.Second, retry: platform.Backoff{First: 500 * time.Millisecond, Max: 5 * time.Second},
	}
}

// assemble makes the parts of the connector, each of those that it needs.
func assemble(o Options, base *platform.Base) *Slack {
	s := &Slack{Base: base, o: o, times: defaultTimes(), api: newAPI(o, &base.Clock), self: &self{}}
	s.names = &names{self: s.self, api: s.api, work: base.Work, log: base.Log}
	s.recent = &recent{self: s.self, threaded: o.Direct == directThreads}
	s.files = &platform.Files{Tokens: o.AttachmentTokens, Pictures: o.Pictures, Fetch: s.api.fetch, Convert: s.names.fileText, Voice: o.Voice, PDF: o.PDF}
	s.files.Transcript = (&transcripts{api: s.api, times: s.times, log: base.Log}).find
	translator := &translator{base: base, self: s.self, names: s.names, recent: s.recent, files: s.files, replyIn: o.ReplyIn}
	s.history = &history{base: base, api: s.api, self: s.self, recent: s.recent, translator: translator}
	poster := &poster{base: base, api: s.api, recent: s.recent, replyIn: o.ReplyIn, compatible: o.APIBase != ""}
	queue := &platform.KeyedQueue[event]{Group: base.Work}
	sessions := &sessions{base: base, api: s.api, self: s.self}
	commands := &commands{
		base: base, api: s.api, self: s.self, names: s.names, times: s.times, recent: s.recent, history: s.history, poster: poster,
		sessions: sessions, queue: queue, reactions: o.Reactions,
	}
	s.home = &home{base: base, api: s.api, self: s.self, times: s.times, commands: commands, looks: platform.KeyedQueue[struct{}]{Group: base.Work}}
	commands.home = s.home
	s.replies = &replies{
		poster: poster, self: s.self, times: s.times, history: s.history, commands: commands, sessions: sessions, working: o.Working,
	}
	backfill := &backfill{
		base: base, api: s.api, self: s.self, times: s.times, names: s.names, recent: s.recent, catchUp: o.CatchUp,
		queue: platform.KeyedQueue[missed]{Group: base.Work}, pace: rate.NewLimiter(rate.Every(pagePause), maxImmediate),
	}
	events := &events{
		base: base, self: s.self, names: s.names, recent: s.recent, translator: translator, backfill: backfill, commands: commands,
		home: s.home, queue: queue,
	}
	s.sockets = &sockets{base: base, api: s.api, times: s.times, backfill: backfill, events: events, commands: commands, home: s.home}
	return s
}

// check returns the options with defaults. The error says what is wrong, and where to find a missing token.
func (o Options) check() (Options, error) {
	switch {
	case o.BotToken == "":
		return o, errors.New("the bot token is missing: " + clickBotToken)
	case o.AppToken == "":
		return o, errors.New("the app-level token is missing: " + clickAppToken)
	case strings.HasPrefix(o.BotToken, "xapp-"), o.APIBase == "" && !strings.HasPrefix(o.BotToken, "xoxb-"):
		return o, errors.New("not a bot token, expected one that starts with xoxb-: " + clickBotToken)
	case strings.HasPrefix(o.AppToken, "xoxb-"), o.APIBase == "" && !strings.HasPrefix(o.AppToken, "xapp-"):
		return o, errors.New("not an app-level token, expected one that starts with xapp-: " + clickAppToken)
	}
	if o.APIBase != "" {
		base, err := url.Parse(o.APIBase)
		if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
			return o, fmt.Errorf("api_base is not a server address: write it as %q", "http://localhost:8080/api/")
		}
		base.Path = strings.TrimRight(base.Path, "/") + "/"
		if base.Path == "/" {
			base.Path = "/api/" // the usual path
		}
		o.APIBase = base.String()
	}
	o.Working, o.ReplyIn = cmp.Or(o.Working, workingStatus), cmp.Or(o.ReplyIn, replyAuto) // package config has checked them
	o.CatchUp = cmp.Or(o.CatchUp, channel.DefaultCatchUp)
	return o, nil
}

// silentHint is what to check when Slack, or a compatible server, does not answer.
const silentHint = "check that a firewall or proxy lets HTTPS and WebSockets to Slack through, and the server behind api_base if it is set; outages: https://slack-status.com"

// Run serves Slack until ctx is done, then returns nil; or an error that says what a person has to fix. It runs only once.
func (s *Slack) Run(ctx context.Context, hub *channel.Hub) error {
	return s.Serve(ctx, hub, s.api.http, s.supervise)
}

// supervise keeps a socket open until ctx is done, or a person has to fix something. First it finds out who the bot is.
func (s *Slack) supervise(ctx context.Context) error {
	return s.Link.Keep(ctx, func(ctx context.Context) error {
		if s.self.user == "" {
			if err := s.probeBot(s.Link.AwaitAnswers(ctx, "the answer to auth.test")); err != nil {
				return err
			}
			s.Work.Open(ctx)
			s.Work.Start(s.keepToLease)
			if err := s.takeTurn(ctx); err != nil {
				return err
			}
		}
		if !channel.FleetOf(s.Hub).MayReceive(Name) {
			return errCutOff
		}
		connection, done := s.Link.Connection(s.Work.Ctx)
		err := s.sockets.serve(connection)
		done()
		if broken, ok := errors.AsType[platform.SetupError](context.Cause(s.Work.Ctx)); ok { // see stopIfSetupError
			return broken
		}
		return err
	})
}

// errCutOff is why there is no socket in a process that cannot store what it receives.
var errCutOff = errors.New("this process is cut off from the database, and others receive from Slack")

// keepToLease ends the socket when this process cannot store what it receives and others can: Slack sends to any socket that is open.
func (s *Slack) keepToLease(ctx context.Context) {
	for platform.Sleep(ctx, time.Second) == nil {
		if !channel.FleetOf(s.Hub).MayReceive(Name) {
			s.Link.End(errCutOff)
		}
	}
}

// takeTurn has this process answer, immediately or when its turn comes. It receives messages in any case.
func (s *Slack) takeTurn(ctx context.Context) error {
	fleet := channel.FleetOf(s.Hub)
	if err := fleet.Enter(ctx, Name); err != nil {
		return err
	}
	if fleet.StandsBy(Name) {
		s.Work.Start(s.sockets.backfill.takeOver)
	} else {
		s.sockets.backfill.turn.begin()
	}
	s.Work.Start(func(ctx context.Context) {
		if fleet.StandBy(ctx, Name) == nil {
			s.home.emptyOutdated() // what the process before has not
		}
	})
	return nil
}

// Split splits a reply into messages that Slack accepts.
func (s *Slack) Split(text string) []string { return split(text) }

// Spell returns how people write a command: after /cairn, or in a thread, where Slack has none, after a mention of the bot.
func (s *Slack) Spell(conversation, line string) string {
	place := chat.ParsePlace(conversation)
	command, _ := command.Find(strings.TrimPrefix(line, "/"))
	name := "Cairn"
	inThread := place.Thread != "" || command.Replies && repliesInThreads(s.o.ReplyIn, place)
	select {
	case <-s.Work.Opened:
		name = cmp.Or(s.self.currentName(), name)
		inThread = inThread || s.self.agent && place.Direct()
	default: // not authenticated yet
	}
	if !inThread {
		return "/cairn " + strings.TrimPrefix(line, "/")
	}
	return "@" + name + " " + line
}
