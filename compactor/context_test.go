package compactor_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/store"
)

// remembers runs a short turn with a context of about this many tokens.
func (r *rig) remembers(tokens int) {
	r.t.Helper()
	asked := r.deliver("and then?", true)
	h := r.c.History()
	h.Begin(compactor.Context{Text: "memories: " + filler(tokens)})
	r.request()
	row := chat.Message{Seq: h.Next(), Turn: asked.Seq, Role: "assistant", Text: "yes", Time: asked.Time}
	row.Tokens = chat.TokensOf(row)
	h.Append(row)
	outcome := store.Outcome{Turn: asked.Seq, Messages: []chat.Message{row}, Reply: fmt.Sprint("r", asked.Seq), Pieces: []string{"yes"}, Count: r.c.Count()}
	outcome.Context, outcome.Version = h.Context()
	check.NoError(r.t, r.conv.Turns().Finish(context.Background(), outcome))
	r.said = append(r.said, row)
	r.c.Answered()
	r.c.Check(context.Background())
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
