// The reaction that marks where older messages were summarized.

package discord

import (
	"context"
	"net/http"
	"net/url"
)

// summedUp is the reaction.
const summedUp = "📚"

// React adds the reaction to a message. If the bot may not, it logs once per channel which
// permission is missing, and returns nil.
func (d *Discord) React(ctx context.Context, conversation, id string) error {
	place := channelID(conversation)
	err := d.rest.do(ctx, call{
		method: http.MethodPut, path: "/channels/" + place + "/messages/" + id + "/reactions/" + url.PathEscape(summedUp) + "/@me", background: true,
	})
	if !refusedWith(err, codeNotPermitted) {
		return err
	}
	if !d.reactionRefused.Seen(place) {
		d.log.Warn("reaction_refused",
			"missing_permissions", "Add Reactions, Read Message History", "channel", place)
	}
	return nil
}
