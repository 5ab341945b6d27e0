// The history of channels and threads, page by page.

package slack

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
	"cairn/chat"
	"cairn/connector/platform"
)

const (
	pageSize = 200  // as Slack recommends for lists
	maxKept  = 2000 // maximum number of messages in gapPages
)

// history reads what was written in channels and threads.
type history struct {
	base       *platform.Base
	api        *api
	self       *self
	recent     *recent
	translator *translator
	unread     sync.Map // gapPages of histories longer than a page, by place
}

// History returns a page of a conversation; see channel.Historian.
func (h *history) History(ctx context.Context, conversation string, request channel.Look) (p channel.Page, err error) {
	if err := h.base.Work.Wait(ctx); err != nil {
		return p, err
	}
	ctx = background(ctx, channel.Awaited(ctx))
	place := chat.ParsePlace(conversation)
	if edge := cmp.Or(request.After, request.Before); edge != "" && timeOf(edge).IsZero() { // an imported message's, which Slack does not know
		return p, fmt.Errorf("read the history: %w: %q is no ts", channel.ErrGone, edge)
	}
	var found pages
	switch {
	case request.After == "":
		found, err = h.messagesBefore(ctx, place, request.Before, request.Limit)
	case place.Thread != "":
		found, err = h.page(ctx, place, span{Oldest: request.After, Limit: request.Limit})
	default:
		found, err = h.messagesAfter(ctx, place, request)
	}
	switch code := codeOf(err); {
	case err == nil:
		return h.inbound(ctx, place, found), nil
	case isPermanent(err) && code != "invalid_cursor", code == "missing_scope": // it can never be read
		return p, fmt.Errorf("read the history: %w: %w", channel.ErrGone, err)
	}
	return p, fmt.Errorf("read the history: %w", stopIfSetupError(h.base.Work, err))
}

// inbound converts what was found of a place.
func (h *history) inbound(ctx context.Context, place chat.Place, found pages) channel.Page {
	p := channel.Page{More: found.next != "", There: []string{}}
	for _, m := range found.messages {
		if m.TS == place.Thread {
			continue // it belongs to the channel
		}
		p.Last = m.TS
		p.There = append(p.There, m.TS)
		if m.SubType == "tombstone" {
			p.Gone = append(p.Gone, m.TS)
		}
		at := h.recent.placeOf(place.Channel, m)
		m, there := h.recent.current(place.Channel, m)
		if in, relevant := h.translator.inbound(at, m); relevant && there && at == place && !platform.IsCommand(in) && !h.isElsewhere(ctx, place, m) {
			if m.Edited != nil {
				in.Edited = timeOf(m.Edited.TS)
			}
			p.Messages = append(p.Messages, in)
		}
	}
	if found.unreadable {
		p.There = nil
	}
	// A direct message may have been one with an agent, and threads of it, too. What was said in a thread for the answer to the message
	// above it is in the channel's conversation.
	p.TopOnly = place.Thread == "" && (found.topOnly || !h.recent.isOne(place.Channel))
	return p
}

// messagesAfter returns the first messages of a channel after request.After, oldest first. Slack returns the newest ones
// first, so a long gap is read completely, and unread keeps the part that was not requested yet.
func (h *history) messagesAfter(ctx context.Context, place chat.Place, request channel.Look) (found pages, err error) {
	gap := gapPages{after: request.After}
	if kept, ok := h.unread.LoadAndDelete(place); ok && kept.(gapPages).after == request.After {
		gap = kept.(gapPages)
	}
	if !gap.complete || len(gap.roots) > 0 {
		missed := cmp.Or(request.Missed, request.After)
		err = h.readAfter(ctx, place, missed, &gap)
		if err == nil {
			err = h.readReplies(ctx, place, &gap)
		}
		if err != nil {
			h.unread.Store(place, gap) // so that the next attempt continues there
			return found, err
		}
		for _, name := range gap.threads { // must be stored before the channel's gap is closed
			if err := h.base.Hub.CatchUp(ctx, name, missed); err != nil {
				return found, err
			}
		}
	}
	found = gap.pages
	if n := request.Limit; n < len(found.messages) {
		found.messages, gap.messages = found.messages[:n], found.messages[n:]
		gap.after = found.messages[n-1].TS
		found.next = gap.after
		h.unread.Store(place, gap)
	}
	return found, nil
}

// readAfter reads a channel from the newest message back to one that is not in the gap, and notes the threads that may have missed
// messages. After an error it can be called again to continue.
func (h *history) readAfter(ctx context.Context, place chat.Place, missed string, gap *gapPages) error {
	start := timeOf(gap.after)
	for !gap.complete {
		found, err := h.page(ctx, place, span{Cursor: gap.next})
		if codeOf(err) == "invalid_cursor" {
			*gap = gapPages{after: gap.after}
		}
		if err != nil {
			return err
		}
		for _, m := range found.messages {
			if h.recent.isOne(place.Channel) {
				if repliedAfter(m, gap.after, h.self.user) {
					gap.roots = append(gap.roots, m.TS)
				}
			} else if h.missedThread(place, m, missed) {
				gap.threads = append(gap.threads, h.self.place(place.Channel, m.TS).String())
			}
			if !timeOf(m.TS).After(start) {
				gap.complete = true
				continue
			}
			if withBlocks(m.Text, m.Blocks) == m.Text {
				m.Blocks = nil // saves memory: they say nothing else
			}
			gap.messages = append(gap.messages, m)
		}
		gap.complete = gap.complete || found.next == ""
		if gap.complete || len(gap.messages) > 2*maxKept {
			gap.sort()
		}
		gap.next = found.next
		gap.unreadable = gap.unreadable || found.unreadable
		gap.topOnly = gap.complete && found.next != "" // of a direct message with an agent: it may have threads further back
	}
	gap.next = gap.dropped
	return nil
}

