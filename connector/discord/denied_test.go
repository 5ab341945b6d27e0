package discord

import (
	"testing"

	"cairn/channel/access"
	"cairn/testkit/check"
	"cairn/testkit/discordtest"
)

func TestADeniedPersonIsToldOnceADay(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	r.Rules.Access = map[string]access.Access{Name: {Deny: []string{r.ann.ID}}}
	r.start()
	direct := r.Direct(r.ann.ID).ID
	r.Say(r.square, r.ann.ID, "hello, all")
	r.ask(r.square, "are you there?")
	r.ask(r.square, "are you there now?")
	told := r.answers(direct, 1)
	check.HasPrefix(t, "the direct message", told[0], "<#"+r.square+"> I am not set up to talk with you here.")
	bob := r.User("bob")
	r.Say(r.square, bob.ID, "<@"+r.Bot.ID+"> and I?")
	r.answersLast(r.square, 1, "echo: and I?")
	check.Len(t, "what ann was told", r.contents(direct), 1)
}
