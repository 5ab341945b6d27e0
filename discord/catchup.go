// Gaps: which conversations missed messages between two sessions.

package discord

import (
	"cmp"
	"context"
	"errors"
	"time"

	"cairn/channel"
)

// ready handles the beginning of a session: it stores which conversations may have a gap before any
// event is delivered.
func (d *Discord) ready(r readyData) error {
	d.state.setSelf(r.User, cmp.Or(r.Application.ID, r.User.ID))
	ctx := d.work.Context()
	limited, cancel := context.WithTimeout(ctx, d.pauses.open)
	defer cancel()
	var all []channel.Gap
	stored := false
	d.retry(limited, func() (err error) {
		all, err = d.hub.Away(limited, Name, nil) // events come in order
		stored = err == nil
		return err
	})
	if !stored {
		return errors.New("store the gaps of a new session: not possible in time")
	}
	d.gaps.Clear()
	for _, gap := range all {
		d.gaps.Store(gap.Conversation, gap.After)
	}
	if len(all) > 0 || d.hadSession {
		d.hereBefore.Store(true)
	}
	d.hadSession = true
	d.linkIncident.End()
	d.connected.Store(true)
	d.log.Info("connected", "as", r.User.Username)
	for _, gap := range all { // the gateway announces none before its next message
		if p := channel.ParsePlace(gap.Conversation); p.Direct() {
			d.queue.Add(p.Channel, func() { d.fillGap(ctx, gap.Conversation) })
		}
	}
	if d.registered.CompareAndSwap(false, true) {
		d.work.Start(d.register)
	}
	return nil
}

// guildCreated takes a server with its channels and threads, at the beginning of a session or
// after an outage.
func (d *Discord) guildCreated(g guildData) {
	if g.Unavailable {
		return
	}
	channels, before := d.state.addGuild(g)
	joined, _ := time.Parse(time.RFC3339, g.Joined) // a missing time counts as long ago
	for _, c := range channels {
		d.compare(c, before[c.ID], joined)
	}
}

// compare queues a backfill if a place missed messages. known is the newest message that this process
// saw there. Messages from before the bot joined are not missed.
func (d *Discord) compare(c channelData, known string, joined time.Time) {
	p, _ := d.state.place(c.ID)
	if p.Hidden || p.Silent || p.Guild == "" {
		return
	}
	name := p.conversation(c.ID)
	_, open := d.gaps.Load(name)
	horizon := idAt(time.Now().Add(-d.o.CatchUp))
	if j := idAt(joined); newer(j, horizon) {
		horizon = j
	}
	switch {
	case open:
		d.queue.Add(c.ID, func() { d.fillOrClose(d.work.Context(), name, c.LastID) })
	case known != "" && newer(c.LastID, known):
		d.queue.Add(c.ID, func() { d.catchUp(d.work.Context(), name, known) })
	case known == "" && d.hereBefore.Load() && newer(c.LastID, horizon):
		d.queue.Add(c.ID, func() { d.catchUp(d.work.Context(), name, horizon) })
	}
}

// fillGap backfills a conversation that has a gap.
func (d *Discord) fillGap(ctx context.Context, name string) {
	if after, open := d.gaps.LoadAndDelete(name); open {
		d.catchUp(ctx, name, after.(string))
	}
}

// fillOrClose does so only if something was said since, or a short while before: that may
// have been edited or deleted. A missing last id says nothing.
func (d *Discord) fillOrClose(ctx context.Context, name, last string) {
	gap, open := d.gaps.LoadAndDelete(name)
	after, _ := gap.(string)
	switch {
	case !open:
	case after != "" && last != "" && !newer(last, after) && time.Since(timeOf(after)) > d.pauses.review:
		d.retry(ctx, func() error { return d.hub.NothingMissed(ctx, name) })
	default:
		d.catchUp(ctx, name, after)
	}
}

func (d *Discord) catchUp(ctx context.Context, name, after string) {
	after = cmp.Or(after, idAt(time.Now().Add(-d.o.CatchUp)))
	d.retry(ctx, func() error { return d.hub.CatchUp(ctx, name, after) })
}
