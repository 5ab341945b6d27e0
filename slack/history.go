// The history of channels and threads, page by page.

package slack

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
	"cairn/internal/platform"
)

const (
	pageSize  = 200  // as Slack advises for its lists
	mostPages = 100  // of one thread, for the newest messages before one
	mostKept  = 2000 // messages of a reading
)

// History returns a page of a conversation, see channel.Historian.
func (s *Slack) History(ctx context.Context, conversation string, look channel.Look) (p channel.Page, err error) {
	if err := s.await(ctx); err != nil {
		return p, err
	}
	place := channel.ParsePlace(conversation)
	var found []slackgo.Message
	if look.After != "" {
		found, p.More, err = s.following(ctx, place, look)
	} else {
		found, err = s.preceding(ctx, place, look.Before, look.Limit)
	}
	if err != nil {
		return channel.Page{}, s.unreadable(err)
	}
	whole := true
	p.There = []string{}
	for _, m := range found {
		if whole = whole && isTS(m.Timestamp); !isTS(m.Timestamp) {
			continue // nobody can read it
		}
		p.Last = m.Timestamp
		p.There = append(p.There, m.Timestamp)
		if m.SubType == "tombstone" {
			p.Gone = append(p.Gone, m.Timestamp)
		}
		if belongs, in, relevant := s.inbound(place.Channel, m); relevant && belongs == place && !platform.IsCommand(in) {
			if m.Edited != nil {
				in.Edited = timeOf(m.Edited.Timestamp)
			}
			p.Said = append(p.Said, in)
		}
	}
	if !whole {
		p.There = nil
	}
	return p, nil
}

// unreadable marks an error of a history that can never be read with channel.ErrGone.
func (s *Slack) unreadable(err error) error {
	if code := codeOf(err); refusedForGood(err) && code != "invalid_cursor" || code == "missing_scope" {
		return fmt.Errorf("read the history: %w: %w", channel.ErrGone, err)
	}
	s.stopIfSetupError(explainBotError("conversations.history", err))
	return fmt.Errorf("read the history: %w", err)
}

// following returns the first messages after one, oldest first. Slack returns a channel's newest
// messages first, so a long gap is read to its end, and pageCache keeps the part that was not
// requested yet.
func (s *Slack) following(ctx context.Context, place channel.Place, look channel.Look) (found []slackgo.Message, more bool, err error) {
	after := look.After
	r, ok := s.pageCache.take(place, after)
	if !ok || !r.whole {
		missed := cmp.Or(look.Missed, after)
		if err = s.read(ctx, place, after, missed, &r); err != nil {
			s.pageCache.put(place, after, r) // what was read need not be read again
			return nil, false, err
		}
		for _, name := range r.threads { // before the channel's gap is closed
			if err := s.hub.CatchUp(ctx, name, missed); err != nil {
				return nil, false, err
			}
		}
	}
	n := min(look.Limit, len(r.messages))
	found, r.messages = r.messages[:n], r.messages[n:]
	more = len(r.messages) > 0 || r.cut
	if len(r.messages) > 0 {
		s.pageCache.put(place, found[n-1].Timestamp, r)
	}
	return found, more, nil
}

// read reads all messages after one into r, and which threads may have missed something. After an
// error it can go on where it stopped. The pages of a channel are read from the newest message back
// to the one before the gap, so that they show the threads of older messages too.
func (s *Slack) read(ctx context.Context, place channel.Place, after, missed string, r *historyPages) error {
	p := span{cursor: r.cursor}
	if place.Thread != "" {
		p.oldest = after
	}
	for !r.whole {
		found, next, err := s.page(ctx, place, p)
		if err != nil {
			if codeOf(err) == "invalid_cursor" {
				*r = historyPages{}
			}
			return err
		}
		for _, m := range found {
			if s.missedThread(place, m, missed) {
				r.threads = append(r.threads, s.place(place.Channel, m.Timestamp).String())
			}
			unreadable := m.Timestamp == "" // kept, so that the page is known not to be whole
			r.whole = r.whole || isTS(m.Timestamp) && !timeOf(m.Timestamp).After(timeOf(after)) && place.Thread == ""
			if unreadable || timeOf(m.Timestamp).After(timeOf(after)) && m.Timestamp != place.Thread {
				m.Blocks = slackgo.Blocks{} // the text says it too
				r.messages = append(r.messages, m)
			}
		}
		if len(r.messages) > 2*mostKept {
			r.sort()
		}
		r.whole = r.whole || next == "" || next == p.cursor
		p.cursor, r.cursor = next, next
	}
	r.sort()
	return nil
}

