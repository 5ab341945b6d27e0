// History, page by page.

package discord

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"cairn/channel"
	"cairn/internal/platform"
)

// maxPage is the most messages of one page.
const maxPage = 100

// History returns messages after one, or before one.
func (d *Discord) History(ctx context.Context, conversation string, look channel.Look) (page channel.Page, err error) {
	id := channelID(conversation)
	limit := min(max(look.Limit, 1), maxPage)
	missed := look.After != "" // nobody waits for it
	found, err := d.messages(ctx, id, look.After, look.Before, limit, missed)
	if err != nil {
		return page, fmt.Errorf("read the history: %w", err)
	}
	p := placeOf(conversation)
	whole := len(found) > 0 || look.After == look.Missed || d.readable(ctx, id, missed)
	page.There = []string{}
	for _, m := range found {
		if in, ok := d.inbound(m, p); ok && !platform.IsCommand(in) {
			in.Edited, _ = time.Parse(time.RFC3339, m.Edited) // a missing time: never
			page.Said = append(page.Said, in)
		}
		page.There = append(page.There, m.ID)
		whole = whole && m.ID != ""
	}
	if !whole {
		page.There = nil
	}
	if len(found) > 0 {
		page.Last = found[len(found)-1].ID
		if look.After == "" { // on to what is older
			page.Last = found[0].ID
		}
	}
	page.More = len(found) == limit
	return page, nil
}

// readable reports whether the history of a channel, which is empty, can be read at all. Without
// the permission Discord returns an empty list (Message: Get Channel Messages), but another error
// for a single message than if it did not exist.
func (d *Discord) readable(ctx context.Context, id string, last bool) bool {
	p, _ := d.state.place(id)
	if above, _ := d.state.place(p.Parent); p.Hidden || above.Hidden {
		return false
	}
	_, err := d.messageBy(ctx, id, idAt(time.Now()), last)
	return err == nil || refusedWith(err, codeUnknownMessage)
}

// messages returns messages of a channel, oldest first.
func (d *Discord) messages(ctx context.Context, id, after, before string, limit int, last bool) (found []message, err error) {
	if after != "" {
		before = ""
	}
	if _, err := d.self(ctx); err != nil {
		return nil, err
	}
	err = d.rest.do(ctx, call{
		method: http.MethodGet, path: "/channels/" + id + "/messages", into: &found, background: last,
		query: query("after", after, "before", before, "limit", strconv.Itoa(limit)),
	})
	slices.SortFunc(found, func(a, b message) int {
		switch {
		case newer(a.ID, b.ID):
			return 1
		case newer(b.ID, a.ID):
			return -1
		}
		return 0
	})
	return found, err
}

func (d *Discord) messageBy(ctx context.Context, channel, id string, last bool) (m message, err error) {
	err = d.rest.do(ctx, call{method: http.MethodGet, path: "/channels/" + channel + "/messages/" + id, into: &m, background: last})
	return m, err
}

// self returns who the bot is, over REST if READY has not come yet.
func (d *Discord) self(ctx context.Context) (user, error) {
	if me, _ := d.state.self(); me.ID != "" {
		return me, nil
	}
	var me user
	if err := d.rest.do(ctx, call{method: http.MethodGet, path: "/users/@me", into: &me}); err != nil {
		return user{}, err
	}
	d.state.setSelfIfUnknown(me)
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
