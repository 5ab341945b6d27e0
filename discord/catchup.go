// Backfill: conversations that missed messages between two sessions read the history, page by page.

package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"cairn/channel"
	"cairn/internal/platform"
)

// onReady handles the start of a session: it stores which conversations may have a gap before any other event is delivered.
func (d *Discord) onReady(data json.RawMessage) error {
	r := read[struct {
		User        user
		Application struct{ ID string }
	}](data)
	d.state.bot.Store(&self{r.User, cmp.Or(r.Application.ID, r.User.ID)})
	all, err := d.noteGaps()
	if err != nil {
		return err
	}
	d.notFirstStart, d.hadSession = d.hadSession || len(all) > 0, true
	d.Link.Established()
	d.Log.Info("connected", "as", r.User.Username)
	for _, gap := range all { // the gateway announces a direct message channel only with its next message
		if p := channel.ParsePlace(gap.Conversation); p.Direct() {
			d.queue.Add(p.Channel, func() { d.fillGap(gap.Conversation, "", false) })
		}
	}
	if d.registered.CompareAndSwap(false, true) {
		d.Work.Start(d.register)
	}
	return nil
}

// noteGaps stores which conversations may have missed messages, or fails if that is not possible in time.
func (d *Discord) noteGaps() (all []channel.Gap, err error) {
	ctx, cancel := context.WithTimeout(d.Work.Ctx, d.pauses.open)
	defer cancel()
	if !d.Store(ctx, func() (err error) {
		all, err = d.Hub.Away(ctx, Name, nil) // nil: Discord delivers events in order
		return err
	}) {
		return nil, errors.New("store the gaps of a new session: not possible in time")
	}
	for _, gap := range all {
		d.gaps.Store(gap.Conversation, gap.After)
	}
	return all, nil
}

// backfillIfMissed queues a backfill of a place; joined reports whether the bot just joined it.
func (d *Discord) backfillIfMissed(p place, joined bool) {
	if missed := joined || d.notFirstStart; p.Guild != "" && p.hasMessages() && !d.state.hidden(p.ID) {
		d.queue.Add(p.ID, func() { d.fillGap(p.conversation(), p.Last, missed) })
	}
}

// fillGap backfills a conversation with a gap, or, if it may have missed messages, one whose last message is not too old; ""
// if that is unknown. There is nothing to read from before the bot joined, nor in a place where no message is newer than the
// start of the gap, and the one before it is too old to be checked for edits and deletions.
func (d *Discord) fillGap(name, last string, missed bool) {
	gap, open := d.gaps.LoadAndDelete(name)
	if !open && !missed {
		return
	}
	after, _ := gap.(string)
	joined, horizon := d.state.guild(channel.ParsePlace(name).Server).joined(), idAt(time.Now().Add(-d.o.CatchUp))
	absent := after != "" && newer(joined, after)
	quiet := after != "" && last != "" && !newer(last, after) && time.Since(timeOf(after)) > d.pauses.review
	ctx, since := d.Work.Ctx, slices.MaxFunc([]string{cmp.Or(after, horizon), joined}, byAge)
	if absent || quiet {
		d.Store(ctx, func() error { return d.Hub.NothingMissed(ctx, name) })
	}
	if open && !quiet || !open && newer(last, since) {
		d.Store(ctx, func() error { return d.Hub.CatchUp(ctx, name, since) })
	}
}

const maxPage = 100 // messages

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
	page.There, page.More = []string{}, len(found) == limit
	for i, m := range found {
		if in, ok := d.inbound(m, p); ok && !platform.IsCommand(in) {
			in.Edited, _ = time.Parse(time.RFC3339, m.Edited) // a missing time means never edited
			page.Said = append(page.Said, in)
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
func (d *Discord) readable(ctx context.Context, id string, background bool) bool {
	if d.state.hidden(id) || d.state.hidden(d.state.place(id).Parent) {
		return false
	}
	_, err := d.messageByID(ctx, id, idAt(time.Now()), background)
	return err == nil || refusalIn(err).code == codeUnknownMessage
}

// messages returns messages of a channel, oldest first: those after after, else the newest before before, else the newest.
func (d *Discord) messages(ctx context.Context, id, after, before string, limit int, background bool) (found []message, err error) {
	if me := d.state.self(); me.ID == "" { // READY has not arrived yet
		if err := d.rest.do(ctx, call{method: http.MethodGet, path: "/users/@me", into: &me.user}); err != nil {
			return nil, err
		}
		d.state.bot.CompareAndSwap(nil, &me)
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
