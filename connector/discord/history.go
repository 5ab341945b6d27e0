// The history of channels and threads, page by page, and the bot's messages in it.

package discord

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"cairn/channel"
	"cairn/chat"
	"cairn/connector/platform"
)

const maxPage = 100 // messages

// history reads what was written in channels and threads, also by an earlier process.
type history struct {
	base       *platform.Base
	rest       *rest
	state      *stateCache
	translator *translator
	openedAt   func(conversation string) time.Time // see shards
}

// History returns a page of a conversation; see channel.Historian.
func (h *history) History(ctx context.Context, conversation string, request channel.Look) (page channel.Page, err error) {
	id := channelID(conversation)
	limit := min(max(request.Limit, 1), maxPage)
	background := request.After != "" // no one waits for missed messages
	found, err := h.messages(ctx, id, request.After, request.Before, limit, background)
	if err != nil {
		return page, fmt.Errorf("read the history: %w", err)
	}
	p := placeOf(conversation)
	complete := len(found) > 0 || request.After == request.Missed || h.readable(ctx, id, background)
	page.There = []string{}
	page.More = len(found) == limit
	for i, m := range found {
		if in, ok := h.translator.inbound(m, p); ok && !platform.IsCommand(in) {
			in.Edited, _ = time.Parse(time.RFC3339, m.Edited) // a missing time means never edited
			page.Messages = append(page.Messages, in)
		}
		page.There = append(page.There, m.ID)
		complete = complete && m.ID != ""
		if i == 0 || request.After != "" { // otherwise older messages follow
			page.Last = m.ID
		}
	}
	if !complete {
		page.There = nil
	}
	return page, nil
}

// readable reports whether the bot may read a channel whose history came back empty, as it does without the permission (Discord,
// Message: Get Channel Messages). A single message is reported as unknown only if the bot may read the channel.
func (h *history) readable(ctx context.Context, id string, background bool) bool {
	_, err := h.messageByID(ctx, id, idAt(h.base.Clock.Now()), background)
	return err == nil || refusalIn(err).code == codeUnknownMessage
}

// messages returns messages of a channel, oldest first: those after after, else the newest before before, else the newest.
func (h *history) messages(ctx context.Context, id, after, before string, limit int, background bool) (found []message, err error) {
	if me := h.state.self(); me.ID == "" { // READY has not arrived yet
		if err := h.rest.do(ctx, call{method: http.MethodGet, path: "/users/@me", into: &me.user}); err != nil {
			return nil, err
		}
		h.state.bot.CompareAndSwap(nil, &me)
	}
	query := url.Values{"limit": {strconv.Itoa(limit)}}
	switch {
	case after != "":
		query.Set("after", after)
	case before != "":
		query.Set("before", before)
	}
	err = h.rest.do(ctx, call{method: http.MethodGet, path: "/channels/" + id + "/messages?" + query.Encode(), into: &found, background: background})
	slices.SortFunc(found, func(a, b message) int { return byAge(a.ID, b.ID) })
	return found, err
}

func (h *history) messageByID(ctx context.Context, channel, id string, background bool) (m message, err error) {
	err = h.rest.do(ctx, call{method: http.MethodGet, path: "/channels/" + channel + "/messages/" + id, into: &m, background: background})
	return m, err
}

const maxSearch = 5 // pages of a history

// spot is where what leaves a conversation is shown: in its channel, or in a thread from the question.
type spot struct{ conversation, channel string }

// beside returns the other conversation whose messages the bot posts in the same channel; "" if there is none: an answer in a thread
// belongs to the conversation of the channel above.
func (s spot) beside() string {
	at := chat.ParsePlace(s.conversation)
	switch {
	case at.Thread != "":
		at.Thread = ""
	case s.channel != at.Channel:
		at.Thread = s.channel
	default:
		return ""
	}
	return at.String()
}

// isThread reports whether the answer is in a thread, and belongs to the conversation of the channel above.
func (s spot) isThread() bool { return s.channel != channelID(s.conversation) }

// findSent returns the message in which a piece was sent; its id is empty if there is none.
func (h *history) findSent(ctx context.Context, at spot, piece channel.Piece) (message, error) {
	conversation := at.conversation
	return h.find(ctx, at, piece.Reply, piece.To, func(m message) bool {
		switch first := piece.Part == 0 && len(piece.To) > 0; {
		case m.nonce() != "":
			return m.nonce() == nonceOf(conversation, piece) || first && m.repliesTo(piece.To)
		case first && m.Reference != nil:
			return m.repliesTo(piece.To)
		}
		return m.Reference == nil && sameText(m.text(), piece.Text)
	})
}

func (m message) repliesTo(to []string) bool {
	return m.Reference != nil && slices.Contains(to, m.Reference.MessageID)
}

// find returns the bot's first message for which is returns true; its id is empty if there is none. It searches after the oldest
// message in to, or among the newest, and skips those that the hub knows to be of another reply, such as a notice in between.
func (h *history) find(ctx context.Context, at spot, reply string, to []string, is func(message) bool) (message, error) {
	after := ""
	if len(to) > 0 {
		after = slices.MinFunc(to, byAge)
	}
	for range maxSearch {
		page, err := h.messages(ctx, at.channel, after, "", maxPage, false)
		if err != nil {
			return message{}, fmt.Errorf("look for what was sent: %w", err)
		}
		me := h.state.self() // messages has found out
		for _, m := range page {
			if m.Author == nil || m.Author.ID != me.ID || !m.isChat() { // a thread begins with a message of the system, perhaps in its name
				continue
			}
			other, err := h.isOther(ctx, at, reply, m.ID)
			if err != nil {
				return message{}, err
			}
			if !other && is(m) {
				return m, nil
			}
		}
		if len(page) < maxPage || after == "" {
			break
		}
		after = page[len(page)-1].ID
	}
	return message{}, nil
}

// isOther reports whether the hub knows that a message of the bot belongs to another reply.
func (h *history) isOther(ctx context.Context, at spot, reply, id string) (bool, error) {
	sent, known, err := h.base.Hub.SentAs(ctx, at.conversation, id)
	if err != nil || known {
		return known && sent.Reply != reply, err
	}
	if beside := at.beside(); beside != "" {
		_, known, err = h.base.Hub.SentAs(ctx, beside, id)
	}
	return known, err
}
