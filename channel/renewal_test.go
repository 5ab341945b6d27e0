package channel_test

import (
	"testing"

	"cairn/channel"
)

func TestARenewalChangesTheLimitOfRecapsToo(t *testing.T) {
	r := newRig(t, echo)
	r.chat(5)
	r.hub.Renew(channel.Rules{TurnsPerMinute: 1})
	who := channel.Person{ID: "u7"}
	for i := range 3 {
		answer, _, err := r.hub.Run(t.Context(), place, who, "/recap")
		if err != nil || (answer.Then != nil) != (i < 1) {
			t.Errorf("recap %d: %+v, %v", i+1, answer, err)
		}
	}
}
