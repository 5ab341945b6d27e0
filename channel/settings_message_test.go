package channel_test

import (
	"strings"
	"testing"

	"cairn/channel"
	"cairn/compactor"
)

// sayWith sends a message to the bot, with settings for the turn that answers it, and returns how
// many compactions have been applied since the start.
func (r *rig) sayWith(text string, settings channel.Patch) (applied int) {
	r.t.Helper()
	m := r.inbound(text, true)
	m.Compaction = settings
	must(r.hub.Deliver(r.t.Context(), place, m))(r.t)
	r.idle()
	noError(r.t, r.hub.Drain(r.t.Context()))
	r.connector.note(func() {
		for _, e := range r.connector.events {
			if e.State == compactor.EventApplied {
				applied++
			}
		}
	})
	return applied
}

func TestAMessageBringsSettingsForItsTurn(t *testing.T) {
	r := newRig(t, echo)
	r.filed(func(p *compactor.Policy) { p.PrepareThreshold = 0 })
	r.restart()
	r.chat(40)
	expect(t, "compactions by the policy", r.sayWith("go ahead", nil), 0)
	inTurn := r.sayWith("and now?", channel.Patch{"compact_at_tokens": "2000", "strategy": "window"})
	if last := r.connector.events[len(r.connector.events)-1]; inTurn == 0 || !strings.Contains(last.Summary, "without a summary") {
		t.Errorf("%d compactions in the turn, the last is %+v", inTurn, last)
	}
	contains(t, "the setting", r.run("/settings compaction.strategy"), `"worker" (built in)`)
	r.chat(40)
	expect(t, "compactions in the next turn", r.sayWith("and then?", nil), inTurn)
}

func TestABadMixOfSettingsLeavesOnlyTheMessagesOut(t *testing.T) {
	r := newRig(t, echo)
	r.filed(func(p *compactor.Policy) { p.PrepareThreshold = 0 })
	r.restart()
	r.chat(40)
	if n := r.sayWith("and now?", channel.Patch{"compact_at_tokens": "2000", "background_threshold": "0.97"}); n == 0 {
		t.Error("what was right of the settings did not hold")
	}
	expect(t, "the replies", len(r.connector.sent), 1)
}
