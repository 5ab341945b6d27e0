package channel_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"cairn/internal/check"

	"cairn/channel"
	"cairn/channel/channeltest"
)

// withConnectingTools returns a rig whose agent has the tools of a server that is still being connected.
func withConnectingTools(t *testing.T) (*rig, *channeltest.Box) {
	r, b := withTools(t, channel.ApproveNever)
	b.Connecting = make(chan struct{})
	return r, b
}

// connect has the server connected, as the program does.
func (r *rig) connect(b *channeltest.Box) {
	b.Connect(func() { r.hub.Renew(channel.Rules{}) })
}

func TestTurnWaitsForTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, b := withConnectingTools(t)
		r.opts.Agent = func(conversation string) channel.Agent {
			a := r.agent
			if conversation != place {
				a.ToolServers = nil
			}
			return a
		}
		r.restart()
		r.say("please add", true)
		synctest.Wait()
		if len(r.model.Requests()) != 0 || !slices.Contains(r.transcript(), "user: please add") {
			t.Errorf("before the tools connect: got %d calls, %q", len(r.model.Requests()), r.transcript())
		}
		began := time.Now()
		check.Must(r.hub.Deliver(t.Context(), place+"2", r.inbound("hello", true)))(t)
		check.NoError(t, r.hub.Idle(t.Context(), place+"2"))
		if waited := time.Since(began); waited > time.Second || len(r.connector.texts()) != 1 {
			t.Errorf("a conversation without tools: %q after %v", r.connector.texts(), waited)
		}
		r.connect(b)
		r.waitForReplies()
		check.Len(t, "calls", b.Called(), 1)
		check.Contains(t, "last piece sent", r.lastText(), "five")
		r.stop()
	})
}

func TestTurnProceedsWithoutMissingTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, b := withConnectingTools(t)
		r.ask("please add")
		check.Contains(t, "last piece sent", r.lastText(), "Hello.")
		r.connect(b)
		r.ask("please add")
		check.Len(t, "calls of the next turn", b.Called(), 1)
		r.stop()
	})
}

func TestResumedTurnWaitsForTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, b := withConnectingTools(t)
		r.say("please add", true)
		synctest.Wait()
		r.restart() // the wait does not hold up the end of the program
		synctest.Wait()
		r.connect(b)
		r.waitForReplies()
		check.Len(t, "calls", b.Called(), 1)
		r.stop()
	})
}

func TestStopEndsWaitForTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := withConnectingTools(t)
		r.say("please add", true)
		synctest.Wait()
		began := time.Now()
		r.wantAnswer("/stop", "Stopped")
		r.waitForReplies()
		if waited := time.Since(began); waited > time.Second || slices.Contains(r.transcript(), "assistant: Hello.") {
			t.Errorf("got reply after %v: %q", waited, r.transcript())
		}
		r.stop()
	})
}
