// Package slack connects Cairn to Slack: events come over Socket Mode, replies go to the Web API.
package slack

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"cairn/channel"
	"cairn/internal/platform"
)

// Name is the first part of the names of Slack conversations.
const Name = "slack"

// Slack is the connector. Its methods are safe for concurrent use.
type Slack struct {
	o     Options
	log   *slog.Logger
	times times
	api   *api
	names *names
	files platform.Files

	queue           platform.KeyedQueue[*event] // message events, by channel
	overflowed      atomic.Bool                 // a queue was full, until readDropped has noted the gap
	tasks           *platform.Group             // all goroutines
	handledCommands platform.Cache              // commands and button presses already handled, by id
	authors         platform.Cache              // authors of messages, by channel and ts
	replies         platform.Cache              // threads of messages, by channel and ts
	claims          platform.Cache              // what the bot's messages belong to, by channel and ts; see writer.claim
	threads         platform.Cache              // the first message seen in a thread, and the first reply to the bot there: see quoteRoot, firstReplyKey
	deletions       platform.Cache              // deleted messages, by channel and ts
	cannotReact     atomic.Bool                 // the app lacks the scope
	unread          sync.Map                    // historyPages of histories longer than a page, by place
	storeIncident   platform.Incident           // messages that could not be stored
	hello           chan *listing               // those that backfillAll has not taken, at most one
	plain           atomic.Bool                 // the server does not support Markdown
	link            platform.Link               // the sockets

	self self         // set before the group is opened, like the next
	hub  *channel.Hub // set by Run

	// Used only by the goroutine in Run.
	greeted    bool      // a socket got hello
	lastRead   time.Time // when the last socket last received anything
	firstHello time.Time // when a bot without earlier conversations first connected
}

// self is who the bot is.
type self struct {
	team, user, bot, name string
	workspace             string    // name of the team
	since                 time.Time // when this process authenticated
}

// times are the connector's waits and timeouts. Tests set shorter ones.
type times struct {
	edit     time.Duration // between two edits of a message; chat.update allows 50 a minute
	status   time.Duration // after which a status is renewed; Slack removes it after 2 minutes
	steady   time.Duration // after which a socket counts as working
	dropped  time.Duration // how long Slack drops events before it says so again
	silence  time.Duration // after which a socket counts as dead; a third of it is between two PINGs
	backoff  time.Duration // before the second attempt to connect; it doubles
	list     time.Duration // before the second attempt to list the channels; it doubles
	retry    time.Duration // before showing a reply is tried again
	complete time.Duration // for looking up the names and files of one message
}

var (
	_ channel.Connector = (*Slack)(nil)
	_ channel.Indicator = (*writer)(nil)
	_ channel.Completer = (*Slack)(nil)
	_ channel.Historian = (*Slack)(nil)
	_ channel.Reactor   = (*Slack)(nil)
	_ channel.Speller   = (*Slack)(nil)
)

// New returns a connector, which does nothing before Run.
func New(o Options) (*Slack, error) {
	o, err := o.check()
	if err != nil {
		return nil, fmt.Errorf("slack: %w", err)
	}
	log, tasks := o.Log.With("connector", Name), platform.NewGroup()
	s := &Slack{
		o: o, log: log,
		times: times{
			edit: 1200 * time.Millisecond, status: 90 * time.Second, dropped: time.Minute, steady: 5 * time.Second, silence: 30 * time.Second,
			backoff: time.Second, list: time.Minute, retry: 5 * time.Second,
			complete: 10 * time.Second,
		},
		api: newAPI(o), tasks: tasks,
		link:          platform.Link{Incident: platform.Incident{Log: log, Failed: "connection_failed", Recovered: "connection_recovered", Reason: codeOf}},
		storeIncident: platform.Incident{Log: log, Failed: "store_message_failed", Recovered: "store_message_recovered", Reason: codeOf},
		hello:         make(chan *listing, 1),
	}
	s.queue = platform.KeyedQueue[*event]{Group: tasks, Do: s.handle}
	s.names = &names{api: s.api, log: log}
	s.files = platform.Files{Tokens: o.AttachmentTokens, Pictures: o.Pictures, Fetch: s.fetch}
	return s, nil
}

// Name returns "slack".
func (s *Slack) Name() string { return Name }

// Connected reports whether a socket is up.
func (s *Slack) Connected() bool { return s.link.Connected() }

// Run serves Slack until ctx is done, and then returns nil. It returns an error only if a person
// has to fix something; the error says what. All goroutines have ended when Run returns. It can be
// called only once.
func (s *Slack) Run(ctx context.Context, hub *channel.Hub) error {
	defer func() {
		s.tasks.Close()
		s.api.close()
	}()
	s.hub = hub
	if err := s.supervise(ctx); err != nil {
		return fmt.Errorf("slack: %w", err)
	}
	return nil
}

// place returns the place of a channel, or of a thread in it.
func (s *Slack) place(channelID, thread string) channel.Place {
	return channel.Place{Connector: Name, Server: s.self.team, Channel: channelID, Thread: thread}
}
