package discord

import (
	"testing"

	"cairn/testkit/check"
	"cairn/testkit/discordtest"
)

func TestAnEditThatAddsTheMentionIsAnsweredOnce(t *testing.T) {
	for claim, mentionOnly := range map[string]bool{"of a message that the bot has read": false, "of one whose content Discord hid": true} {
		t.Run(claim, func(t *testing.T) {
			r := newRig(t, discordtest.Options{})
			r.opts.MentionOnly = mentionOnly
			r.start()
			m := r.Say(r.square, r.ann.ID, "what is it?")
			r.Say(r.square, r.ann.ID, "who knows?")
			if !mentionOnly {
				r.heard(r.place(r.square), 2)
			}
			mention := "<@" + r.Bot.ID + "> "
			r.Edit(r.square, m.ID, mention+"what is it?")
			r.answersLast(r.square, 1, "echo: what is it?")
			check.Equal(t, "it replies to", r.sent(r.square)[0].MessageReference.MessageID, m.ID)
			r.Repeat(1)
			r.Edit(r.square, m.ID, mention+"what was it?")
			r.restart()
			r.Edit(r.square, m.ID, mention+"what is it then?")
			r.converse(r.square, "and now?", 2) // which is the second answer
			check.Equal(t, "requests", len(r.Model.Requests()), 2)
		})
	}
}
