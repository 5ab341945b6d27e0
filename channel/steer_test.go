package channel_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/chat"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

var lookUp = useTool("recall", map[string]any{"query": "tea"})

// steeredRig has a model that looks something up twice, and then answers. during runs in its requests, by number.
func steeredRig(t testing.TB, during map[int]func(r *rig)) *rig {
	r := newRig(t, nil)
	r.model.Func = while(func(n int) {
		if f := during[n]; f != nil {
			f(r)
		}
	}, inTurn(lookUp, lookUp, llmtest.Say("the end")))
	return r
}

// turns returns the transcript as "turn role: text" lines, without what tools found.
func (r *rig) turns() []string {
	r.t.Helper()
	return storetest.Map(r.messagesIn(place), func(m chat.Message) string {
		text := m.Text
		if m.Role == llm.RoleTool {
			text = "found"
		}
		return strings.TrimSpace(fmt.Sprintf("%d %s: %s", m.Turn, m.Role, text))
	})
}

func addressing(text string) func(r *rig) { return func(r *rig) { r.say(text, true) } }

// wantRequests waits until the model was asked n times, and all is answered.
func (r *rig) wantRequests(n int) {
	r.t.Helper()
	r.waitForReplies()
	check.Len(r.t, "requests", r.model.Requests(), n)
}

func TestSteer(t *testing.T) {
	t.Run("a message for the running turn is in its next request, behind the results of tools, and in that place of the transcript", func(t *testing.T) {
		r := steeredRig(t, map[int]func(r *rig){1: addressing("/steer in French, please"), 2: func(r *rig) {
			r.say("overheard", false)
			r.say("another question", true)
			r.deliverMessage(by("u2", "Bo", r.inbound("/STEER and short", true)))
		}})
		r.say("what is tea?", true)
		r.wantRequests(4)
		check.EqualAll(t, "the transcript", r.turns(), []string{
			"1 user: what is tea?", "1 assistant:", "1 tool: found", "1 user: in French, please", "1 assistant:", "1 tool: found", "1 user: and short",
			"1 assistant: the end", "9 user: overheard", "10 user: another question", "10 assistant: the end",
		})
		requests := r.model.Requests()
		for i, want := range []string{"", " Ada] in French, please", " Bo] and short"} {
			check.HasPrefix(t, fmt.Sprint("request ", i+1), textOf(requests[i]), textOf(requests[max(i-1, 0)]))
			last := requests[i].Messages[len(requests[i].Messages)-1]
			check.That(t, i == 0 || last.Role == llm.RoleUser && strings.Contains(last.Text, want), "request %d ends with %+v", i+1, last)
		}
		check.Lacks(t, "request 3", textOf(requests[2]), "another", "overheard")
		check.Contains(t, "what the connector knows", texts(r.connector.accepted), "m2=4", "m5=7")
		check.EqualAll(t, "sent", r.connector.texts(), []string{"the end", "the end"})
		check.Contains(t, "a search", r.says(ada, place, "/recall french"), "in French, please")
		before := r.lastRequestText()
		r.restart()
		r.ask("and coffee?")
		check.HasPrefix(t, "the prompt after a restart", r.lastRequestText(), before)
	})
	t.Run("what comes while the model writes its last answer is a question afterwards, and so is /steer while nothing runs", func(t *testing.T) {
		r := newRig(t, nil)
		r.model.Func = while(func(n int) {
			if n == 1 {
				r.say("/steer in French", true)
			}
		}, echo)
		r.say("what is tea?", true)
		r.wantRequests(2)
		r.ask("/steer and coffee?")
		check.EqualAll(t, "the transcript", r.turns(), []string{
			"1 user: what is tea?", "1 assistant: answer 1", "3 user: in French", "3 assistant: answer 2", "5 user: and coffee?", "5 assistant: answer 3",
		})
	})
	t.Run("the command, where there is no message, has the same effect, and its answer offers to forget it", func(t *testing.T) {
		var button string
		r := steeredRig(t, map[int]func(r *rig){1: func(r *rig) {
			answer := r.runAs(bo, place, "/steer in French")
			check.Equal(r.t, "the answer", answer.Text, "Bo: in French")
			button = answer.Buttons[0].Line
		}})
		r.say("what is tea?", true)
		r.wantRequests(3)
		said := r.messagesIn(place)[3]
		check.That(t, said.Text == "in French" && said.AuthorID == "u2" && said.Turn == 1, "it said %+v", said)
		r.says(ada, place, button, "That message is not yours")
		r.says(bo, place, button, "I have deleted that message")
		check.Lacks(t, "the transcript", texts(r.transcript()), "French")
		r.says(bo, place, "/steer", "and your text")
		r.ask("next")
		check.Equal(t, "turns per answer", len(r.connector.texts()), 2)
	})
}

