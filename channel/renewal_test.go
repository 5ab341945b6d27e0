package channel_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"cairn/channel"
	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/llmtest"
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

// What lands while a conversation is opened anew is seen by the one that is opened.
func TestALandingDuringARenewalIsNotMissed(t *testing.T) {
	r := newRig(t, echo)
	var renewing atomic.Bool
	r.agent.Policy = func() compactor.Policy {
		if renewing.CompareAndSwap(true, false) { // the conversation has been read from disk by now
			answer, _, err := r.hub.Run(t.Context(), place, channel.Person{ID: "u1", Manager: true}, "/compact")
			if err == nil && answer.Then != nil {
				answer.Then(t.Context())
			}
		}
		return compactor.DefaultPolicy()
	}
	for i := range 20 {
		r.say(fmt.Sprintf("turn %d %s", i, strings.Repeat("the quick brown fox ", 10)), false)
	}
	r.idle()
	renewing.Store(true)
	r.hub.Renew(channel.Rules{})
	r.idle()
	conv, err := r.store.Conversation(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	beside, err := channel.Gauge(t.Context(), conv, r.agent)
	if err != nil {
		t.Fatal(err)
	}
	if shown := r.run("/context"); !strings.Contains(shown, fmt.Sprintf("%d of them as they were said", beside.Verbatim)) {
		t.Errorf("on disk %d messages stand as they were said; /context says\n%s", beside.Verbatim, shown)
	}
}

func TestARenewalCutsNoRecapShort(t *testing.T) {
	r := newRig(t, echo)
	asked, goOn := make(chan struct{}), make(chan struct{})
	r.withWorker(func(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
		close(asked)
		<-goOn
		return llmtest.Say("You talked about notes."), ctx.Err()
	})
	r.chat(5)
	answer, _, err := r.hub.Run(t.Context(), place, channel.Person{ID: "u7"}, "/recap")
	if err != nil {
		t.Fatal(err)
	}
	recap := make(chan string)
	go func() { recap <- answer.Then(t.Context()) }()
	<-asked
	r.hub.Renew(channel.Rules{})
	r.idle()
	close(goOn)
	if got := <-recap; got != "You talked about notes." {
		t.Errorf("it says %q", got)
	}
}
