// Backfill: messages that were posted while no socket was open are read from history.

package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	slackgo "github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"
	"golang.org/x/time/rate"

	"cairn/channel"
	"cairn/internal/platform"
)

// overlap is how much history before the newest known message is read again: Slack sends events in any order.
const overlap = 10 * time.Second

// gapAfter returns where a gap begins: before the newest message and since, but not before the first: the bot was not there yet.
func gapAfter(since time.Time) func(newest, first string) string {
	return func(newest, first string) string {
		if !isTS(newest) {
			return newest
		}
		start := earlier(timeOf(newest), since).Add(-overlap)
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
	gaps, err := s.Hub.Away(ctx, Name, gapAfter(time.Now()))
	if err != nil {
		return fmt.Errorf("note what may have been missed: %w", err)
	}
	if !s.greeted {
		s.greeted = true
		s.Log.Info("connected", "as", s.self.name)
	}
	for _, gap := range gaps {
		// The next reply in a known thread does not count as the first: people may have told the bot to stop there.
		if place := channel.ParsePlace(gap.Conversation); place.Thread != "" {
			s.threads.First(firstReplyKey(place), "")
		}
	}
	if len(gaps) == 0 && s.lastRead.IsZero() { // the first start: the bot was in no conversation before
		s.firstHello = time.Now()
		return nil
	}
	s.offer(gaps, s.missedSince(time.Now()))
	return nil
}

// offer hands a listing to backfillAll. It never blocks.
func (s *Slack) offer(gaps []channel.Gap, since time.Time) {
	for l := (listing{gaps, since}); ; {
		select {
		case s.hello <- l:
			return
		case untaken := <-s.hello:
			l = listing{append(l.gaps, untaken.gaps...), earlier(l.since, untaken.since)}
		}
	}
}

// noteDropped handles Slack's notice that events of a minute are dropped: after it, their messages are read from history.
func (s *Slack) noteDropped(payload json.RawMessage) {
	var notice slackevents.EventsAPIAppRateLimited
	if json.Unmarshal(payload, &notice) != nil || notice.Type != slackevents.AppRateLimited {
		return
	}
	since := time.Unix(int64(notice.MinuteRateLimited), 0)
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
			s.offer(gaps, since)
		}
	})
}

// listing is what a hello, or the end of a minute with dropped events, found.
type listing struct {
	gaps  []channel.Gap
	since time.Time // of the messages to read in unknown channels
}

// missedSince returns since when unknown channels may have missed messages.
func (s *Slack) missedSince(now time.Time) time.Time {
	return slices.MaxFunc([]time.Time{now.Add(-s.o.CatchUp), s.lastRead.Add(-time.Minute), s.firstHello}, time.Time.Compare)
}

func earlier(a, b time.Time) time.Time { return slices.MinFunc([]time.Time{a, b}, time.Time.Compare) }

// maxImmediate is how many conversations are backfilled without a pause. Slack lets an app read some 50 pages a
// minute, so the others follow at that rate; one that receives a message reads its gap first.
const maxImmediate = 50

const (
	pagePause    = 1200 * time.Millisecond
	listTimeout  = 2 * time.Minute // for the list of channels, including waits for rate limits
	maxListPause = time.Hour       // between attempts to list the channels
)

// backfillAll backfills after each hello. A hello in the meantime takes effect afterwards, however often sockets die.
// If the channels cannot be listed, all are read later, as unknown ones.
func (s *Slack) backfillAll(ctx context.Context) {
	incident := platform.Incident{Log: s.Log, Failed: "list_channels_failed", Recovered: "list_channels_recovered"}
	pause := platform.Backoff{First: s.times.list, Most: maxListPause}
	pace := rate.NewLimiter(rate.Every(pagePause), maxImmediate)
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case l := <-s.hello:
			switch err := s.backfill(ctx, pace, l); {
			case err == nil:
				incident.End()
				pause.Reset()
			case ctx.Err() == nil:
				incident.Begin(err)
				wait := pause.Next()
				s.Work.Start(func(ctx context.Context) {
					if platform.Sleep(ctx, wait) == nil {
						s.offer(nil, l.since)
					}
				})
			}
		}
	}
}

// backfill backfills what has a gap, the most recently active first, and unknown channels.
func (s *Slack) backfill(ctx context.Context, pace *rate.Limiter, l listing) error {
	slices.SortStableFunc(l.gaps, func(a, b channel.Gap) int { return cmp.Compare(b.After, a.After) })
	first, known := min(len(l.gaps), maxImmediate), make(map[string]bool)
	for _, gap := range l.gaps {
		known[gap.Conversation] = true
	}
	s.catchUp(ctx, pace, l.since, l.gaps[:first])
	if err := pace.Wait(ctx); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, listTimeout)
	channels, err := s.memberships(limited)
	cancel()
	var unknown []channel.Gap
	for _, id := range channels {
		if name := s.place(id, "").String(); !known[name] {
			unknown = append(unknown, channel.Gap{Conversation: name})
		}
	}
	s.catchUp(ctx, pace, l.since, slices.Concat(unknown, l.gaps[first:]))
	return err
}

// catchUp has conversations read their gaps; since is where the gap begins in those that were unknown.
func (s *Slack) catchUp(ctx context.Context, pace *rate.Limiter, since time.Time, gaps []channel.Gap) {
	for _, gap := range gaps {
		if pace.Wait(ctx) != nil {
			return
		}
		after := "" // the gap is stored
		if gap.After == "" {
			after = tsOf(since)
		}
		if err := s.Hub.CatchUp(ctx, gap.Conversation, after); err != nil && ctx.Err() == nil && !errors.Is(err, channel.ErrClosed) {
			s.Log.Warn("backfill_failed", "conversation", gap.Conversation, "error", err)
		}
	}
}

var kinds = []string{"public_channel", "private_channel", "mpim", "im"}

// memberships returns the channels that the bot is in; after an error, those found before it.
func (s *Slack) memberships(ctx context.Context) (ids []string, err error) {
	for cursor := ""; ; {
		page, next, err := s.api.read.GetConversationsForUserContext(ctx, &slackgo.GetConversationsForUserParameters{
			Cursor: cursor, Types: kinds, Limit: pageSize, ExcludeArchived: true,
		})
		if err != nil {
			return ids, err
		}
		for _, c := range page {
			ids = append(ids, c.ID)
		}
		if next == "" || next == cursor {
			return ids, nil
		}
		cursor = next
	}
}
