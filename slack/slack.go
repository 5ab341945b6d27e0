// Package slack connects Cairn to Slack: events come over Socket Mode, replies go to the Web API.
package slack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"cairn/channel"
	"cairn/internal/platform"
)

// Name is the first part of the names of Slack's conversations.
const Name = "slack"

const prefix = Name + ":"

// Slack is the connector. Its methods are safe for concurrent use.
type Slack struct {
	o     Options
	log   *slog.Logger
	times times
	api   *api
	names *names
	files platform.Files

	queue           platform.KeyedQueue[*event] // message events, by channel
	commands        platform.KeyedQueue[func()] // commands, by channel
	pendingAcks     pendingAcks                 // of queued events
	tasks           *platform.Group             // all goroutines
	handledCommands *platform.Cache             // commands and button presses already handled, by id
	authors         *platform.Cache             // who wrote a message, by channel and ts
	replies         *platform.Cache             // the thread of a message, by channel and ts
	finished        *platform.Cache             // final messages of the bot, by channel and ts
	threads         *platform.Cache             // the first reply that was seen in a thread, by channel and thread
	deletions       *platform.Cache             // deleted messages, by channel and ts
	refusals        *platform.Cache             // what Slack refuses where, see learn
	pageCache       *pageCache                  // of histories that are longer than a page
	unstored        sync.Map                    // conversations with a message that could not be stored, see retryLater
	storeIncident   platform.Incident           // messages cannot be stored
	listing         atomic.Pointer[listing]     // the newest
	plain           atomic.Bool                 // the server takes no Markdown
	socketed        atomic.Bool                 // Slack said hello on the newest socket

	ended atomic.Bool // Run has returned; replies may still be sent

	ready chan struct{} // closed when the next three are set
	self  self
	hub   *channel.Hub
	stop  context.CancelCauseFunc // ends Run

	// Used only by the goroutine in Run.
	recovered  bool      // conversations with unanswered messages have been started
	lastRead   time.Time // when the last socket brought something
	firstHello time.Time // of a bot that was never there before
}

// self is who the bot is.
type self struct {
	team, user, bot, name string
	workspace             string    // what people call the team
	since                 time.Time // when this process began to listen
}

// times are the waits and timeouts of the connector; tests set shorter ones.
type times struct {
	edit     time.Duration // between two edits of a message: chat.update allows 50 a minute
	status   time.Duration // after which a status is renewed: Slack takes it away after 2 minutes
	steady   time.Duration // after which a socket counts as one that works
	silence  time.Duration // after which a socket counts as dead: Slack sends a PING every 10 seconds or so
	backoff  time.Duration // before a second attempt to connect; it doubles
	pages    time.Duration // between two conversations that catch up, once there are many
	list     time.Duration // before a second attempt to list the channels; it doubles
	retry    time.Duration // before the disk is tried again, or a reply is shown again
	hello    time.Duration // that a new socket has until Slack says hello
	complete time.Duration // that looking up names and files may take for one message
}

var (
	_ channel.Connector = (*Slack)(nil)
	_ channel.Indicator = (*writer)(nil)
	_ channel.Completer = (*Slack)(nil)
	_ channel.Historian = (*Slack)(nil)
	_ channel.Reactor   = (*Slack)(nil)
	_ channel.Speller   = (*Slack)(nil)
)

// New returns a connector. It starts nothing.
func New(o Options) (*Slack, error) {
	o, err := o.check()
	if err != nil {
		return nil, fmt.Errorf("slack: %w", err)
	}
	log, tasks := o.Log.With("connector", Name), new(platform.Group)
	s := &Slack{
		o: o, log: log,
		times: times{
			edit: 1200 * time.Millisecond, status: 90 * time.Second, steady: 5 * time.Second, silence: 30 * time.Second,
			backoff: time.Second, pages: 1200 * time.Millisecond, list: time.Minute, retry: 5 * time.Second,
			hello: 45 * time.Second, complete: 10 * time.Second,
		},
		api: newAPI(o), tasks: tasks, commands: platform.KeyedQueue[func()]{Group: tasks, Do: platform.CallEach},
		storeIncident:   platform.Incident{Log: log, Failed: "store_message_failed", Recovered: "store_message_recovered", Reason: codeOf},
		handledCommands: platform.NewCache(0), authors: platform.NewCache(0), replies: platform.NewCache(0), finished: platform.NewCache(0), threads: platform.NewCache(0), deletions: platform.NewCache(0), refusals: platform.NewCache(0), pageCache: newPageCache(),
		ready: make(chan struct{}),
	}
	s.queue = platform.KeyedQueue[*event]{Group: tasks, Do: s.handle}
	s.names = newNames(s.api, s.log)
	s.files = platform.Files{Tokens: o.AttachmentTokens, Pictures: o.Pictures, Fetch: s.fetch}
	return s, nil
}

// Name is "slack".
func (s *Slack) Name() string { return Name }

// Connected reports whether a socket is up.
func (s *Slack) Connected() bool { return s.socketed.Load() }

// Run serves Slack until ctx is done and returns nil then. An error is one that only a person can
// fix, and says how. All goroutines have ended when it returns. It is called once.
func (s *Slack) Run(ctx context.Context, hub *channel.Hub) error {
	inner, stop := context.WithCancelCause(ctx)
	defer func() {
		stop(nil)
		s.tasks.Close()
		s.ended.Store(true)
		s.api.close()
	}()
	err := s.authenticate(inner)
	if err == nil {
		s.hub, s.stop = hub, stop
		close(s.ready)
		s.tasks.Open(inner)
		err = s.supervise(inner)
	}
	var broken setupError
	if errors.As(err, &broken) || errors.As(context.Cause(inner), &broken) {
		return fmt.Errorf("slack: %w", broken)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// await returns when the connector knows who the bot is.
func (s *Slack) await(ctx context.Context) error {
	select {
	case <-s.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// place is where a message of a channel, and of a thread there, belongs.
func (s *Slack) place(channelID, thread string) channel.Place {
	return channel.Place{Connector: Name, Server: s.self.team, Channel: channelID, Thread: thread}
}
