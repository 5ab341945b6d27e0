// Backfill: conversations that may have missed messages between two sessions read them from the history.

package discord

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"cairn/channel"
	"cairn/chat"
	"cairn/connector/platform"
)

// backfill knows which conversations of a shard may have missed messages.
type backfill struct {
	base    *platform.Base
	link    *platform.Link // of the shard
	state   *stateCache
	queue   *platform.KeyedQueue[func()] // see events
	pauses  *pauses
	catchUp time.Duration // see Options
	known   *known        // of all shards

	gaps sync.Map // unchecked gaps since the last session, by conversation: the id after which the gap begins, or "" if unknown

	// Used only by the goroutine of the shard.
	notFirstStart bool // the shard had a session, or an earlier process had conversations
	hadSession    bool // the shard had a session in this process
}

// known says whether an earlier process had conversations. The first session of this process finds out, before its first event.
type known struct{ conversations atomic.Pointer[bool] }

// note notes what a new session found, unless an earlier one has, and returns what counts.
func (k *known) note(any bool) bool {
	k.conversations.CompareAndSwap(nil, &any)
	return *k.conversations.Load()
}

// onReady notes the gaps before a new session, and returns them.
func (b *backfill) onReady() ([]channel.Gap, error) {
	gaps, known, err := b.noteGaps()
	if err != nil {
		return nil, err
	}
	b.notFirstStart = b.known.note(known) || b.hadSession
	b.hadSession = true
	return gaps, nil
}

// directMessages queues the backfill of direct messages: the gateway announces such a channel only with its next message.
func (b *backfill) directMessages(gaps []channel.Gap) {
	for _, gap := range gaps {
		if p := chat.ParsePlace(gap.Conversation); p.Direct() {
			b.queue.Add(p.Channel, func() { b.fillGap(gap.Conversation, "", false) }, b.base.Work.CallEach)
		}
	}
}

// noteGaps stores which conversations of the shard may have missed messages, or fails if that is not possible in time. known
// reports whether there are any conversations, of any shard.
func (b *backfill) noteGaps() (all []channel.Gap, known bool, err error) {
	ctx, cancel := context.WithTimeout(b.base.Work.Ctx, b.pauses.open)
	defer cancel()
	if !b.base.Store(ctx, func() (err error) {
		all, err = b.base.Hub.Away(ctx, Name, func(conversation string) bool {
			known = true
			return b.link.Covers(conversation)
		}, nil) // nil: Discord delivers events in order
		return err
	}) {
		return nil, false, errors.New("store the gaps of a new session: not possible in time")
	}
	for _, gap := range all {
		b.gaps.Store(gap.Conversation, gap.After)
	}
	return all, known, nil
}

// ifMissed queues a backfill of a place; joined reports whether the bot just joined it.
func (b *backfill) ifMissed(p place, joined bool) {
	missed := joined || b.notFirstStart
	if p.Guild != "" && p.hasMessages() && !b.state.hidden(p.ID) {
		b.queue.Add(p.ID, func() { b.fillGap(p.conversation(), p.Last, missed) }, b.base.Work.CallEach)
	}
}

// fillGap backfills a conversation with a gap, or, if it may have missed messages, one whose last message is not too old; ""
// if that is unknown. There is nothing to read from before the bot joined, nor in a place where no message is newer than the
// start of the gap, and the one before it is too old to be checked for edits and deletions.
func (b *backfill) fillGap(name, last string, missed bool) {
	gap, open := b.gaps.LoadAndDelete(name)
	if !open && !missed {
		return
	}
	after, _ := gap.(string)
	joined := b.state.guild(chat.ParsePlace(name).Server).joined()
	horizon := idAt(b.base.Clock.Now().Add(-b.catchUp))
	absent := after != "" && newer(joined, after)
	quiet := after != "" && last != "" && !newer(last, after) && b.base.Clock.Now().Sub(timeOf(after)) > b.pauses.review
	ctx := b.base.Work.Ctx
	since := slices.MaxFunc([]string{cmp.Or(after, horizon), joined}, byAge)
	if absent || quiet {
		b.base.Store(ctx, func() error { return b.base.Hub.NothingMissed(ctx, name) })
	}
	if open && !quiet || !open && newer(last, since) {
		b.base.Store(ctx, func() error { return b.base.Hub.CatchUp(ctx, name, since) })
	}
}
