// Backfill: messages that were posted while no socket was open are read from history.

package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
	"cairn/internal/platform"
)

// overlap is how much history before the newest known message is read again, because Slack sends
// events in any order. It repeats unacknowledged ones, but for minutes at most and not to a bot
// that is down.
const overlap = 10 * time.Second

// withOverlap returns where a gap after the newest message begins, but not before the first known
// message: the bot was not there yet.
func withOverlap(newest, first string) string {
	if !isTS(newest) {
		return newest
	}
	start := timeOf(newest).Add(-overlap)
	if isTS(first) && timeOf(first).After(start) {
		start = timeOf(first)
	}
	if start.UnixMicro() < 0 || start.After(timeOf(newest)) {
		return newest
	}
	return tsOf(start)
}

// handleHello handles the start of a socket: it stores which conversations may have a gap before it
// returns and the first event is read, then backfills them in the background.
func (s *Slack) handleHello(ctx context.Context) error {
	gaps, err := s.hub.Away(ctx, Name, withOverlap)
	if err != nil {
		return fmt.Errorf("note what may have been missed: %w", err)
	}
	if !s.recovered {
		if err := s.hub.Recover(ctx, func(name string) bool { return strings.HasPrefix(name, prefix) }); err != nil {
			return err
		}
		s.recovered = true
		s.log.Info("connected", "as", s.self.name)
	}
	s.noteKnownThreads(gaps)
	if len(gaps) == 0 && s.lastRead.IsZero() { // the first start: the bot was in no conversation before
		s.firstHello = time.Now()
		return nil
	}
	l := s.newListing(time.Now())
	s.tasks.Start(func(ctx context.Context) { s.backfillAll(ctx, gaps, l) })
	return nil
}

// listing is a search for unknown channels that may have missed messages.
type listing struct {
	since time.Time   // of the messages to read
	done  atomic.Bool // it succeeded
}

// newListing replaces the listing, and also covers the period of the old one if that has not
// succeeded.
func (s *Slack) newListing(now time.Time) *listing {
	l := &listing{since: slices.MaxFunc([]time.Time{now.Add(-s.o.CatchUp), s.lastRead.Add(-time.Minute), s.firstHello}, time.Time.Compare)}
	if previous := s.listing.Load(); previous != nil && !previous.done.Load() && previous.since.Before(l.since) {
		l.since = previous.since
	}
	s.listing.Store(l)
	return l
}

// noteKnownThreads records which threads already have messages, so that their next reply does not
// count as the first: people may have told the bot to stop there.
func (s *Slack) noteKnownThreads(gaps []channel.Gap) {
	for _, gap := range gaps {
		if place := channel.ParsePlace(gap.Conversation); place.Thread != "" {
			s.threads.First(firstReplyKey(place), "")
		}
	}
}

// maxImmediate is how many conversations are backfilled without a pause. Slack lets an app read
// some 50 pages a minute, so the others follow at that rate; one that receives a message reads its
// gap first.
const maxImmediate = 50

const (
	listTimeout  = 2 * time.Minute // for the list of channels, including waits for rate limits
	maxListPause = time.Hour       // between attempts to list the channels
)

// backfillAll backfills all conversations with a gap, the most recently active first, and unknown
// channels. If listing those fails it retries, until a newer listing replaces l.
func (s *Slack) backfillAll(ctx context.Context, gaps []channel.Gap, l *listing) {
	slices.SortStableFunc(gaps, func(a, b channel.Gap) int { return cmp.Compare(b.After, a.After) })
	known := make(map[string]bool, len(gaps))
	n := 0
	backfill := func(gaps []channel.Gap) {
		for _, gap := range gaps {
			known[gap.Conversation] = true
			if n++; n > maxImmediate && platform.Sleep(ctx, s.times.pages) != nil {
				return
			}
			after := "" // the gap is stored
			if gap.After == "" {
				after = tsOf(l.since)
			}
			if err := s.hub.CatchUp(ctx, gap.Conversation, after); err != nil && ctx.Err() == nil && !errors.Is(err, channel.ErrClosed) {
				s.log.Warn("backfill_failed", "conversation", gap.Conversation, "error", err)
			}
		}
	}
	for _, gap := range gaps {
		known[gap.Conversation] = true
	}
	first := min(len(gaps), maxImmediate)
	backfill(gaps[:first])
	gaps = gaps[first:]
	incident := platform.Incident{Log: s.log, Failed: "list_channels_failed", Recovered: "list_channels_recovered"}
	platform.Retry(ctx, platform.Backoff{First: s.times.list, Most: maxListPause}, func() (done bool) {
		limited, cancel := context.WithTimeout(ctx, listTimeout)
		channels, err := s.memberships(limited)
		cancel()
		var unknown []channel.Gap
		for _, id := range channels {
			if name := s.place(id, "").String(); !known[name] {
				unknown = append(unknown, channel.Gap{Conversation: name})
			}
		}
		backfill(slices.Concat(unknown, gaps))
		gaps = nil
		switch {
		case err == nil:
			incident.End()
			l.done.Store(true)
		case ctx.Err() == nil:
			incident.Begin(err)
		}
		return err == nil || s.listing.Load() != l
	})
}

// kinds are the types of conversations that a bot can be in.
var kinds = []string{"public_channel", "private_channel", "mpim", "im"}

// memberships returns the ids of the channels that the bot is in; after an error, those found
// before it.
func (s *Slack) memberships(ctx context.Context) ([]string, error) {
	var found []string
	all := false // list all channels, for servers without users.conversations
	for cursor := ""; ; {
		ids, next, err := s.channels(ctx, cursor, all)
		if unknownMethod(err) && cursor == "" && !all {
			all = true
			ids, next, err = s.channels(ctx, "", all)
		}
		if err != nil {
			return found, err
		}
		found = append(found, ids...)
		if next == "" || next == cursor {
			return found, nil
		}
		cursor = next
	}
}

// channels returns one page of the channels that the bot is in, taken from the list of all channels
// if all is true.
func (s *Slack) channels(ctx context.Context, cursor string, all bool) (ids []string, next string, err error) {
	var found []slackgo.Channel
	if all {
		found, next, err = s.api.read.GetConversationsContext(ctx, &slackgo.GetConversationsParameters{
			Cursor: cursor, Types: kinds, Limit: pageSize, ExcludeArchived: true,
		})
	} else {
		found, next, err = s.api.read.GetConversationsForUserContext(ctx, &slackgo.GetConversationsForUserParameters{
			Cursor: cursor, Types: kinds, Limit: pageSize, ExcludeArchived: true,
		})
	}
	for _, c := range found {
		if !all || c.IsMember || c.IsIM {
			ids = append(ids, c.ID)
		}
	}
	return ids, next, err
}
