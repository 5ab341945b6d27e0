package compactor_test

import (
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/internal/check"
)

// remembers runs a short turn with a context of about this many tokens.
func (r *rig) remembers(tokens int) {
	r.t.Helper()
	x := r.begin(r.deliver("and then?", true))
	r.c.History().Begin(compactor.Context{Text: "memories: " + filler(tokens)})
	r.request()
	x.finish("yes")
}

func TestEmergencyDropsTurnContexts(t *testing.T) {
	for name, refuses := range map[string]bool{"as all of the head does": false, "in memory while the disk refuses": true} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 8000, nil)
			r.policy.KeepLastN = 100
			if refuses {
				r.refuse(t, "UPDATE OF version ON conversations")
			}
			r.talk("what is what?")
			said := "answer to 1"
			for range 40 {
				r.remembers(400)
				if g := r.c.Status(); g.Used >= g.Window*19/20 {
					t.Fatalf("got %d of %d tokens used, %d of them by contexts", g.Used, g.Window, g.Contexts)
				}
			}
			var all strings.Builder
			for _, m := range r.c.Sight() {
				all.WriteString(m.Text)
			}
			check.Contains(t, "the view keeps every message", all.String(), said)
		})
	}
}
