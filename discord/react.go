// The mark on a message that tells people that older ones were summed up.

package discord

import (
	"context"
	"net/http"
	"net/url"
)

// summedUp is the mark.
const summedUp = "📚"

// React puts the mark on a message. Where the bot may not, the log is told once which
// permission it lacks, and nothing else happens.
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