func TestSteeringHasLimits(t *testing.T) {
	t.Run("where the settings restrict it, it is a message like others", func(t *testing.T) {
		r := steeredRig(t, map[int]func(r *rig){1: addressing("/steer in French")})
		r.opts.Rules = access.Rules{Restricted: []string{"steer"}}
		r.reopen()
		r.say("what is tea?", true)
		r.wantRequests(4)
		check.EqualAll(t, "the transcript, last", r.turns()[6:], []string{"7 user: in French", "7 assistant: the end"})
		r.says(ada, place, "/steer x", "only for people who manage")
	})
	t.Run("too much for one turn, and what has files to be read, waits", func(t *testing.T) {
		r := steeredRig(t, map[int]func(r *rig){1: func(r *rig) {
			r.say("/steer "+strings.Repeat("word ", 1500), true)
			file := r.inbound("/steer see the file", true)
			file.Incomplete = true
			r.deliverMessage(file)
		}}).withWindow(4000)
		r.say("what is tea?", true)
		r.waitForReplies()
		check.Contains(t, "the transcript", strings.Join(r.turns(), "\n"), "1 assistant: the end\n7 user: word", "user: see the file")
	})
	t.Run("a person's turns per minute do not count it, unless it becomes a turn", func(t *testing.T) {
		r := steeredRig(t, map[int]func(r *rig){1: addressing("/steer in French")})
		r.opts.Rules = access.Rules{TurnsPerMinute: 2}
		r.reopen()
		r.ask("what is tea?")
		check.Equal(t, "the next answer", r.ask("and coffee?"), "the end")
	})
}

func TestSteeringIsNeitherLostNorDoubled(t *testing.T) {
	want := []string{
		"1 user: what is tea?", "1 user: in French", "1 assistant:", "1 tool: found", "1 assistant:", "1 tool: found", "1 assistant: the end",
	}
	t.Run("when the process ends before or after the model has read it", func(t *testing.T) {
		for _, at := range []int{1, 2, 3} {
			r := newRig(t, nil)
			reached := make(chan struct{})
			r.model.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
				if n == 1 {
					r.say("/steer in French", true)
				}
				if n == at {
					close(reached)
					<-ctx.Done()
					return llm.Response{}, ctx.Err()
				}
				return inTurn(lookUp, lookUp, llmtest.Say("the end"))(ctx, (n-1)%at+1, req)
			}
			r.say("what is tea?", true)
			<-reached
			r.stop()
			r.model.Func = while(func(int) {}, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
				return inTurn(lookUp, lookUp, llmtest.Say("the end"))(ctx, n-at, req)
			})
			r.start()
			check.NoError(t, r.hub.Recover(t.Context(), func(string) bool { return true }))
			r.waitForReplies()
			check.EqualAll(t, fmt.Sprint("the transcript, stopped in request ", at), r.turns(), want)
		}
	})
	t.Run("when the model fails in between", func(t *testing.T) {
		r := newRig(t, nil)
		busy := failing(&llm.Error{Kind: llm.KindOverloaded, Status: 503, Message: "busy"})
		r.model.Func = while(func(n int) {
			if n == 1 {
				r.say("/steer in French", true)
			}
		}, inSteps(always(lookUp), busy, always(lookUp), always(lookUp), alwaysSay("the end")))
		r.say("what is tea?", true)
		r.waitForReplies()
		check.EqualAll(t, "the transcript", r.turns(), want)
	})
	t.Run("when the disk refuses the answer", func(t *testing.T) {
		inBubble(t, nil, func(t *testing.T, r *rig) {
			var accept func()
			r.model.Func = while(func(n int) {
				if n == 1 {
					r.say("/steer in French", true)
					accept = storetest.Refuse(t, r.store, "INSERT ON outbox", "no")
				}
				if n == 4 {
					accept()
				}
			}, inSteps(always(lookUp), always(lookUp), alwaysSay("the end"), always(lookUp), always(lookUp), alwaysSay("the end")))
			r.say("what is tea?", true)
			time.Sleep(time.Minute)
			r.waitForReplies()
			check.EqualAll(t, "the transcript", r.turns(), want)
		})
	})
	t.Run("when people stop the answer", func(t *testing.T) {
		r := steeredRig(t, map[int]func(r *rig){1: addressing("/steer in French"), 2: func(r *rig) { r.run("/stop") }})
		r.say("what is tea?", true)
		r.waitForReplies()
		check.EqualAll(t, "the transcript", r.turns(), []string{"1 user: what is tea?", "1 assistant:", "1 tool: found", "1 user: in French"})
		check.Len(t, "requests", r.model.Requests(), 2)
	})
	t.Run("when a new session was asked for before it", func(t *testing.T) {
		r := steeredRig(t, map[int]func(r *rig){1: func(r *rig) {
			r.run("/new")
			r.say("/steer in French", true)
		}})
		r.say("what is tea?", true)
		r.wantRequests(4)
		check.EqualAll(t, "the transcript, last", r.turns()[6:], []string{"7 user: in French", "7 assistant: the end"})
		check.Lacks(t, "the prompt", r.lastRequestText(), "Ada] what is tea?")
	})
}

