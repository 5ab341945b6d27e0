// Backfill: messages that were posted while no socket was open are read from history.

package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"cairn/channel"
	"cairn/chat"
	"cairn/connector/platform"
	"cairn/internal/observe"
)

// overlap is how much history before the newest known message is read again: Slack sends events in any order.
const overlap = 10 * time.Second

// gapAfter returns where a gap begins: before the newest message and since, but not before the first: the bot was not there yet.
func gapAfter(since time.Time) func(newest, first string) string {
	return func(newest, first string) string {
		if !isTS(newest) {
			return newest
		}
		start := slices.MinFunc([]time.Time{timeOf(newest), since}, time.Time.Compare).Add(-overlap)
		if isTS(first) && timeOf(first).After(start) {
			start = timeOf(first)
		}
		if start.UnixMicro() < 0 || start.After(timeOf(newest)) {
			return newest
		}
		return tsOf(start)
	}
}

// backfill finds out which conversations may have missed messages, and has them read their history.
type backfill struct {
	base    *platform.Base
	api     *api
	self    *self
	times   *times
	names   *names
	recent  *recent
	catchUp time.Duration // see Options

	queue platform.KeyedQueue[missed] // backfills of conversations with a gap, and those of unknown channels
	pace  *rate.Limiter               // of conversations that are backfilled
	turn  turn

	// Used only by the goroutine in Run.
	lastRead   time.Time // when the last socket last received anything, by Slack's clock
	firstHello time.Time // when a bot without earlier conversations first connected, by Slack's clock
}

// onHello handles the first message of a socket; connections is how many the app has then, as far as Slack knows.
func (b *backfill) onHello(ctx context.Context, connections int) error {
	if b.turn.connect() || connections <= 1 {
		if err := b.noteMissed(ctx); err != nil {
			return err
		}
	} // otherwise Slack has sent everything to other processes, or will send it again, and the one that answers reads what is missing
	b.base.Log.Info("connected", "as", b.self.name)
	b.base.CheckClock()
	b.names.readPeople()
	return nil
}

// noteMissed stores which conversations may have a gap before the first event of a socket, and has them backfilled.
func (b *backfill) noteMissed(ctx context.Context) error {
	gaps, err := b.base.Hub.Away(ctx, Name, nil, gapAfter(b.base.Clock.Now()))
	if err != nil {
		return fmt.Errorf("note what may have been missed: %w", err)
	}
	for _, gap := range gaps {
		// The next reply in a known thread does not count as the first: people may have asked the bot to stop there.
		if place := chat.ParsePlace(gap.Conversation); place.Thread != "" {
			b.recent.noteReplyToBot(place)
		}
	}
	if len(gaps) == 0 && b.lastRead.IsZero() { // the first start: the bot was in no conversation before
		b.firstHello = b.base.Clock.Now()
		return nil
	}
	b.start(gaps, b.missedSince(b.base.Clock.Now()))
	return nil
}

// takeOver waits until this process is the one that answers, and has it read what Slack may have sent to the one before, and not again:
// Slack does not document over which socket it repeats what a socket that has ended did not acknowledge. That takes few pages a minute, a
// minute later, because people wait for answers. If no socket is open, the next hello finds more.
func (b *backfill) takeOver(ctx context.Context) {
	if channel.FleetOf(b.base.Hub).StandBy(ctx, Name) != nil || !b.turn.begin() || platform.Sleep(ctx, b.times.takeOver) != nil {
		return
	}
	b.recheck(ctx, b.base.Clock.Now().Add(-b.times.takeOver-maxSilence))
}

// maxSilence is how long the process before may have received and stored nothing before another one took over.
const maxSilence = 5 * channel.LeaseLasts

// recheck has conversations that were active read their history since then.
func (b *backfill) recheck(ctx context.Context, since time.Time) {
	active := b.base.Clock.Now().Add(-b.catchUp)
	var gaps []channel.Gap
	if b.base.Store(ctx, func() (err error) {
		gaps, err = channel.GapsToRecheck(ctx, b.base.Hub, Name, nil, maxRechecked, func(newest, first string) string {
			if timeOf(newest).Before(active) {
				return ""
			}
			return gapAfter(since)(newest, first)
		})
		return err
	}) {
		b.queue.Add("active", missed{gaps, since}, b.readActive)
		b.queue.Add("unknown", missed{gaps, since}, b.readUnknown)
	}
}

// noteRead notes when a socket that has ended last received anything, by Slack's clock.
func (b *backfill) noteRead(at time.Time) { b.lastRead = at }

// noteDropped handles Slack's notice that events of a minute are dropped: after it, their messages are read from history.
func (b *backfill) noteDropped(since time.Time) {
	b.base.Log.Warn("events_dropped", "since", since)
	b.base.Work.Start(func(ctx context.Context) {
		if platform.Sleep(ctx, b.times.dropped) != nil {
			return
		}
		var gaps []channel.Gap
		if b.base.Store(ctx, func() (err error) {
			gaps, err = b.base.Hub.Away(ctx, Name, nil, gapAfter(since))
			return err
		}) {
			b.start(gaps, since)
		}
	})
}