// messagesBefore returns the newest messages before before, or of all, oldest first. A thread is read from its beginning.
func (h *history) messagesBefore(ctx context.Context, place chat.Place, before string, limit int) (newest pages, err error) {
	p := span{Latest: before}
	if place.Thread == "" {
		p.Limit = min(limit, pageSize)
	}
	more := true
	for more {
		found, err := h.page(ctx, place, p)
		if err != nil {
			return newest, err
		}
		if h.recent.isOne(place.Channel) {
			if err := h.addReplies(ctx, place, &found, before, limit); err != nil {
				return newest, err
			}
		}
		newest.topOnly = newest.topOnly || found.topOnly
		all := append(newest.messages, found.messages...)
		slices.SortStableFunc(all, byTime)
		newest.messages = all[max(len(all)-limit, 0):]
		more = place.Thread != "" && found.next != ""
		p.Cursor = found.next
	}
	return newest, nil
}

// missedThread reports whether a message of a channel has an unknown thread in which someone else may have replied
// after after: Slack does not repeat the events of missed replies. Known threads have their gaps.
func (h *history) missedThread(place chat.Place, m message, after string) bool {
	if place.Thread != "" || m.Thread != "" && m.Thread != m.TS {
		return false
	}
	known := h.recent.hasReplyToBot(h.self.place(place.Channel, m.TS))
	return !known && repliedAfter(m, after, h.self.user)
}

// span is the part of a history between two messages, exclusive. page sets its place.
type span = slackgo.GetConversationRepliesParameters

// pages is a part of a history.
type pages struct {
	messages   []message
	next       string // where there are more messages; empty: nowhere
	unreadable bool   // a message could not be decoded
	topOnly    bool   // not all threads have been looked at
}

// page reads one page of a channel, newest first, or of a thread, oldest first and after the one at its top.
func (h *history) page(ctx context.Context, place chat.Place, p span) (found pages, err error) {
	p.ChannelID = place.Channel
	p.Timestamp = place.Thread
	p.Limit = cmp.Or(p.Limit, pageSize)
	var read answer
	ctx = decodedInto(ctx, &read)
	if place.Thread != "" {
		_, _, found.next, err = h.api.read.GetConversationRepliesContext(ctx, &p)
	} else {
		var response *slackgo.GetConversationHistoryResponse
		response, err = h.api.read.GetConversationHistoryContext(ctx, &slackgo.GetConversationHistoryParameters{
			ChannelID: p.ChannelID, Oldest: p.Oldest, Latest: p.Latest, Cursor: p.Cursor, Limit: p.Limit,
			IncludeAllMetadata: p.IncludeAllMetadata,
		})
		if err == nil {
			found.next = response.ResponseMetaData.NextCursor
		}
	}
	found.messages = slices.DeleteFunc(read.Messages, func(m message) bool { return !isTS(m.TS) })
	found.unreadable = len(found.messages) < len(read.Messages)
	if found.next == p.Cursor { // it would be the same page again
		found.next = ""
	}
	return found, err
}

const maxSearchPages = 10 // of a history, for the bot's messages

// messagesSince returns the bot's messages after the ts answers, oldest first; those of the last hour if that is none.
func (h *history) messagesSince(ctx context.Context, place chat.Place, answers string) ([]message, error) {
	if !isTS(answers) {
		answers = tsOf(h.base.Clock.Now().Add(-time.Hour))
	}
	var sent []message
	p := span{Oldest: answers, IncludeAllMetadata: true}
	for range maxSearchPages {
		found, err := h.page(ctx, place, p)
		if err != nil {
			return nil, err
		}
		for _, m := range found.messages {
			if h.self.wrote(m) && h.recent.threadOf(place.Channel, m) == place.Thread && timeOf(m.TS).After(timeOf(answers)) {
				m.Channel = place.Channel
				sent = append(sent, m)
			}
		}
		p.Cursor = found.next
		if p.Cursor == "" {
			break
		}
	}
	slices.SortStableFunc(sent, byTime)
	return sent, nil
}

// gapPages is the part of a channel's history that was read but not requested yet.
type gapPages struct {
	pages             // next is the cursor until all is read
	after    string   // the ts of the message before them
	threads  []string // conversations that may have missed messages
	roots    []string // messages whose replies belong to the conversation, and are not read yet
	complete bool     // there is nothing more to read
	dropped  string   // the ts of the first message that was read but not kept; empty: there is none
}

// sort sorts the messages, oldest first, and drops the newest if there are more than maxKept.
func (g *gapPages) sort() {
	slices.SortStableFunc(g.messages, byTime)
	if len(g.messages) > maxKept {
		g.messages, g.dropped = slices.Clone(g.messages[:maxKept]), g.messages[maxKept].TS
	}
}
