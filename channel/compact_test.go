package channel_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// gated is a worker whose nth summary, from 1 on, waits for a place in the gate, and
// whose even ones fail if that is wanted.
func gated(gate chan bool) *llmtest.Model {
	return &llmtest.Model{Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		select {
		case good := <-gate:
			if !good {
				return llm.Response{}, &llm.Error{Kind: llm.KindOverloaded, Status: 503, Message: "overloaded"}
			}
			return llmtest.Use(llmtest.Call("s", "summarize", map[string]string{"summary": fmt.Sprintf("summary %d, of a quick brown fox", n)})), nil
		case <-ctx.Done():
			return llm.Response{}, ctx.Err()
		}
	}}
}

func (r *rig) press(line string) channel.Answer {
	r.t.Helper()
	answer, handled, err := r.hub.Run(r.t.Context(), place, channel.Person{ID: "u1", Name: "Ada", Manager: true}, line)
	if err != nil || !handled {
		r.t.Fatalf("%s: handled %v, %v", line, handled, err)
	}
	return answer
}

func TestACompactWhileALevelIsBeingServed(t *testing.T) {
	for name, test := range map[string]struct {
		well bool
		want string
	}{
		"its own end is told when it lands": {true, "Summed up "},
		"its own end is told when it fails": {false, "The summary of messages #"},
	} {
		t.Run(name, func(t *testing.T) {
			gate := make(chan bool)
			r := newRig(t, echo)
			r.model.Tokens = 6000
			r.agent.Worker = gated(gate)
			r.agent.Policy = func() compactor.Policy {
				p := compactor.DefaultPolicy()
				p.PrepareThreshold, p.MaxTurns = 0, 1
				return p
			}
			r.stop()
			r.start()
			for i := 0; !r.running() && i < 200; i++ {
				r.say(fmt.Sprintf("turn %d %s", i, strings.Repeat("the quick brown fox ", 12)), true)
				r.idle()
			}
			answer := r.press("/compact the prices")
			if !strings.HasPrefix(answer.Text, "Scheduled") || answer.Then == nil {
				t.Fatalf("it says %q", answer.Text)
			}
			if got := r.press("/compact").Text; !strings.Contains(got, "already scheduled") {
				t.Errorf("the second press says %q", got)
			}
			if got := r.run("/context"); !strings.Contains(got, "a /compact is scheduled behind it") {
				t.Errorf("/context says\n%s", got)
			}
			go func() {
				gate <- true // the level's
				gate <- test.well
			}()
			said := answer.Then(t.Context())
			if !strings.HasPrefix(said, test.want) {
				t.Errorf("in the end it says %q", said)
			}
			var own compactor.Event
			r.door.note(func() {
				for _, e := range r.door.events {
					if e.Trigger == compactor.OnManual && (e.State == compactor.EventLanded || e.State == compactor.EventFailed) {
						own = e
					}
				}
			})
			if !strings.Contains(said, fmt.Sprintf("#%d to #%d", own.From, own.To)) || own.From < 2 {
				t.Errorf("it says %q of %+v", said, own)
			}
		})
	}
}

func TestACompactThatIsScheduledWhenTheProgramEnds(t *testing.T) {
	r := newRig(t, echo)
	r.model.Tokens = 6000
	r.agent.Worker = gated(nil)
	r.stop()
	r.start()
	for i := 0; !r.running() && i < 200; i++ {
		r.say(fmt.Sprintf("turn %d %s", i, strings.Repeat("the quick brown fox ", 12)), true)
		r.idle()
	}
	answer := r.press("/compact")
	if !strings.HasPrefix(answer.Text, "Scheduled") {
		t.Fatalf("it says %q", answer.Text)
	}
	r.stop()
	if said := answer.Then(t.Context()); !strings.Contains(said, "ask again") {
		t.Errorf("in the end it says %q", said)
	}
}