// missedSince returns since when unknown channels may have missed messages. All times are by Slack's clock.
func (b *backfill) missedSince(now time.Time) time.Time {
	return slices.MaxFunc([]time.Time{now.Add(-b.catchUp), b.lastRead.Add(-time.Minute), b.firstHello}, time.Time.Compare)
}

// maxImmediate is how many conversations are backfilled without a pause. Slack lets an app read some 50 pages a minute, half of
// them in the background, so the others follow at that rate; one that receives a message reads its gap first.
const maxImmediate = 25

const (
	pagePause    = 2400 * time.Millisecond
	listTimeout  = 2 * time.Minute  // for the list of channels, including waits for rate limits
	maxListPause = 10 * time.Minute // between attempts to list the channels
	maxListPages = 100              // of the list, more than rate limits allow in listTimeout
	maxRechecked = 1000             // conversations, which takes 40 minutes
)

// missed is what a backfill reads.
type missed struct {
	gaps  []channel.Gap // of conversations with a gap
	since time.Time     // when unknown channels may have missed messages first
}

// start has conversations with a gap read it, the most recently active first, and unknown channels their messages since since.
// It never blocks. Those of each kind that wait become one, however often sockets die.
func (b *backfill) start(gaps []channel.Gap, since time.Time) {
	b.queue.Add("known", missed{gaps, since}, b.readKnown)
	b.queue.Add("unknown", missed{gaps, since}, b.readUnknown)
}

// merge makes one of the backfills that waited.
func merge(waiting []missed) missed {
	all := missed{since: waiting[0].since}
	for _, m := range waiting {
		all.gaps = append(all.gaps, m.gaps...)
		all.since = slices.MinFunc([]time.Time{all.since, m.since}, time.Time.Compare)
	}
	slices.SortFunc(all.gaps, func(a, b channel.Gap) int {
		return cmp.Or(cmp.Compare(b.After, a.After), cmp.Compare(a.Conversation, b.Conversation))
	})
	all.gaps = slices.Compact(all.gaps)
	return all
}

// readKnown backfills conversations that have a gap.
func (b *backfill) readKnown(waiting []missed) {
	m := merge(waiting)
	b.read(m, func(gap channel.Gap) string {
		if gap.After == "" { // nothing is known of the conversation
			return tsOf(m.since)
		}
		return "" // it is stored
	})
}

// readActive backfills conversations whose gap is not stored: those who ask something there do not wait for it.
func (b *backfill) readActive(waiting []missed) {
	b.read(merge(waiting), func(gap channel.Gap) string { return gap.After })
}

// readUnknown backfills the channels that the bot is in and that have no gap.
func (b *backfill) readUnknown(waiting []missed) {
	m := merge(waiting)
	var failing observe.Incident
	platform.Retry(b.base.Work.Ctx, platform.Backoff{First: b.times.list, Max: maxListPause}, func() (done bool) {
		unknown, err := b.memberships(b.base.Work.Ctx)
		if err != nil {
			b.base.Log.Log(b.base.Work.Ctx, failing.Begin(), "list_channels_failed", "error", err)
			return false
		}
		if failing.End() {
			b.base.Log.Info("list_channels_recovered")
		}
		known := func(g channel.Gap) bool {
			return slices.ContainsFunc(m.gaps, func(k channel.Gap) bool { return k.Conversation == g.Conversation })
		}
		b.read(missed{slices.DeleteFunc(unknown, known), m.since}, func(channel.Gap) string { return tsOf(m.since) })
		return true
	})
}

// read has conversations read their gaps. after returns where a gap begins that is not stored.
func (b *backfill) read(m missed, after func(gap channel.Gap) string) {
	ctx := b.base.Work.Ctx
	for _, gap := range m.gaps {
		if b.pace.Wait(ctx) != nil {
			return
		}
		if err := b.base.Hub.CatchUp(ctx, gap.Conversation, after(gap)); err != nil && ctx.Err() == nil && !errors.Is(err, channel.ErrClosed) {
			b.base.Log.Warn("backfill_failed", "conversation", gap.Conversation, "error", err)
		}
	}
}

// kinds are those of channels; the first two have names.
var kinds = []string{"public_channel", "private_channel", "mpim", "im"}

// memberships returns the channels that the bot is in, as gaps that begin nowhere.
func (b *backfill) memberships(ctx context.Context) (all []channel.Gap, err error) {
	ctx, cancel := context.WithTimeout(background(ctx, nil), listTimeout)
	defer cancel()
	channels, _, err := b.api.channels(ctx, "", kinds, maxListPages)
	for _, c := range channels {
		all = append(all, channel.Gap{Conversation: b.self.place(c.ID, "").String()})
		if c.Name != "" {
			b.names.set(c.ID, c.Name)
		}
	}
	return all, err
}
