// The history of channels and threads, page by page.

package slack

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
	"cairn/internal/platform"
)

const (
	pageSize = 200  // as Slack recommends for lists
	maxKept  = 2000 // most messages in historyPages
)

// History returns a page of a conversation; see channel.Historian.
func (s *Slack) History(ctx context.Context, conversation string, request channel.Look) (p channel.Page, err error) {
	if err := s.Work.Wait(ctx); err != nil {
		return p, err
	}
	if edge := cmp.Or(request.After, request.Before); edge != "" && timeOf(edge).IsZero() { // an imported message's, which Slack does not know
		return p, fmt.Errorf("read the history: %w: %q is no ts", channel.ErrGone, edge)
	}
	place := channel.ParsePlace(conversation)
	var found []message
	var rest historyPages
	if request.After != "" {
		found, rest, err = s.messagesAfter(ctx, place, request)
	} else {
		found, err = s.messagesBefore(ctx, place, request.Before, request.Limit)
	}
	switch code := codeOf(err); {
	case err == nil:
	case isPermanent(err) && code != "invalid_cursor", code == "missing_scope": // it can never be read
		return p, fmt.Errorf("read the history: %w: %w", channel.ErrGone, err)
	default:
		return p, fmt.Errorf("read the history: %w", s.stopIfSetupError(err))
	}
	p.More, p.There = len(rest.messages) > 0 || rest.truncated, []string{}
	for _, m := range found {
		p.Last = m.TS
		p.There = append(p.There, m.TS)
		if m.SubType == "tombstone" {
			p.Gone = append(p.Gone, m.TS)
		}
		at := s.placeOf(place.Channel, m)
		if in, relevant := s.inbound(at, m); relevant && at == place && !platform.IsCommand(in) {
			if m.Edited != nil {
				in.Edited = timeOf(m.Edited.TS)
			}
			p.Said = append(p.Said, in)
		}
	}
	if rest.unreadable {
		p.There = nil
	}
	return p, nil
}

// messagesAfter returns the first messages after request.After, oldest first, and the rest. Slack returns the newest messages of
// a channel first, so a long gap is read completely, and unread keeps the part that was not requested yet.
func (s *Slack) messagesAfter(ctx context.Context, place channel.Place, request channel.Look) (found []message, r historyPages, err error) {
	after := request.After
	if kept, ok := s.unread.LoadAndDelete(place); ok && kept.(historyPages).after == after {
		r = kept.(historyPages)
	}
	r.after = after
	if !r.complete {
		missed := cmp.Or(request.Missed, after)
		if err = s.readAfter(ctx, place, after, missed, &r); err != nil {
			s.unread.Store(place, r) // so that the next attempt continues there
			return nil, r, err
		}
		for _, name := range r.threads { // must be stored before the channel's gap is closed
			if err := s.Hub.CatchUp(ctx, name, missed); err != nil {
				return nil, r, err
			}
		}
	}
	n := min(request.Limit, len(r.messages))
	found, r.messages = r.messages[:n], r.messages[n:]
	if len(r.messages) > 0 {
		r.after = found[n-1].TS
		s.unread.Store(place, r)
	}
	return found, r, nil
}

// readAfter reads all messages after after into r, and notes the threads that may have missed messages; of a channel from the
// newest back to one that is not newer than after. After an error it can be called again with r to continue.
func (s *Slack) readAfter(ctx context.Context, place channel.Place, after, missed string, r *historyPages) error {
	p := span{}
	if place.Thread != "" {
		p.Oldest = after
	}
	for !r.complete {
		p.Cursor = r.cursor
		found, next, err := s.page(ctx, place, p)
		if codeOf(err) == "invalid_cursor" {
			*r = historyPages{}
		}
		if err != nil {
			return err
		}
		for _, m := range found {
			if !isTS(m.TS) {
				r.unreadable = true
				continue
			}
			if s.missedThread(place, m, missed) {
				r.threads = append(r.threads, s.place(place.Channel, m.TS).String())
			}
			missing := timeOf(m.TS).After(timeOf(after))
			r.complete = r.complete || !missing && place.Thread == ""
			if missing && m.TS != place.Thread {
				if m.Text != "" {
					m.Blocks = nil // saves memory; they are read only if there is no text
				}
				r.messages = append(r.messages, m)
			}
		}
		if len(r.messages) > 2*maxKept {
			r.sort()
		}
		r.complete, r.cursor = r.complete || next == "", next
	}
	r.sort()
	return nil
}

