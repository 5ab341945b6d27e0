// Replies while they are written: streamed, edited, limited, cut short.

package slack

import (
	"slices"
	"testing"
	"time"

	"cairn/channel"
	"cairn/internal/check"
	"cairn/slack/slacktest"
)

func TestAReplyIsShownWhileItIsWritten(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, inThread bool) {
		r := idle(t)
		r.begin()
		for claim, final := range map[string]string{
			"and goes on to its end":       "One two three four.",
			"and is set right at its end":  "Something else altogether.",
			"and may be complete already":  "One two",
			"and calls nobody at its end":  "One two <!channel> @here three",
			"and may end with a line more": "One two three\n\n",
		} {
			t.Run(claim, func(t *testing.T) {
				q := r.question(inThread)
				r.known(q)
				w := r.connector.Reply(q.name, q.to)
				w.Show("One two thr")
				r.shows(q.channel, "One two")
				id := r.send(w, piece(final))
				own := r.own(q.channel)
				if len(own) != 1 || own[0].Shown() != defuseMentions(final) || own[0].TS != id || own[0].Streaming || own[0].Thread != q.thread {
					t.Errorf("there stands %+v", own)
				}
				check.Equal(t, "streamed", own[0].Streamed, inThread)
				check.Contains(t, "it is marked", string(own[0].Metadata), `"reply":"r1"`)
			})
		}
		r.uncomplaining()
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
		for _, method := range []string{first, more, last} {
			t.Run(method, func(t *testing.T) {
				t.Parallel()
				r := idle(t)
				r.begin()
				for claim, fault := range failures {
					t.Run(claim, func(t *testing.T) {
						q := r.question(inThread)
						r.known(q)
						calls := func(method string) int { return len(r.w.Calls(method)) }
						begun, shown := calls(first), calls(more)
						fault.Method = method
						w := r.connector.Reply(q.name, q.to)
						if method == first {
							r.w.Fail(fault)
						}
						w.Show("One ")
						r.eventually("it is begun", func() bool { return calls(first) > begun })
						if method == more {
							r.shows(q.channel, "One")
							r.w.Fail(fault)
						}
						w.Show("One two ")
						if method != first {
							r.eventually("it goes on", func() bool { return calls(more) > shown })
						}
						if method == last {
							w.(*writer).Stop()
							r.w.Fail(fault)
						}
						r.insist(w, piece("One two three."))
						r.answered(q.channel, "One two three.")
					})
				}
			})
		}
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

// A question in a channel and one in the thread under it are answered in the same thread. While the bot
// is young, each answer looks for what an earlier process left of it.
func TestTwoAnswersInOneThreadKeepApart(t *testing.T) {
	t.Parallel()
	r := idle(t)
	r.opts.ReplyIn = replyThread
	q := r.question(false)
	reply := q
	reply.thread = q.to[0]
	reply.to = []string{r.w.Say(slacktest.Post{Channel: q.channel, User: r.w.AddUser("bob"), Thread: reply.thread, Text: "and?"})}
	reply.name = conversation(q.channel, reply.thread)
	r.begin()
	r.known(q)
	r.known(reply)
	r.w.Fail(slacktest.Fault{Method: "chat.startStream", Delay: 300 * time.Millisecond, Late: true}) // so that the other finds a stream that is not known yet
	above, below := r.connector.Reply(q.name, q.to), r.connector.Reply(reply.name, reply.to)
	above.Show("One ")
	r.shows(q.channel, "One")
	below.Show("Two ")
	r.eventually("the other is shown", func() bool { return len(r.own(q.channel)) == 2 })
	r.send(below, channel.Piece{Reply: "r2", Parts: 1, Text: "Two three."})
	r.send(above, piece("One two."))
	said := r.said(q.channel)
	slices.Sort(said)
	check.EqualAll(t, "said", said, []string{"One two.", "Two three."})
	r.uncomplaining()
}

func TestCancelTakesBackWhatWasShown(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, inThread bool) {
		r, q := asked(t, inThread)
		w := r.replying(q)
		w.(*writer).Working()
		sign := func() bool { return len(r.reactions(q.channel, q.to[0])) > 0 || r.w.Status(q.channel, q.thread) != "" }
		r.eventually("a sign of work", sign)
		w.Cancel()
		r.eventually("all is gone", func() bool { return len(r.own(q.channel)) == 0 && !sign() })
	})
}

func TestWhereAServerHasNeitherStreamsNorStatus(t *testing.T) {
	t.Parallel()
	for claim, fault := range map[string]slacktest.Fault{
		"in this kind of channel":    {Error: "channel_type_not_supported"},
		"without the scope":          {Error: "missing_scope"},
		"by a server without a path": {Status: 404, Body: "404 page not found"},
	} {
		t.Run(claim, func(t *testing.T) {
			r, q := asked(t, true)
			for _, fault.Method = range []string{"chat.startStream", "assistant.threads.setStatus"} {
				fault.Times = -1
				r.w.Fail(fault)
			}
			w := r.connector.Reply(q.name, q.to)
			w.(*writer).Working()
			r.eventually("there is a reaction", func() bool { return len(r.reactions(q.channel, q.to[0])) == 1 })
			w.Show("One two ")
			r.shows(q.channel, "One two")
			r.send(w, piece("One two three."))
			r.answered(q.channel, "One two three.")
		})
	}
}

func TestAShownReplyStandsAtLastWhateverBecomesOfIt(t *testing.T) {
	t.Parallel()
	goesOn := func(r *rig, w channel.Writer) {
		calls := len(r.w.Calls("chat.appendStream"))
		w.Show("One two ")
		r.eventually("it is noticed", func() bool { return len(r.w.Calls("chat.appendStream")) > calls })
	}
	r := idle(t)
	r.begin()
	for claim, c := range map[string]struct {
		inThread bool
		happen   func(r *rig, q target, ts string, w channel.Writer)
	}{
		"Slack ends the stream": {true, func(r *rig, q target, ts string, w channel.Writer) {
			r.w.EndStream(q.channel, ts)
			goesOn(r, w)
		}},
		"a person ends the stream": {true, func(r *rig, q target, ts string, w channel.Writer) {
			r.w.StopStream(q.channel, ts)
			goesOn(r, w)
		}},
		"somebody deletes it in a channel": {false, func(r *rig, q target, ts string, _ channel.Writer) { r.w.Delete(q.channel, ts) }},
		"somebody deletes it in a thread":  {true, func(r *rig, q target, ts string, _ channel.Writer) { r.w.Delete(q.channel, ts) }},
		"it can no longer be edited": {false, func(r *rig, _ target, _ string, _ channel.Writer) {
			r.w.Fail(slacktest.Fault{Method: "chat.update", Error: "edit_window_closed"})
		}},
	} {
		t.Run(claim, func(t *testing.T) {
			q := r.question(c.inThread)
			r.known(q)
			w := r.replying(q)
			c.happen(r, q, r.own(q.channel)[0].TS, w)
			r.send(w, piece("One two three."))
			r.answered(q.channel, "One two three.")
		})
	}
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
