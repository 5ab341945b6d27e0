// Replies in the direct messages with an agent: their threads are one conversation, and the history of a channel lacks replies.

package slack

import (
	"cmp"
	"context"
	"slices"

	"cairn/channel"
	"cairn/chat"
)

// repliedAfter reports whether someone else than a person may have replied to a message after after; empty: at any time.
func repliedAfter(m message, after, but string) bool {
	if m.ReplyCount == 0 {
		return false
	}
	latest := timeOf(cmp.Or(m.LatestReply, m.TS))
	return (latest.IsZero() || latest.After(timeOf(after))) &&
		(len(m.ReplyUsers) == 0 || slices.ContainsFunc(m.ReplyUsers, func(id string) bool { return id != but }))
}

// isElsewhere reports whether a message in a thread is in another conversation: it was for an answer of the channel's, or in a direct
// message, it is there since before a change of the settings, or of the app.
func (h *history) isElsewhere(ctx context.Context, place chat.Place, m message) bool {
	thread := h.recent.threadOf(place.Channel, m)
	if thread == "" || !place.Direct() && place.Thread == "" {
		return false
	}
	other := place
	other.Thread = ""
	if place.Thread == "" {
		other.Thread = thread
	}
	is, err := channel.Has(ctx, h.base.Hub, other.String(), m.TS)
	if err != nil {
		h.base.Log.Debug("look_for_message_failed", "error", err)
	}
	return is
}

// readReplies adds the replies of a gap to its messages. After an error it can be called again to continue.
func (h *history) readReplies(ctx context.Context, place chat.Place, gap *gapPages) error {
	if len(gap.roots) == 0 {
		return nil
	}
	for len(gap.roots) > 0 {
		found, err := h.repliesTo(ctx, place, gap.roots[0], span{Oldest: gap.after})
		if err != nil {
			return err
		}
		gap.roots = gap.roots[1:]
		gap.messages = append(gap.messages, found.messages...)
		gap.unreadable = gap.unreadable || found.unreadable
	}
	if gap.dropped != "" {
		first := timeOf(gap.dropped)
		gap.messages = slices.DeleteFunc(gap.messages, func(m message) bool { return !timeOf(m.TS).Before(first) })
	}
	gap.sort()
	gap.next = gap.dropped
	return nil
}

// repliesTo returns the replies to a message, none if it no longer exists.
func (h *history) repliesTo(ctx context.Context, place chat.Place, root string, p span) (all pages, err error) {
	thread := place
	thread.Thread = root
	for {
		found, err := h.page(ctx, thread, p)
		if codeOf(err) == "thread_not_found" {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		for _, m := range found.messages {
			if m.TS != root && timeOf(m.TS).After(timeOf(p.Oldest)) {
				all.messages = append(all.messages, m)
			}
		}
		all.unreadable = all.unreadable || found.unreadable
		p.Cursor = found.next
		if p.Cursor == "" {
			return all, nil
		}
	}
}

// maxRoots is how many threads addReplies reads: Slack allows some 25 a minute beside other work, and the history is not waited for longer
// than two minutes. What was said further back in older threads is left out.
const maxRoots = 20

// addReplies adds to messages of the history, newest first, the replies to the newest of them, as far as they are among the newest of all.
func (h *history) addReplies(ctx context.Context, place chat.Place, newest *pages, before string, limit int) error {
	roots := slices.Clone(newest.messages)
	slices.SortStableFunc(newest.messages, byTime)
	read := 0
	for _, root := range roots {
		after := ""
		if n := len(newest.messages); n >= limit {
			after = newest.messages[n-limit].TS
		}
		if !repliedAfter(root, after, h.self.user) {
			continue
		}
		if read == maxRoots {
			newest.topOnly = true
			return nil
		}
		read++
		found, err := h.repliesTo(ctx, place, root.TS, span{Oldest: after, Latest: before})
		if err != nil {
			return err
		}
		newest.messages = append(newest.messages, found.messages...)
		slices.SortStableFunc(newest.messages, byTime)
	}
	return nil
}