// preceding returns the newest messages before one, oldest first.
func (s *Slack) preceding(ctx context.Context, place channel.Place, before string, limit int) ([]slackgo.Message, error) {
	newestFirst := place.Thread == ""
	size := pageSize
	if newestFirst {
		size = min(limit, pageSize)
	}
	var all []slackgo.Message
	cursor := ""
	for range mostPages {
		found, next, err := s.page(ctx, place, span{latest: before, cursor: cursor, limit: size})
		if err != nil {
			return nil, err
		}
		for _, m := range found {
			if m.Timestamp != place.Thread && (before == "" || timeOf(m.Timestamp).Before(timeOf(before))) {
				all = append(all, m)
			}
		}
		if next == "" || next == cursor || newestFirst && len(all) >= limit {
			break
		}
		cursor = next
	}
	slices.SortStableFunc(all, byTime)
	return all[max(len(all)-limit, 0):], nil
}

func byTime(a, b slackgo.Message) int { return timeOf(a.Timestamp).Compare(timeOf(b.Timestamp)) }

// missedThread reports whether a message of a channel has a thread that is not known, in which
// somebody else may have replied after what is known of the channel: Slack sends no event about
// replies that were missed. Threads that are known have a gap of their own.
func (s *Slack) missedThread(place channel.Place, m slackgo.Message, after string) bool {
	if place.Thread != "" || m.ReplyCount == 0 || m.ThreadTimestamp != "" && m.ThreadTimestamp != m.Timestamp {
		return false
	}
	_, known := s.threads.Find(firstReplyKey(s.place(place.Channel, m.Timestamp)))
	return !known && timeOf(cmp.Or(m.LatestReply, m.Timestamp)).After(timeOf(after)) &&
		(len(m.ReplyUsers) == 0 || slices.ContainsFunc(m.ReplyUsers, func(id string) bool { return id != s.self.user }))
}

// span is the part of a history between two messages, exclusive.
type span struct {
	oldest, latest, cursor string
	limit                  int  // 0: pageSize
	metadata               bool // of the bot's own messages
}

// page reads one page of a channel, newest first, or of a thread, oldest first.
func (s *Slack) page(ctx context.Context, place channel.Place, p span) (found []slackgo.Message, next string, err error) {
	if p.limit == 0 {
		p.limit = pageSize
	}
	if place.Thread != "" {
		found, _, next, err = s.api.read.GetConversationRepliesContext(ctx, &slackgo.GetConversationRepliesParameters{
			ChannelID: place.Channel, Timestamp: place.Thread, Oldest: p.oldest, Latest: p.latest,
			Cursor: p.cursor, Limit: p.limit, IncludeAllMetadata: p.metadata,
		})
		return found, next, err
	}
	answer, err := s.api.read.GetConversationHistoryContext(ctx, &slackgo.GetConversationHistoryParameters{
		ChannelID: place.Channel, Oldest: p.oldest, Latest: p.latest,
		Cursor: p.cursor, Limit: p.limit, IncludeAllMetadata: p.metadata,
	})
	if err != nil {
		return nil, "", err
	}
	return answer.Messages, answer.ResponseMetaData.NextCursor, nil
}

// historyPages is the part of a history that was read and not yet requested, oldest first.
type historyPages struct {
	messages []slackgo.Message
	threads  []string // conversations that may have missed something
	cursor   string   // of the next page
	whole    bool     // there is no next page
	cut      bool     // newer ones were read and not kept
}

// sort puts the oldest first and keeps as many as may be kept.
func (r *historyPages) sort() {
	slices.SortStableFunc(r.messages, byTime)
	if len(r.messages) > mostKept {
		r.messages, r.cut = slices.Clone(r.messages[:mostKept]), true
	}
}

// pageCache keeps the newest few, each by the message after which it begins.
type pageCache struct {
	mu      sync.Mutex // guards kept
	entries []cachedPages
}

type cachedPages struct {
	place channel.Place
	after string
	historyPages
}

const maxCachedReads = 16

func newPageCache() *pageCache { return &pageCache{} }

func (r *pageCache) put(place channel.Place, after string, read historyPages) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = append(r.entries, cachedPages{place, after, read})
	if len(r.entries) > maxCachedReads {
		r.entries = slices.Clone(r.entries[1:])
	}
}

// take removes and returns an entry.
func (r *pageCache) take(place channel.Place, after string) (read historyPages, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, k := range r.entries {
		if k.place == place && k.after == after {
			r.entries = slices.Delete(r.entries, i, i+1)
			return k.historyPages, true
		}
	}
	return read, false
}
