// Replies while they are written: streamed, edited, limited, cut short.

package slack

import (
	"context"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/internal/check"
	"cairn/slack/slacktest"
)

func TestAReplyIsShownWhileItIsWritten(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, inThread bool) {
		for claim, final := range map[string]string{
			"and goes on to its end":       "One two three four.",
			"and is set right at its end":  "Something else altogether.",
			"and may be complete already":  "One two",
			"and calls nobody at its end":  "One two <!channel> @here three",
			"and may end with a line more": "One two three\n\n",
		} {
			t.Run(claim, func(t *testing.T) {
				r, q := asked(t, inThread)
				w := r.replying(q)
				w.Show("One two thr")
				r.shows(q.channel, "One two")
				id := r.send(w, piece(final))
				own := r.own(q.channel)
				if len(own) != 1 || own[0].Shown() != defuseMentions(final) || own[0].TS != id || own[0].Streaming || own[0].Thread != q.thread {
					t.Errorf("there stands %+v", own)
				}
				check.Equal(t, "streamed", own[0].Streamed, inThread)
				if !strings.Contains(string(own[0].Metadata), `"reply":"r1"`) {
					t.Errorf("it is marked %s", own[0].Metadata)
				}
				r.uncomplaining()
			})
		}
	})
}

func TestARateLimitInTheMiddleOfAReply(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, inThread bool) {
		r, q := asked(t, inThread)
		w := r.replying(q)
		method := map[bool]string{false: "chat.update", true: "chat.appendStream"}[inThread]
		r.w.Fail(slacktest.Fault{Method: method, RetryAfter: time.Second})
		w.Show("One two ")
		r.eventually("the limit is met", func() bool { return len(r.w.Calls(method)) == 1 })
		w.Show("One two three ")
		r.shows(q.channel, "One two three") // the newest, and not the one in between
		r.eventually("the call is noted", func() bool { return len(r.w.Calls(method)) > 1 })
		calls := r.w.Calls(method)
		if len(calls) != 2 || calls[1].At.Sub(calls[0].At) < time.Second {
			t.Errorf("%d calls, the second after %v", len(calls), calls[1].At.Sub(calls[0].At))
		}
		r.w.Fail(slacktest.Fault{Method: map[bool]string{false: "chat.update", true: "chat.stopStream"}[inThread], RetryAfter: time.Second})
		r.send(w, piece("One two three four."))
		r.answered(q.channel, "One two three four.")
	})
}

func TestAFailureWhileItIsShownIsRepaired(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, inThread bool) {
		first := map[bool]string{false: "chat.postMessage", true: "chat.startStream"}[inThread]
		more := map[bool]string{false: "chat.update", true: "chat.appendStream"}[inThread]
		last := map[bool]string{false: "chat.update", true: "chat.stopStream"}[inThread]
		for claim, fault := range failures {
			for _, method := range []string{first, more, last} {
				t.Run(method+" "+claim, func(t *testing.T) {
					t.Parallel()
					r, q := asked(t, inThread)
					fault := fault
					fault.Method = method
					w := r.connector.Reply(q.name, q.to)
					if method == first {
						r.w.Fail(fault)
					}
					w.Show("One ")
					r.eventually("it is begun", func() bool { return len(r.w.Calls(first)) > 0 })
					if method == more {
						r.shows(q.channel, "One")
						r.w.Fail(fault)
					}
					w.Show("One two ")
					if method != first {
						r.eventually("it goes on", func() bool { return len(r.w.Calls(more)) > 0 })
					}
					if method == last {
						w.(*writer).Stop()
						r.w.Fail(fault)
					}
					p := piece("One two three.")
					ctx, cancel := context.WithTimeout(context.Background(), soon)
					defer cancel()
					_, err := w.Send(ctx, p)
					if err != nil { // as the outbox does
						p.Sending = true
						r.send(w, p)
					}
					r.answered(q.channel, "One two three.")
				})
			}
		}
	})
}

func TestAFailureForNowDoesNotEndTheShow(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, inThread bool) {
		r, q := asked(t, inThread)
		w := r.replying(q)
		more := map[bool]string{false: "chat.update", true: "chat.appendStream"}[inThread]
		r.w.Fail(slacktest.Fault{Method: more, Error: "team_added_to_org", Times: 2})
		w.Show("One two ")
		r.shows(q.channel, "One two")
		w.Cancel()
	})
}

