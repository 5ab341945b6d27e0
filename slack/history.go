// The history of channels and threads, page by page.

package slack

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
)

const (
	pageSize  = 200  // as Slack advises for its lists
	mostPages = 100  // of one thread, for the newest messages before one
	mostKept  = 2000 // messages of a reading
)

// History returns what was said in a conversation, see channel.Historian.
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
		if belongs, in, heard := s.inbound(place.Channel, m); heard && belongs == place && !isCommand(in) {
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

// unreadable tells what cannot be read for good from what cannot be read now.
func (s *Slack) unreadable(err error) error {
	if code := codeOf(err); refusedForGood(err) && code != "invalid_cursor" || code == "missing_scope" {
		return fmt.Errorf("read the history: %w: %w", channel.ErrGone, err)
	}
	s.fail(botTrouble("conversations.history", err))
	return fmt.Errorf("read the history: %w", err)
}

// following are the first messages after one, oldest first. Slack gives a channel's
// newest messages first, so a long gap is read whole, and what is not asked for yet
// is kept for the next call.
func (s *Slack) following(ctx context.Context, place channel.Place, look channel.Look) (found []slackgo.Message, more bool, err error) {
	after := look.After
	r, ok := s.reads.take(place, after)
	if !ok || !r.whole {
		if err = s.read(ctx, place, after, &r); err != nil {
			s.reads.keep(place, after, r) // what was read need not be read again
			return nil, false, err
		}
		s.threadsOf(place, r.messages, cmp.Or(look.Missed, after))
	}
	n := min(look.Limit, len(r.messages))
	found, r.messages = r.messages[:n], r.messages[n:]
	more = len(r.messages) > 0 || r.cut
	if len(r.messages) > 0 {
		s.reads.keep(place, found[n-1].Timestamp, r)
	}
	return found, more, nil
}

// read goes on with a reading of all messages after one, to the end. When it fails it
// can be gone on with.
func (s *Slack) read(ctx context.Context, place channel.Place, after string, r *reading) error {
	for !r.whole {
		found, next, err := s.page(ctx, place, span{oldest: after, cursor: r.cursor})
		if err != nil {
			if codeOf(err) == "invalid_cursor" {
				*r = reading{}
			}
			return err
		}
		for _, m := range found {
			unreadable := m.Timestamp == "" // kept, so that the page is known not to be whole
			if unreadable || timeOf(m.Timestamp).After(timeOf(after)) && m.Timestamp != place.Thread {
				m.Blocks = slackgo.Blocks{} // the text says it too
				r.messages = append(r.messages, m)
			}
		}
		if len(r.messages) > 2*mostKept {
			r.sort()
		}
		r.whole = next == "" || next == r.cursor
		r.cursor = next
	}
	r.sort()
	return nil
}

// preceding are the newest messages before one, oldest first.
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

// threadsOf has the threads caught up with that hang on messages of a channel's gap:
// nothing else would tell of replies in a thread that nothing is known of. Those of messages
// that the overlap reads again are left alone: the bot was told of the replies, or the
// thread has a gap of its own.
func (s *Slack) threadsOf(place channel.Place, found []slackgo.Message, after string) {
	if place.Thread != "" {
		return
	}
	if newest, _ := s.newest.find(place.String()); isTS(newest) && timeOf(newest).After(timeOf(after)) {
		after = newest
	}
	var names []string
	for _, m := range found {
		root := m.ThreadTimestamp == "" || m.ThreadTimestamp == m.Timestamp
		if root && timeOf(m.Timestamp).After(timeOf(after)) && m.ReplyCount > 0 && (m.LatestReply == "" || timeOf(m.LatestReply).After(timeOf(after))) {
			names = append(names, s.place(place.Channel, m.Timestamp).String())
		}
	}
	if len(names) == 0 {
		return
	}
	s.tasks.start(func(ctx context.Context) {
		for _, name := range names {
			s.wake(ctx, name, after)
		}
	})
}

// span is a part of a history: between two messages, without them.
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
	err = patient(ctx, func() error {
		if place.Thread != "" {
			found, _, next, err = s.api.read.GetConversationRepliesContext(ctx, &slackgo.GetConversationRepliesParameters{
				ChannelID: place.Channel, Timestamp: place.Thread, Oldest: p.oldest, Latest: p.latest,
				Cursor: p.cursor, Limit: p.limit, IncludeAllMetadata: p.metadata,
			})
			return err
		}
		answer, err := s.api.read.GetConversationHistoryContext(ctx, &slackgo.GetConversationHistoryParameters{
			ChannelID: place.Channel, Oldest: p.oldest, Latest: p.latest,
			Cursor: p.cursor, Limit: p.limit, IncludeAllMetadata: p.metadata,
		})
		if err == nil {
			found, next = answer.Messages, answer.ResponseMetaData.NextCursor
		}
		return err
	})
	return found, next, err
}
