// How tests deliver messages.

package channel_test

import (
	"fmt"
	"time"

	"cairn/channel"
	"cairn/internal/check"
)

func (r *rig) inbound(text string, addressed bool) channel.Inbound {
	r.n++
	return channel.Inbound{ID: fmt.Sprint("m", r.n), AuthorID: "u1", Author: "Ada", Text: text, Time: time.Now(), Addressed: addressed}
}

func (r *rig) say(text string, addressed bool) {
	r.t.Helper()
	r.deliverMessage(r.inbound(text, addressed))
}

// deliverMessage delivers a message.
func (r *rig) deliverMessage(m channel.Inbound) {
	r.t.Helper()
	check.Must(r.hub.Deliver(r.t.Context(), place, m))(r.t)
}

// post delivers a message and waits for what follows.
func (r *rig) post(m channel.Inbound) {
	r.t.Helper()
	r.deliverMessage(m)
	r.waitForReplies()
}

// overhear delivers a message that is not for the bot, and waits until it is stored.
func (r *rig) overhear(text string) {
	r.t.Helper()
	r.say(text, false)
	r.waitForReplies()
}
