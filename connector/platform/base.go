// What the connectors to chat platforms have in common: how they store events, and how they answer commands to the bot, which
// need no model.

package platform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/channel/sentences"
	"cairn/internal/observe"
)

// Base is the part of a connector that does not depend on its platform.
type Base struct {
	Log   *slog.Logger
	Hub   *channel.Hub // set by Serve, before anything that uses it starts
	Work  *Group       // all goroutines
	Link  Link         // to the platform, the first if there are several; a connector sets its times
	Clock Clock        // of the platform

	// MissedAfter returns after which message, or place of one, a conversation may have missed something, by its newest message
	// and its first; "" if the newest is older than since. A connector sets it.
	MissedAfter func(newest, first string, since time.Time) string

	// Beside reports whether other processes have connections, any of which gets a message, and another one answers. A connector to such
	// a platform sets it; nil: never.
	Beside func() bool

	mu    sync.Mutex // guards added
	added []*Link    // see AddLink

	name    string
	handled Cache            // commands and button presses already handled, by id
	unsaved observe.Incident // messages could not be stored
	wrong   observe.Incident // this machine's clock

	unwritable unwritable
	heard      atomic.Pointer[heard]
}

// NewBase returns the base of a connector. log may be nil.
func NewBase(name string, log *slog.Logger) *Base {
	log = cmp.Or(log, slog.Default()).With("connector", name)
	return &Base{Log: log, Work: NewGroup(log), Link: newLink(log), name: name}
}

// Name returns the first part of the names of the connector's conversations.
func (b *Base) Name() string { return b.name }

// AddLink adds another link to the platform, with the times of the first; see Link for log and covers.
func (b *Base) AddLink(log *slog.Logger, covers func(conversation string) bool) *Link {
	first := &b.Link
	l := &Link{
		Log: log, Covers: covers, Reason: first.Reason, Pause: Backoff{First: first.Pause.First, Max: first.Pause.Max}, Steady: first.Steady,
		Patience: first.Patience, Hint: first.Hint, recheck: newRecheck(),
	}
	l.recheck.quiet = first.recheck.quiet
	l.recheck.delay = first.recheck.delay
	b.mu.Lock()
	b.added = append(b.added, l)
	b.mu.Unlock()
	b.Work.Start(func(ctx context.Context) { b.keepRechecking(ctx, l) })
	return l
}

// links returns all links.
func (b *Base) links() []*Link {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]*Link{&b.Link}, b.added...)
}

// linkOf returns the link over which the events of a conversation come; nil if there is none.
func (b *Base) linkOf(conversation string) *Link {
	for _, l := range b.links() {
		if l.covers(conversation) {
			return l
		}
	}
	return nil
}

// Connected reports whether all connections to the platform are up.
func (b *Base) Connected() bool {
	return !slices.ContainsFunc(b.links(), func(l *Link) bool { return !l.Connected() })
}

// Unreachable reports whether no connection to the platform is up, and the latest attempts have failed.
func (b *Base) Unreachable() bool {
	return !slices.ContainsFunc(b.links(), func(l *Link) bool { return l.Connected() || !l.failing.On() })
}

// Problem returns what Link.Problem does, of the first link that has one.
func (b *Base) Problem() string {
	for _, l := range b.links() {
		if problem := l.Problem(); problem != "" {
			return problem
		}
	}
	return ""
}

// PlatformTime returns what the platform's clock shows when this machine's shows host; see channel.Timekeeper.
func (b *Base) PlatformTime(host time.Time) time.Time { return b.Clock.At(host) }

// CheckClock logs when this machine's clock turns out to be wrong, and when it is right again.
func (b *Base) CheckClock() {
	warning := b.Clock.Warning()
	switch {
	case warning != "":
		b.Log.Log(b.Work.Ctx, b.wrong.Begin(), "clock_wrong", "problem", warning)
	case b.wrong.End():
		b.Log.Info("clock_recovered")
	}
}

// ClockFacts returns what Check reports of this machine's clock: nothing if it is right.
func (b *Base) ClockFacts() []string {
	if warning := b.Clock.Warning(); warning != "" {
		return []string{"warning: " + warning}
	}
	return nil
}

// Serve calls supervise, which returns when ctx is done, or with an error to fix. All goroutines end before it returns.
func (b *Base) Serve(ctx context.Context, hub *channel.Hub, client *http.Client, supervise func(ctx context.Context) error) error {
	b.Hub = hub
	b.Work.May = func() bool { return channel.FleetOf(hub).MayAct() }
	b.Work.Start(func(ctx context.Context) { b.keepRechecking(ctx, &b.Link) })
	err := supervise(ctx)
	b.Work.Close()
	client.CloseIdleConnections()
	if err != nil {
		return fmt.Errorf("%s: %w", b.name, err)
	}
	return nil
}

// heard is when the newest message arrived, and how long after it was written.
type heard struct {
	at    time.Time
	delay time.Duration
}

// Heard returns when the newest message arrived, and how long after it was written, by the platform's clock; zero: none since the start.
func (b *Base) Heard() (at time.Time, delay time.Duration) {
	if newest := b.heard.Load(); newest != nil {
		return newest.at, newest.delay
	}
	return at, delay
}