func TestSteeringOutlivesATurnThatFailsBeforeTheModelHasReadIt(t *testing.T) {
	r := newRig(t, nil)
	r.model.Func = while(func(n int) {
		if n == 1 {
			r.say("/steer in French", true)
		}
	}, inSteps(always(lookUp), failing(&llm.Error{Kind: llm.KindQuota, Status: 402, Message: "no credit"}), alwaysSay("the end")))
	r.say("what is tea?", true)
	r.wantRequests(3)
	check.EqualAll(t, "the transcript", r.turns(), []string{"1 user: what is tea?", "1 assistant:", "1 tool: found", "4 user: in French", "4 assistant: the end"})
	r.restart()
	r.ask("and coffee?")
	check.Len(t, "turns with that message", slices.DeleteFunc(r.turns(), func(s string) bool { return !strings.HasSuffix(s, "in French") }), 1)
}

func TestSteeringIsEditedAndDeletedLikeAnyMessage(t *testing.T) {
	t.Run("edited while the turn runs", func(t *testing.T) {
		r := steeredRig(t, map[int]func(r *rig){1: addressing("/steer in Frnch"), 2: func(r *rig) {
			check.NoError(r.t, r.hub.Edit(r.t.Context(), place, channel.Inbound{ID: "m2", AuthorID: "u1", Text: "/steer in French", Time: time.Now(), Addressed: true}))
		}})
		r.say("what is tea?", true)
		r.wantRequests(3)
		check.Contains(t, "request 2", textOf(r.model.Requests()[1]), "in Frnch")
		check.Contains(t, "request 3", r.lastRequestText(), "in French")
		check.Lacks(t, "request 3", r.lastRequestText(), "in Frnch")
		check.Equal(t, "the message", r.turns()[3], "1 user: in French")
	})
	t.Run("deleted while the turn runs", func(t *testing.T) {
		r := steeredRig(t, map[int]func(r *rig){1: addressing("/steer in French"), 2: func(r *rig) { check.NoError(r.t, r.hub.Delete(r.t.Context(), place, "m2")) }})
		r.say("what is tea?", true)
		r.wantRequests(3)
		check.Lacks(t, "request 3", r.lastRequestText(), "French")
		check.EqualAll(t, "the transcript", r.turns(), []string{"1 user: what is tea?", "1 assistant:", "1 tool: found", "1 assistant:", "1 tool: found", "1 assistant: the end"})
	})
	t.Run("deleted while the last answer is written, and afterwards", func(t *testing.T) {
		for _, during := range []bool{true, false} {
			r := steeredRig(t, map[int]func(r *rig){1: addressing("/steer in French"), 3: func(r *rig) {
				if during {
					check.NoError(r.t, r.hub.Delete(r.t.Context(), place, "m2"))
				}
			}})
			r.say("what is tea?", true)
			r.wantRequests(3)
			check.NoError(t, r.hub.Delete(t.Context(), place, "m2"))
			r.ask("and coffee?")
			check.Lacks(t, "prompt and transcript", r.lastRequestText()+texts(r.transcript()), "French")
			check.Contains(t, "the transcript", texts(r.transcript()), "the end")
			r.restart()
			r.post(pastMessage("m2", "in French", 0, true)) // it does not come back
			check.Lacks(t, "the transcript", texts(r.transcript()), "French")
		}
	})
}
