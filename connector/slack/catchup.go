// Backfill: messages that were posted while no socket was open are read from history.

package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	slackgo "github.com/slack-go/slack"

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

// handleHello stores which conversations may have a gap before the first event of a socket, and has them backfilled.
func (s *Slack) handleHello(ctx context.Context) error {
	gaps, err := s.Hub.Away(ctx, Name, gapAfter(s.Clock.Now()))
	if err != nil {
		return fmt.Errorf("note what may have been missed: %w", err)
	}
	s.Log.Info("connected", "as", s.self.name)
	s.CheckClock()
	s.readPeople()
	for _, gap := range gaps {
		// The next reply in a known thread does not count as the first: people may have told the bot to stop there.
		if place := chat.ParsePlace(gap.Conversation); place.Thread != "" {
			s.threads.First(firstReplyKey(place), "")
		}
	}
	if len(gaps) == 0 && s.lastRead.IsZero() { // the first start: the bot was in no conversation before
		s.firstHello = s.Clock.Now()
		return nil
	}
	s.backfill(gaps, s.missedSince(s.Clock.Now()))
	return nil
}

// noteDropped handles Slack's notice that events of a minute are dropped: after it, their messages are read from history.
func (s *Slack) noteDropped(since time.Time) {
	s.Log.Warn("events_dropped", "since", since)
	s.Work.Start(func(ctx context.Context) {
		if platform.Sleep(ctx, s.times.dropped) != nil {
			return
		}
		var gaps []channel.Gap
		if s.Store(ctx, func() (err error) {
			gaps, err = s.Hub.Away(ctx, Name, gapAfter(since))
			return err
		}) {
			s.backfill(gaps, since)
		}
	})
}

// missedSince returns since when unknown channels may have missed messages. All times are by Slack's clock.
func (s *Slack) missedSince(now time.Time) time.Time {
	return slices.MaxFunc([]time.Time{now.Add(-s.o.CatchUp), s.lastRead.Add(-time.Minute), s.firstHello}, time.Time.Compare)
}

// maxImmediate is how many conversations are backfilled without a pause. Slack lets an app read some 50 pages a minute, half of
// them in the background, so the others follow at that rate; one that receives a message reads its gap first.
const maxImmediate = 25

const (
	pagePause    = 2400 * time.Millisecond
	listTimeout  = 2 * time.Minute  // for the list of channels, including waits for rate limits
	maxListPause = 10 * time.Minute // between attempts to list the channels
)

// missed is what a backfill reads.
type missed struct {
	gaps  []channel.Gap // of conversations with a gap
	since time.Time     // when unknown channels may have missed messages first
}

// backfill has conversations with a gap read it, the most recently active first, and unknown channels their messages since since.
// It never blocks. Those of each kind that wait become one, however often sockets die.
func (s *Slack) backfill(gaps []channel.Gap, since time.Time) {
	s.known.Add("", missed{gaps, since})
	s.unknown.Add("", missed{gaps, since})
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

// catchUpUnknown backfills the channels that the bot is in and that have no gap.
func (s *Slack) catchUpUnknown(m missed) {
	var failing observe.Incident
	platform.Retry(s.Work.Ctx, platform.Backoff{First: s.times.list, Most: maxListPause}, func() (done bool) {
		unknown, err := s.memberships(s.Work.Ctx)
		if err != nil {
			s.Log.Log(s.Work.Ctx, failing.Begin(), "list_channels_failed", "error", err)
			return false
		}
		if failing.End() {
			s.Log.Info("list_channels_recovered")
		}
		known := func(g channel.Gap) bool {
			return slices.ContainsFunc(m.gaps, func(k channel.Gap) bool { return k.Conversation == g.Conversation })
		}
		s.catchUp(missed{slices.DeleteFunc(unknown, known), m.since})
		return true
	})
}

// catchUp has conversations read their gaps; since is where the gap begins in those that were unknown.
func (s *Slack) catchUp(m missed) {
	ctx := s.Work.Ctx
	for _, gap := range m.gaps {
		if s.pace.Wait(ctx) != nil {
			return
		}
		after := "" // the gap is stored
		if gap.After == "" {
			after = tsOf(m.since)
		}
		if err := s.Hub.CatchUp(ctx, gap.Conversation, after); err != nil && ctx.Err() == nil && !errors.Is(err, channel.ErrClosed) {
			s.Log.Warn("backfill_failed", "conversation", gap.Conversation, "error", err)
		}
	}
}

var kinds = []string{"public_channel", "private_channel", "mpim", "im"}

// memberships returns the channels that the bot is in, as gaps that begin nowhere.
func (s *Slack) memberships(ctx context.Context) (all []channel.Gap, err error) {
	ctx, cancel := context.WithTimeout(background(ctx, nil), listTimeout)
	defer cancel()
	cursor := ""
	for {
		page, next, err := s.api.read.GetConversationsForUserContext(ctx, &slackgo.GetConversationsForUserParameters{
			Cursor: cursor, Types: kinds, Limit: pageSize, ExcludeArchived: true,
		})
		if err != nil {
			return nil, err
		}
		for _, c := range page {
			all = append(all, channel.Gap{Conversation: s.place(c.ID, "").String()})
			if c.Name != "" {
				s.names.set(c.ID, c.Name)
			}
		}
		if next == "" || next == cursor {
			return all, nil
		}
		cursor = next
	}
}