func TestAReplyThatACrashCutShortIsFinished(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, inThread bool) {
		for claim, shown := range map[string]bool{"when it is sent": false, "when it is shown anew": true} {
			t.Run(claim, func(t *testing.T) {
				r, q := asked(t, inThread)
				r.connector.Reply(q.name, q.to).Show("One two ")
				r.shows(q.channel, "One two")
				r.end()
				r.begin()
				w := r.connector.Reply(q.name, q.to)
				if shown {
					w.Show("Quite another ")
					if !inThread {
						r.shows(q.channel, "Quite another")
					}
				}
				r.send(w, piece("Quite another answer."))
				r.answered(q.channel, "Quite another answer.")
				check.Equal(t, "there stands", len(r.own(q.channel)), 1)
			})
		}
	})
}

func TestAReplyThatBeginsBeforeTheBotIsConnectedIsShown(t *testing.T) {
	t.Parallel()
	r := idle(t)
	q := r.question(false)
	r.w.Fail(slacktest.Fault{Method: "auth.test", Status: 503, Times: -1})
	r.launch()
	r.eventually("it cannot connect", func() bool { return len(r.w.Calls("auth.test")) > 0 })
	w := r.connector.Reply(q.name, q.to)
	w.Show("One two ")
	r.w.Heal()
	r.shows(q.channel, "One two")
	r.send(w, piece("One two three."))
	r.answered(q.channel, "One two three.")
}

func TestCancelTakesBackWhatWasShown(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, inThread bool) {
		r, q := asked(t, inThread)
		w := r.replying(q)
		w.Cancel()
		r.eventually("it is gone", func() bool { return len(r.own(q.channel)) == 0 })
		if inThread {
			r.eventually("so is the status", func() bool { return r.w.Status(q.channel, q.thread) == "" })
		}
	})
}

func TestWhereStreamsAreRefused(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"unknown_method", "channel_type_not_supported", "missing_scope"} {
		t.Run(code, func(t *testing.T) {
			r := idle(t)
			q := r.question(true)
			r.w.Fail(slacktest.Fault{Method: "chat.startStream", Error: code, Times: -1})
			r.begin()
			r.known(q)
			for _, text := range []string{"First answer.", "Second answer."} {
				w := r.connector.Reply(q.name, q.to)
				w.Show(text[:7])
				r.shows(q.channel, strings.TrimSpace(trimPendingMention(text[:7])))
				r.send(w, channel.Piece{Reply: text, Parts: 1, Text: text})
			}
			r.answered(q.channel, "First answer.", "Second answer.")
			check.Equal(t, "how often it was tried", len(r.w.Calls("chat.startStream")), 1)
		})
	}
}

func TestAStreamThatEndsBeforeTheReply(t *testing.T) {
	t.Parallel()
	for claim, end := range map[string]func(r *rig, channelID, ts string){
		"because Slack ended it":    func(r *rig, channelID, ts string) { r.w.EndStream(channelID, ts) },
		"because a person ended it": func(r *rig, channelID, ts string) { r.w.StopStream(channelID, ts) },
	} {
		t.Run(claim, func(t *testing.T) {
			r, q := asked(t, true)
			w := r.replying(q)
			end(r, q.channel, r.own(q.channel)[0].TS)
			w.Show("One two ")
			r.eventually("it is noticed", func() bool { return len(r.w.Calls("chat.appendStream")) > 0 })
			r.send(w, piece("One two three."))
			r.answered(q.channel, "One two three.")
		})
	}
}

func TestAShownReplyThatSomebodyDeletes(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, inThread bool) {
		r, q := asked(t, inThread)
		w := r.replying(q)
		r.w.Delete(q.channel, r.own(q.channel)[0].TS)
		r.send(w, piece("One two three."))
		r.answered(q.channel, "One two three.")
	})
}

func TestAMessageThatCannotBeEdited(t *testing.T) {
	t.Parallel()
	r := idle(t)
	q := r.question(false)
	r.begin()
	w := r.replying(q)
	r.w.Fail(slacktest.Fault{Method: "chat.update", Error: "edit_window_closed", Times: -1})
	r.send(w, piece("One two three."))
	r.answered(q.channel, "One two three.")
}

// After a failed attempt at an answer comes another one, or a sentence that says so.
func TestWhatIsCanceledIsNotTakenOver(t *testing.T) {
	t.Parallel()
	r, q := asked(t, false)
	w := r.connector.Reply(q.name, q.to)
	w.Show("Half an ")
	r.shows(q.channel, "Half an")
	r.w.Fail(slacktest.Fault{Method: "chat.delete", Delay: 500 * time.Millisecond, Late: true})
	w.Cancel()
	r.send(r.connector.Reply(q.name, q.to), piece("That did not work."))
	r.eventually("the first attempt is deleted", func() bool { return len(r.w.Calls("chat.delete")) == 1 })
	r.answered(q.channel, "That did not work.")
}