// messagesBefore returns the newest messages before before, or of all, oldest first. A thread is read from its beginning.
func (s *Slack) messagesBefore(ctx context.Context, place channel.Place, before string, limit int) (newest []message, err error) {
	p := span{Latest: before}
	if place.Thread == "" {
		p.Limit = min(limit, pageSize)
	}
	for more := true; more; {
		found, next, err := s.page(ctx, place, p)
		if err != nil {
			return nil, err
		}
		found = slices.DeleteFunc(found, func(m message) bool {
			return !isTS(m.TS) || m.TS == place.Thread || before != "" && !timeOf(m.TS).Before(timeOf(before))
		})
		newest = append(newest, found...)
		slices.SortStableFunc(newest, byTime)
		newest = newest[max(len(newest)-limit, 0):]
		more, p.Cursor = place.Thread != "" && next != "", next
	}
	return newest, nil
}

// missedThread reports whether a message of a channel has an unknown thread in which someone else may have replied
// after after: Slack does not repeat the events of missed replies. Known threads have a gap of their own.
func (s *Slack) missedThread(place channel.Place, m message, after string) bool {
	if place.Thread != "" || m.ReplyCount == 0 || m.Thread != "" && m.Thread != m.TS {
		return false
	}
	_, known := s.threads.Find(firstReplyKey(s.place(place.Channel, m.TS)))
	latest := timeOf(cmp.Or(m.LatestReply, m.TS))
	return !known && (latest.IsZero() || latest.After(timeOf(after))) &&
		(len(m.ReplyUsers) == 0 || slices.ContainsFunc(m.ReplyUsers, func(id string) bool { return id != s.self.user }))
}

// span is the part of a history between two messages, exclusive. page sets its place.
type span = slackgo.GetConversationRepliesParameters

// page reads one page of a channel, newest first, or of a thread, oldest first. next is empty if it is the last.
func (s *Slack) page(ctx context.Context, place channel.Place, p span) (found []message, next string, err error) {
	p.ChannelID, p.Timestamp, p.Limit = place.Channel, place.Thread, cmp.Or(p.Limit, pageSize)
	var read answer
	if ctx = decodedInto(ctx, &read); place.Thread != "" {
		_, _, next, err = s.api.read.GetConversationRepliesContext(ctx, &p)
	} else {
		var h *slackgo.GetConversationHistoryResponse
		h, err = s.api.read.GetConversationHistoryContext(ctx, &slackgo.GetConversationHistoryParameters{
			ChannelID: p.ChannelID, Oldest: p.Oldest, Latest: p.Latest, Cursor: p.Cursor, Limit: p.Limit, IncludeAllMetadata: p.IncludeAllMetadata,
		})
		if err == nil {
			next = h.ResponseMetaData.NextCursor
		}
	}
	if next == p.Cursor { // it would be the same page again
		next = ""
	}
	return read.Messages, next, err
}

// historyPages is the part of a history that was read but not requested yet.
type historyPages struct {
	after      string // the ts of the message before them
	messages   []message
	threads    []string // conversations that may have missed messages
	cursor     string   // of the next page
	complete   bool     // there is nothing more to read
	truncated  bool     // newer messages were read but not kept
	unreadable bool     // a message could not be decoded
}

// sort sorts the messages, oldest first, and drops the newest if there are more than maxKept.
func (r *historyPages) sort() {
	slices.SortStableFunc(r.messages, byTime)
	if len(r.messages) > maxKept {
		r.messages, r.truncated = slices.Clone(r.messages[:maxKept]), true
	}
}
