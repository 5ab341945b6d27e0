// Backfill: messages from while no socket was open are read from history.

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

// overlap is read again before the newest message that came: Slack sends events in any
// order. It repeats what is not acknowledged, for minutes at most, and not to a bot that is down.
const overlap = 10 * time.Second

// overlapped is where a gap begins behind the newest message. What was said before the
// first one was not missed: the bot was not there.
func overlapped(newest, first string) string {
	if !isTS(newest) {
		return newest
	}
	begins := timeOf(newest).Add(-overlap)
	if isTS(first) && timeOf(first).After(begins) {
		begins = timeOf(first)
	}
	if begins.UnixMicro() < 0 || begins.After(timeOf(newest)) {
		return newest
	}
	return tsOf(begins)
}

// handleHello handles the beginning of a socket, before its first event: it stores which
// conversations may have a gap, then backfills them.
func (s *Slack) handleHello(ctx context.Context) error {
	gaps, err := s.hub.Away(ctx, Name, overlapped)
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
	if len(gaps) == 0 && s.lastRead.IsZero() { // the first start: the bot was never there
		s.firstHello = time.Now()
		return nil
	}
	l := s.newListing(time.Now())
	s.tasks.Start(func(ctx context.Context) { s.backfillAll(ctx, gaps, l) })
	return nil
}

// listing is the search for channels that are not known yet, in which something may have been missed.
type listing struct {
	since time.Time
	done  atomic.Bool
}

// newListing begins a listing, in the place of one that has not succeeded.
func (s *Slack) newListing(now time.Time) *listing {
	l := &listing{since: slices.MaxFunc([]time.Time{now.Add(-s.o.CatchUp), s.lastRead.Add(-time.Minute), s.firstHello}, time.Time.Compare)}
	if old := s.listing.Load(); old != nil && !old.done.Load() && old.since.Before(l.since) {
		l.since = old.since
	}
	s.listing.Store(l)
	return l
}

// noteKnownThreads fills the cache of threads that have messages: people may have stopped the bot there.
func (s *Slack) noteKnownThreads(gaps []channel.Gap) {
	for _, gap := range gaps {
		if place := channel.ParsePlace(gap.Conversation); place.Thread != "" {
			s.threads.First(firstReplyKey(place), "")
		}
	}
}

// atOnce is how many conversations are backfilled at once. Slack lets an app read some 50 pages a
// minute, so the others follow at that rate; one with a new message reads its gap before it.
const atOnce = 50

const (
	listTime  = 2 * time.Minute // that the list of channels may take, waiting for rate limits included
	listPause = time.Hour       // at most, before it is tried again
)

// backfillAll backfills all conversations, the most recently active first, and channels that are not
// known yet. They are listed again later if that fails, unless the next socket does so.
func (s *Slack) backfillAll(ctx context.Context, gaps []channel.Gap, l *listing) {
	slices.SortStableFunc(gaps, func(a, b channel.Gap) int { return cmp.Compare(b.After, a.After) })
	known := make(map[string]bool, len(gaps))
	backfilled := 0
	backfill := func(gaps []channel.Gap) {
		for _, gap := range gaps {
			known[gap.Conversation] = true
			if backfilled++; backfilled > atOnce && platform.Sleep(ctx, s.times.pages) != nil {
				return
			}
			after := "" // it is noted
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
	first := min(len(gaps), atOnce)
	backfill(gaps[:first])
	gaps = gaps[first:]
	failing := platform.Incident{Log: s.log, Failed: "list_channels_failed", Recovered: "list_channels_recovered"}
	platform.Retry(ctx, platform.Backoff{First: s.times.list, Most: listPause}, func() (done bool) {
		brief, cancel := context.WithTimeout(ctx, listTime)
		channels, err := s.memberships(brief)
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
			failing.End()
			l.done.Store(true)
		case ctx.Err() == nil:
			failing.Begin(err)
		}
		return err == nil || s.listing.Load() != l
	})
}

// kinds of conversations a bot can be in.
var kinds = []string{"public_channel", "private_channel", "mpim", "im"}

// memberships are the channels the bot is in.
func (s *Slack) memberships(ctx context.Context) ([]string, error) {
	var found []string
	all := false // for servers that have no users.conversations
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

// channels returns a page of the channels the bot is in. all: of the list of all channels.
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
