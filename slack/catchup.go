// Backfill: messages from while no socket was open are read from history.

package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
		return nil
	}
	since := time.Now().Add(-s.o.CatchUp)
	if last := s.lastRead.Add(-time.Minute); last.After(since) {
		since = last
	}
	s.tasks.Start(func(ctx context.Context) { s.backfillAll(ctx, gaps, tsOf(since)) })
	return nil
}

// noteKnownThreads fills two caches: threads that have messages, in which people may have stopped the bot, and the newest known message of channels.
func (s *Slack) noteKnownThreads(gaps []channel.Gap) {
	for _, gap := range gaps {
		if place := channel.ParsePlace(gap.Conversation); place.Thread != "" {
			s.threads.First(firstReplyKey(place), "")
		} else if gap.Newest != "" {
			s.newest.Set(gap.Conversation, gap.Newest)
		}
	}
}

// atOnce is how many conversations are backfilled at once. Slack lets an app read some 50 pages a
// minute, so the others follow at that rate; one with a new message reads its gap before it.
const atOnce = 50

// listTime is how long the list of channels may take, waiting for rate limits included.
const listTime = 2 * time.Minute

// backfillAll backfills all conversations, the most recently active first, and channels that are not
// known yet.
func (s *Slack) backfillAll(ctx context.Context, gaps []channel.Gap, since string) {
	slices.SortStableFunc(gaps, func(a, b channel.Gap) int { return cmp.Compare(b.After, a.After) })
	known := make(map[string]bool, len(gaps))
	for i, gap := range gaps {
		known[gap.Conversation] = true
		if gap.After != "" {
			gaps[i].After = "" // it is noted
		} else {
			gaps[i].After = since
		}
	}
	first := min(len(gaps), atOnce)
	for _, gap := range gaps[:first] {
		s.backfill(ctx, gap.Conversation, gap.After)
	}
	brief, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	channels, err := s.memberships(brief)
	if err != nil && ctx.Err() == nil {
		s.log.Warn("list_channels_failed", "error", err)
	}
	var unknown []channel.Gap
	for _, id := range channels {
		if name := s.place(id, "").String(); !known[name] {
			unknown = append(unknown, channel.Gap{Conversation: name, After: since})
		}
	}
	for i, gap := range slices.Concat(unknown, gaps[first:]) {
		if first+i >= atOnce && platform.Sleep(ctx, s.times.pages) != nil {
			return
		}
		s.backfill(ctx, gap.Conversation, gap.After)
	}
}

// backfill reads the gap of a conversation from history.
func (s *Slack) backfill(ctx context.Context, name, after string) {
	if err := s.hub.CatchUp(ctx, name, after); err != nil && ctx.Err() == nil && !errors.Is(err, channel.ErrClosed) {
		s.log.Warn("backfill_failed", "conversation", name, "error", err)
	}
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
