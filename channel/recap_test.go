package channel_test

import (
	"strings"
	"testing"

	"cairn/channel"
)

func TestARecapCountsAsATurnByTheRulesThatHoldNow(t *testing.T) {
	r := newRig(t, echo)
	r.say("hello", false)
	r.idle()
	r.hub.Renew(channel.Rules{TurnsPerMinute: 1})
	if got := r.run("/recap"); !strings.HasPrefix(got, "Summing up") {
		t.Errorf("the first: %q", got)
	}
	if got := r.run("/recap"); !strings.HasPrefix(got, "One moment") {
		t.Errorf("the second in a minute: %q", got)
	}
}
