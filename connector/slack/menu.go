// What people choose in the menu of a message.

package slack

import (
	"context"
	"slices"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/chat"
)

// onMenu runs the command of an entry in a message's menu (reference/interaction-payloads/shortcuts-interaction-payload).
func (r *commands) onMenu(entry, channelID string, m message, who access.Person, trigger, url string) {
	place := r.recent.placeOf(channelID, m)
	c := typed{place: place, who: who} // an answer about a message has no pages
	show := r.overURL(c, url, r.recent.threadOf(channelID, m), false, false)
	id := trigger + url
	i := slices.IndexFunc(command.Menu, func(a command.Action) bool { return a.Command == entry })
	if i < 0 {
		r.base.Command(id, place.String(), runTimeout, nil, func(ctx context.Context) error { return r.base.RefuseButton(ctx, place.String(), show) })
		return
	}
	own := ""
	if m.User == who.ID {
		own = r.names.plainText(m.Text)
	}
	c.line = command.Menu[i].Line(m.TS, own)
	r.base.Work.Start(func(ctx context.Context) {
		holder, err := channel.Holder(ctx, r.base.Hub, place.String(), m.TS) // an answer in a thread may belong to the channel's conversation
		if err != nil {
			r.base.Log.Debug("find_message_failed", "error", err)
		} else {
			c.place = chat.ParsePlace(holder)
		}
		r.start(id, c, r.overURL(c, url, r.recent.threadOf(channelID, m), false, false))
	})
}