// Deliver passes messages of a conversation to the hub, and notifies their authors, once per incident, if that fails. Of several processes,
// any of which may get a message, the one that answers does.
func (b *Base) Deliver(ctx context.Context, conversation string, messages ...channel.Inbound) error {
	if len(messages) > 0 {
		now := time.Now()
		b.heard.Store(&heard{now, max(0, b.Clock.At(now).Sub(messages[len(messages)-1].Time))})
	}
	err := b.Hub.DeliverAll(ctx, conversation, messages)
	if err != nil && (b.Beside == nil || !b.Beside()) {
		for _, in := range messages {
			b.Hub.Undelivered(ctx, conversation, in, err)
		}
	}
	return err
}

// Store repeats a call to the hub until it succeeds or is refused, or until ctx or the hub ends. A queue waits for it.
func (b *Base) Store(ctx context.Context, call func() error) (stored bool) {
	back := channel.FleetOf(b.Hub).Recovered()
	pause := Backoff{First: 100 * time.Millisecond, Max: maxPause}
	try := func() (done bool) {
		err := call()
		stored = err == nil || errors.Is(err, channel.ErrRefused)
		switch {
		case err == nil:
			if b.unsaved.End() {
				b.Log.Info("store_message_recovered")
			}
		case stored, errors.Is(err, channel.ErrClosed), ctx.Err() != nil:
			return true
		default:
			b.Log.Log(ctx, b.unsaved.Begin(), "store_message_failed", "error", err)
		}
		return stored
	}
	for ctx.Err() == nil && !try() {
		select {
		case <-back: // all processes try now, so that what each has received is stored nearly in the order in which people wrote it
			back = channel.FleetOf(b.Hub).Recovered()
		case <-time.After(pause.Next()):
		case <-ctx.Done():
		}
	}
	return stored
}

// Show shows the answer to a command.
type Show = func(ctx context.Context, answer command.Answer) error

// Command handles a command or the press of a button in a goroutine, unless one with this id was handled before; an
// empty id is unknown. It waits for ran, unless that is nil, so that what was written after a command comes after it: see RunCommand.
func (b *Base) Command(id, conversation string, timeout time.Duration, ran <-chan struct{}, handle func(ctx context.Context) error) {
	if id != "" && b.handled.Seen(id) {
		return
	}
	if b.Work.Start(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		if err := handle(ctx); err != nil && ctx.Err() == nil {
			b.Log.Warn("command_failed", "conversation", conversation, "error", err)
		}
	}) && ran != nil {
		select {
		case <-ran:
		case <-time.After(2 * time.Second): // Slack waits 3 for an acknowledgement
		}
	}
}

const lastTimeout = 5 * time.Second // of the last answer to a command, for which a shutdown waits

// RunCommand runs a command line such as "/compact prices". It calls show with the answer, which is private if the command
// fails, and again with the text that replaces it once what the command started has ended, or the connector ends. Of a written
// command, ran is closed once it has run; that of a person who is not heard there is not answered, as other messages are not.
func (b *Base) RunCommand(ctx context.Context, name string, who access.Person, line string, ran chan<- struct{}, show Show) error {
	answer, known, err := b.Hub.Run(ctx, name, who, line)
	if ran != nil {
		close(ran)
	}
	if err == nil && !known {
		answer, _, err = b.Hub.Run(ctx, name, who, "/help")
		answer = answer.Fenced()
		answer.Text = sentences.In(answer.Language).Translate(command.TextUnknown) + "\n" + answer.Text
	}
	switch refused := errors.Is(err, channel.ErrRefused); {
	case refused && ran != nil:
		return nil
	case refused:
		answer = command.Answer{Text: sentences.In(answer.Language).Translate(command.TextRefused), Private: true}
		err = nil
	case err != nil:
		answer.Private = true
	case answer.String() == "":
		answer.Text = sentences.In(answer.Language).Translate(command.TextDone)
	}
	if err := errors.Join(err, show(ctx, answer)); err != nil || answer.Then == nil {
		return err
	}
	return showEnd(ctx, answer.Then, show)
}

// Deletes reports whether a command deletes messages. Those that arrived before it must be stored first, see KeyedQueue.Settle.
func Deletes(line string) bool {
	cmd, _, _ := command.Parse(line)
	return cmd.Name == "forget"
}

// KnowsButton reports whether a button's command line has a command of this version.
func KnowsButton(line string) bool {
	_, err := command.Find(strings.TrimPrefix(line, "/"))
	return strings.HasPrefix(line, "/") && err == nil
}

// RefuseButton answers who pressed an unknown button: of another version, or of another program with the bot's token.
func (b *Base) RefuseButton(ctx context.Context, conversation string, show Show) error {
	text := sentences.In(channel.SpokenIn(b.Hub, conversation)).Translate(command.TextNoButton)
	return show(ctx, command.Answer{Text: text, Private: true})
}

// showEnd shows what a command has come to, or, when ctx ends before that, what becomes of it.
func showEnd(ctx context.Context, then func(ctx context.Context) command.Answer, show Show) error {
	answer := then(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTimeout)
	defer cancel()
	return show(ctx, answer)
}

// IsCommand reports whether a message is a command to the bot.
func IsCommand(in channel.Inbound) bool {
	return in.Addressed && !in.Bot && command.Is(in.Text)
}
