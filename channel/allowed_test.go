package channel_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/llm"
	"cairn/testkit/channeltest"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// askedInVain returns the line that allows a call for which nothing waits any more.
func askedInVain(r *rig) (line string, b *channeltest.Box) {
	r.t.Helper()
	b = r.withTools(channel.ApproveAlways)
	r.restart()
	r.say("please add", true)
	time.Sleep(6 * time.Minute)
	r.waitForReplies()
	return r.question(1)[0].Line, b
}

// TestCallAllowedWhileItsTurnGoesOn: the turn reads that with its next request; if it makes none, the call is made afterwards.
func TestCallAllowedWhileItsTurnGoesOn(t *testing.T) {
	for says, then := range map[string]struct {
		next    llm.Response
		answers string
	}{
		"another request": {lookUp, "The tool says: five"},
		"no request":      {llmtest.Say("I went on without it"), "I went on without it | The tool says: five"},
	} {
		inBubble(t, nil, func(t *testing.T, r *rig) {
			b := r.withTools(channel.ApproveAlways)
			r.restart()
			r.model.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
				if n == 2 { // it has read that the call came to nothing
					r.wantAnswer(r.question(1)[0].Line, "Ada allowed the call of calc_add; I go on with it.")
					return then.next, nil
				}
				return channeltest.Add(ctx, n, req)
			}
			r.say("please add", true)
			time.Sleep(10 * time.Minute)
			r.waitForReplies()
			check.Len(t, says+": calls", b.Called(), 1)
			check.Equal(t, says+": the question and the answers", strings.Join(r.connector.texts()[1:], " | "), then.answers)
		})
	}
}

// TestAllowedCallIsNoRightForLater: only the turn that people expect makes it, and soon.
func TestAllowedCallIsNoRightForLater(t *testing.T) {
	t.Run("in a turn of somebody else", func(t *testing.T) {
		inBubble(t, nil, func(t *testing.T, r *rig) {
			line, b := askedInVain(r)
			r.model.Func = alwaysSay("I found another way.")
			r.wantAnswer(line, "allowed the call")
			r.waitForReplies()
			r.model.Func = channeltest.Add
			r.deliverMessage(by(bo.ID, bo.Name, r.inbound("please add", true)))
			r.question(2)
			time.Sleep(6 * time.Minute)
			r.waitForReplies()
			check.Len(t, "calls", b.Called(), 0)
		})
	})
	t.Run("after more than an hour", func(t *testing.T) {
		inBubble(t, nil, func(t *testing.T, r *rig) {
			r.opts.CatchUp = 24 * time.Hour
			line, b := askedInVain(r)
			r.model.Func = func(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
				<-ctx.Done()
				return llm.Response{}, ctx.Err()
			}
			r.wantAnswer(line, "allowed the call")
			r.stop()
			r.model.Func = channeltest.Add
			time.Sleep(2 * time.Hour)
			r.start()
			check.NoError(t, r.hub.Recover(t.Context(), func(string) bool { return true }))
			r.question(2)
			r.wantAnswer(line, "No such tool call is waiting")
			check.Len(t, "calls", b.Called(), 0)
		})
	})
}

// TestCallOfADeletedMessageIsNotAllowed: nobody waits for it, and the answer says so.
func TestCallOfADeletedMessageIsNotAllowed(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, r *rig) {
		line, b := askedInVain(r)
		check.NoError(t, r.hub.Delete(t.Context(), place, "m1"))
		r.wantAnswer(line, "No such tool call is waiting")
		r.say("please add", true)
		r.question(2)
		time.Sleep(6 * time.Minute)
		r.waitForReplies()
		check.Len(t, "calls", b.Called(), 0)
	})
}

// TestCallIsNotAllowedWhilePaused: nothing would go on with it, so the question stays.
func TestCallIsNotAllowedWhilePaused(t *testing.T) {
	for pause, resume := range map[string]string{"/pause": "/resume", "/pause everywhere": "/resume everywhere"} {
		inBubble(t, nil, func(t *testing.T, r *rig) {
			line, b := askedInVain(r)
			r.run(pause)
			answer := r.runAsManager(line)
			check.Contains(t, "what they read", answer.Text, resume+" ends the pause. I go on with the call of calc_add if somebody allows it after that")
			check.That(t, answer.Private && answer.Refused, "it replaces the question: %+v", answer)
			r.waitForReplies()
			check.EqualAll(t, "what people said", slices.DeleteFunc(r.transcript(), func(line string) bool { return !strings.HasPrefix(line, "user:") }), []string{"user: please add"})
			r.run(resume)
			r.wantAnswer(line, "Ada allowed the call of calc_add; I go on with it.")
			r.waitForReplies()
			check.Len(t, "calls", b.Called(), 1)
			check.Equal(t, "the answer", r.lastText(), "The tool says: five")
		})
	}
}

// TestAllowedCallMayBeWrittenDifferently: what the arguments say counts.
func TestAllowedCallMayBeWrittenDifferently(t *testing.T) {
	key := "sk-" + strings.Repeat("a1B2", 12)
	for arguments, calls := range map[string]int{
		`{ "key": "` + key + `", "a": 2 }`:      1,
		`{"a": 3, "key": "` + key + `"}`:        0,
		`{"a":3, "a": 2, "key": "` + key + `"}`: 0, // a tool may read the first
	} {
		inBubble(t, nil, func(t *testing.T, r *rig) {
			line, b := askedInVain(r)
			r.model.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
				if req.Messages[len(req.Messages)-1].Role == llm.RoleTool {
					return channeltest.Add(ctx, n, req)
				}
				return llmtest.Use(llm.Call{ID: "1", Name: "calc_add", Arguments: arguments}), nil
			}
			r.wantAnswer(line, "allowed the call")
			time.Sleep(6 * time.Minute)
			r.waitForReplies()
			check.Len(t, arguments+": calls", b.Called(), calls)
		})
	}
}
