package channel_test

import (
	"testing"

	"cairn/privacy"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// A memory of a message is its author's, says what the message says, and goes with it.
func TestMemoryOfAMessage(t *testing.T) {
	r := newRig(t, echo)
	r.overhear("The launch is on Friday.")
	r.says(boss, place, "/remember msg:m1 I hate my job", "Saved as memory 1: The launch is on Friday.")
	r.says(ada, place, "/memories about:Ada", "The launch is on Friday.")
	check.NoError(t, privacy.Of(storetest.Find(t, r.store, place)).Delete(t.Context(), []string{"m1"}))
	r.says(ada, place, "/memories", "No memories from this conversation yet")
}

// While a turn runs, the messages behind it wait: a memory could not rest on one of them yet, and would outlive it.
func TestMessageThatWaitsIsNotRemembered(t *testing.T) {
	asked := make(chan struct{})
	release := make(chan struct{})
	r := newRig(t, while(func(int) { close(asked); <-release }, echo))
	r.say("hello", true)
	<-asked
	r.say("The launch is on Friday.", false)
	for _, line := range []string{"/remember msg:m2", "/pin msg:m2", "/recap msg:m2"} {
		answer := r.runAs(boss, place, line)
		check.Contains(t, line, answer.String(), "I have not read that message yet")
	}
	check.Contains(t, "/forget", r.runAs(boss, place, "/forget msg:m2").String(), "I have deleted that message")
	close(release)
	r.waitForReplies()
	check.Equal(t, "messages", len(r.messagesIn(place)), 2)
}
