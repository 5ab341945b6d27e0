package discord

import (
	"strings"
	"testing"

	"cairn/discord/discordtest"
)

func TestARecapIsForWhoeverAskedAndComesWhenItIsReady(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start()
	direct := r.Direct(r.ann.ID).ID
	r.Say(direct, r.ann.ID, "I moved to Turin in May.")
	r.answers(direct, 1)
	i := r.Slash(direct, r.ann.ID, "recap")
	r.until("the recap", func() bool {
		a := r.Interaction(i.ID).Answer
		return a != nil && strings.Contains(a.Content, "Turin")
	})
	if n := len(r.sent(direct)); n != 1 {
		t.Errorf("%d messages were posted", n)
	}
	r.Say(direct, r.ann.ID, "/recap")
	r.until("the written command's recap", func() bool {
		sent := r.sent(direct)
		return len(sent) == 2 && strings.Contains(sent[1].Content, "Turin")
	})
}
