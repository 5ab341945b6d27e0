package discord

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/channel/channeltest"
	"cairn/discord/discordtest"
	"cairn/internal/check"
)

func TestAToolIsAllowedByAButton(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{})
	box := &channeltest.Box{Approve: channel.ApproveAlways}
	r.tools, r.model.Func = box, channeltest.Add
	bob := r.User("bob")
	r.rules.Access = map[string]channel.Access{"discord": {Owners: []string{r.ann.ID}}}
	r.start().registered()
	r.ask(r.square, "please add")
	var question discordtest.Message
	r.until("the question", func() bool {
		for _, m := range r.sent(r.square) {
			if strings.Contains(m.Content, "May I call calc_add") {
				question = m
				return true
			}
		}
		return false
	})
	components := check.Must(json.Marshal(question.Components))(t)
	_, rest, _ := strings.Cut(string(components), `"custom_id":"`)
	allow, _, _ := strings.Cut(rest, `"`)
	refused := r.Click(r.square, bob.ID, question.ID, allow)
	r.until("a stranger is told", func() bool {
		told := r.Interaction(refused.ID).Followups
		return len(told) == 1 && strings.Contains(told[0].Content, "people who manage this place") && told[0].Flags&discordgo.MessageFlagsEphemeral != 0
	})
	check.Len(t, "calls that a stranger allowed", box.Called(), 0)
	r.Click(r.square, r.ann.ID, question.ID, allow)
	r.until("the answer", func() bool {
		all := r.sent(r.square)
		return strings.Contains(all[len(all)-1].Content, "The tool says: five") && strings.Contains(all[0].Content, "ann allowed the call of calc_add") && len(all[0].Components) == 0
	})
}
