// The history of channels and threads, page by page.

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
	"cairn/internal/platform"
)

// maxPage is the maximum number of messages in one page.
const maxPage = 100

// History returns a page of a conversation; see channel.Historian.
func (d *Discord) History(ctx context.Context, conversation string, request channel.Look) (page channel.Page, err error) {
	id := channelID(conversation)
	limit := min(max(request.Limit, 1), maxPage)
	background := request.After != "" // no one waits for missed messages
	found, err := d.messages(ctx, id, request.After, request.Before, limit, background)
	if err != nil {
		return page, fmt.Errorf("read the history: %w", err)
	}
	p := placeOf(conversation)
	complete := len(found) > 0 || request.After == request.Missed || d.readable(ctx, id, background)
	page.There = []string{}
	for _, m := range found {
		if in, ok := d.inbound(m, p); ok && !platform.IsCommand(in) {
			in.Edited, _ = time.Parse(time.RFC3339, m.Edited) // a missing time means never edited
			page.Said = append(page.Said, in)
		}
		page.There = append(page.There, m.ID)
		complete = complete && m.ID != ""
	}
	if !complete {
		page.There = nil
	}
	if len(found) > 0 {
		page.Last = found[len(found)-1].ID
		if request.After == "" { // continue with older messages
			page.Last = found[0].ID
		}
	}
	page.More = len(found) == limit
	return page, nil
}

// readable reports whether the bot may read a channel whose history came back empty. Without the
// permission Discord returns an empty list too (Message: Get Channel Messages). It does report a
// single message as unknown only if the bot may read the channel.
func (d *Discord) readable(ctx context.Context, id string, background bool) bool {
	p, _ := d.state.place(id)
	if d.state.hidden(id) || d.state.hidden(p.Parent) {
		return false
	}
	_, err := d.messageByID(ctx, id, idAt(time.Now()), background)
	return err == nil || refusedWith(err, codeUnknownMessage)
}

// messages returns up to limit messages of a channel, oldest first: those after after, else the
// newest before before, else the newest.
func (d *Discord) messages(ctx context.Context, id, after, before string, limit int, background bool) (found []message, err error) {
	if _, err := d.self(ctx); err != nil {
		return nil, err
	}
	query := url.Values{"limit": {strconv.Itoa(limit)}}
	switch {
	case after != "":
		query.Set("after", after)
	case before != "":
		query.Set("before", before)
	}
	err = d.rest.do(ctx, call{method: http.MethodGet, path: "/channels/" + id + "/messages?" + query.Encode(), into: &found, background: background})
	slices.SortFunc(found, func(a, b message) int { return byAge(a.ID, b.ID) })
	return found, err
}

func (d *Discord) messageByID(ctx context.Context, channel, id string, background bool) (m message, err error) {
	err = d.rest.do(ctx, call{method: http.MethodGet, path: "/channels/" + channel + "/messages/" + id, into: &m, background: background})
	return m, err
}

// self returns the bot's user, over REST if READY has not arrived yet.
func (d *Discord) self(ctx context.Context) (user, error) {
	if me, _ := d.state.self(); me.ID != "" {
		return me, nil
	}
	var me user
	if err := d.rest.do(ctx, call{method: http.MethodGet, path: "/users/@me", into: &me}); err != nil {
		return user{}, err
	}
	d.state.setSelf(me, "")
	return me, nil
}

// placeOf returns the place in a conversation's name.
func placeOf(conversation string) place {
	p := channel.ParsePlace(conversation)
	at := place{Guild: p.Server}
	if p.Direct() {
		at.Guild = ""
	}
	if p.Thread != "" {
		at.Parent = p.Channel
	}
	return at
}
