// Backfill: conversations that missed messages between two sessions are read from history.

package discord

import (
	"cmp"
	"context"
	"errors"
	"time"

	"cairn/channel"
)

// onReady handles the start of a session: it stores which conversations may have a gap before it
// lets any other event be delivered.
func (d *Discord) onReady(r readyData) error {
	d.state.setSelf(r.User, cmp.Or(r.Application.ID, r.User.ID))
	all, ok := d.noteGaps()
	if !ok {
		return errors.New("store the gaps of a new session: not possible in time")
	}
	d.notFirstStart = d.notFirstStart || d.hadSession || len(all) > 0
	d.hadSession = true
	d.link.Established()
	d.log.Info("connected", "as", r.User.Username)
	for _, gap := range all { // the gateway announces a direct message channel only with its next message
		if p := channel.ParsePlace(gap.Conversation); p.Direct() {
			d.queue.Add(p.Channel, func() { d.fillGap(d.work.Context(), gap.Conversation, "") })
		}
	}
	if d.registered.CompareAndSwap(false, true) {
		d.work.Start(d.register)
	}
	return nil
}

// noteGaps stores which conversations may have missed messages; ok is false if that is not possible in
// time.
func (d *Discord) noteGaps() (all []channel.Gap, ok bool) {
	ctx, cancel := context.WithTimeout(d.work.Context(), d.pauses.open)
	defer cancel()
	if !d.store(ctx, func() (err error) {
		all, err = d.hub.Away(ctx, Name, nil) // nil: Discord delivers events in order
		return err
	}) {
		return nil, false
	}
	d.gaps.Clear()
	for _, gap := range all {
		d.gaps.Store(gap.Conversation, gap.After)
	}
	return all, true
}

// backfillIfMissed queues a backfill if a place missed messages; joined reports whether the bot just
// joined it. Messages from before the bot joined the server were not missed.
func (d *Discord) backfillIfMissed(p place, joined bool) {
	if p.Guild == "" || !p.hasMessages() || d.state.hidden(p.ID) {
		return
	}
	name := p.conversation()
	_, open := d.gaps.Load(name)
	horizon := d.horizon()
	if since := d.state.guild(p.Guild).Joined; newer(since, horizon) {
		horizon = since
	}
	switch {
	case open:
		d.queue.Add(p.ID, func() { d.fillGap(d.work.Context(), name, p.Last) })
	case (joined || d.notFirstStart) && newer(p.Last, horizon):
		d.queue.Add(p.ID, func() { d.catchUp(d.work.Context(), name, horizon) })
	}
}

// fillGap backfills a conversation if it has a gap, after which last is the newest message; "" if that is
// unknown. There is nothing to read from before the bot joined, nor in a place where no message is newer
// than the start of the gap, and the one before it is too old to be checked for edits and deletions.
func (d *Discord) fillGap(ctx context.Context, name, last string) {
	gap, open := d.gaps.LoadAndDelete(name)
	if !open {
		return
	}
	after, joined := gap.(string), d.state.guild(channel.ParsePlace(name).Server).Joined
	absent := after != "" && newer(joined, after)
	quiet := after != "" && last != "" && !newer(last, after) && time.Since(timeOf(after)) > d.pauses.review
	if absent || quiet {
		d.store(ctx, func() error { return d.hub.NothingMissed(ctx, name) })
	}
	if absent {
		after = joined
	}
	if !quiet {
		d.catchUp(ctx, name, after)
	}
}

func (d *Discord) catchUp(ctx context.Context, name, after string) {
	after = cmp.Or(after, d.horizon())
	d.store(ctx, func() error { return d.hub.CatchUp(ctx, name, after) })
}

// horizon returns the id after which unknown channels are read.
func (d *Discord) horizon() string { return idAt(time.Now().Add(-d.o.CatchUp)) }
