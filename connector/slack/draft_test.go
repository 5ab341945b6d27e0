// Replies while they are written: streamed, edited, limited, cut short.

package slack

import (
	"slices"
	"testing"
	"time"

	"cairn/channel"
	"cairn/testkit/check"
	"cairn/testkit/slacktest"
)

// steps are the methods by which a reply is started, goes on and is finished, in a thread and elsewhere.
var steps = map[bool][3]string{
	false: {"chat.postMessage", "chat.update", "chat.update"},
	true:  {"chat.startStream", "chat.appendStream", "chat.stopStream"},
}

// both runs a test of a reply in a channel, which is edited, and of one in a thread, which is streamed.
func both(t *testing.T, run func(t *testing.T, r *rig, inThread bool)) {
	r := idle(t)
	for claim, inThread := range map[string]bool{"in a channel": false, "in a thread": true} {
		t.Run(claim, func(t *testing.T) { run(t, r, inThread) })
	}
}

func TestAReplyIsShownWhileItIsWritten(t *testing.T) {
	both(t, func(t *testing.T, r *rig, inThread bool) {
		for claim, final := range map[string]string{
			"and goes on to its end":       "One two three four.",
			"and is set right at its end":  "Something else altogether.",
			"and may be complete already":  "One two",
			"and calls nobody at its end":  "One two <!channel> @here three",
			"and may end with a line more": "One two three\n\n",
		} {
			t.Run(claim, func(t *testing.T) {
				q := r.question(inThread)
				w := r.reply(q)
				w.Show("One two thr")
				r.shows(q.channel, "One two")
				id := r.send(w, piece(final))
				own := r.botMessages(q.channel)
				check.Len(t, "there stands", own, 1)
				check.Equal(t, "it reads", own[0].Shown(), defuseMentions(final))
				check.That(t, own[0].TS == id && !own[0].Streaming && own[0].Thread == q.thread && own[0].Streamed == inThread, "there stands %+v", own)
				check.Contains(t, "it is marked", string(own[0].Metadata), `"reply":"r1"`)
			})
		}
	})
}

func TestARateLimitInTheMiddleOfAReply(t *testing.T) {
	both(t, func(t *testing.T, r *rig, inThread bool) {
		t.Parallel()
		q := r.question(inThread)
		method := steps[inThread][1]
		w := r.replying(q)
		r.w.Fail(slacktest.Fault{Of: method, RetryAfter: time.Second})
		w.Show("One two ")
		r.eventually("the limit is met", func() bool { return len(r.w.Calls(method)) == 1 })
		w.Show("One two three ")
		r.shows(q.channel, "One two three") // the newest, and not the one in between
		r.eventually("the call is noted", func() bool { return len(r.w.Calls(method)) > 1 })
		calls := r.w.Calls(method)
		check.That(t, len(calls) == 2 && calls[1].At.Sub(calls[0].At) >= time.Second, "%d calls, the second after %v", len(calls), calls[1].At.Sub(calls[0].At))
		r.w.Fail(slacktest.Fault{Of: steps[inThread][2], RetryAfter: time.Second})
		r.send(w, piece("One two three four."))
		r.answered(q.channel, "One two three four.")
	})
}

var failures = map[string]slacktest.Fault{
	"refused by a proxy":             {Status: 502, Body: "<html>bad gateway</html>"},
	"done, and the answer lost":      {Status: 502, Body: "<html>bad gateway</html>", Done: true},
	"done, and the connection cut":   {Cut: true, Done: true},
	"not done, the connection cut":   {Cut: true},
	"done, and the answer garbled":   {Body: "{", Done: true},
	"done, with an error of Slack's": {Error: "internal_error", Done: true},
}

func TestAFailureWhileItIsShownIsRepaired(t *testing.T) {
	both(t, func(t *testing.T, r *rig, inThread bool) {
		calls := func(step int) int { return len(r.w.Calls(steps[inThread][step])) }
		old := time.Now().Add(-time.Hour) // an old bot looks only for what it may have sent itself
		r.connector.self.since = old
		r.connector.first.Store(&old)
		for failing, method := range steps[inThread] {
			for claim, fault := range failures {
				t.Run(method+" "+claim, func(t *testing.T) {
					q := r.question(inThread)
					shown := calls(1)
					fault.Of = method
					w := r.reply(q).(*writer)
					if failing == 0 {
						r.w.Fail(fault)
						_, more := w.showDraft(t.Context(), "One ")
						check.That(t, !more, "it is started once more")
					} else {
						w.Show("One ")
						r.shows(q.channel, "One")
						if failing == 1 {
							r.w.Fail(fault)
						}
						w.Show("One two ")
						r.eventually("it goes on", func() bool { return calls(1) > shown })
					}
					if failing == 2 {
						w.Stop()
						r.w.Fail(fault)
					}
					r.insist(w, piece("One two three."))
					r.answered(q.channel, "One two three.")
				})
			}
		}
	})
}

func TestAReplyThatACrashCutShortIsFinished(t *testing.T) {
	both(t, func(t *testing.T, r *rig, inThread bool) {
		sent := r.question(inThread)
		shown := r.question(inThread)
		for _, q := range []target{sent, shown} {
			r.reply(q).Show("One two ")
			r.shows(q.channel, "One two")
		}
		r.end()
		r.begin()
		for _, q := range []target{sent, shown} {
			w := r.reply(q)
			if q.channel == shown.channel {
				w.Show("Quite another ")
				if !inThread {
					r.shows(q.channel, "Quite another")
				}
			}
			r.send(w, piece("Quite another answer."))
			r.answered(q.channel, "Quite another answer.")
			check.Equal(t, "there stands", len(r.botMessages(q.channel)), 1)
		}
	})
}

// What an earlier process has shown is looked for only where one may have shown something: Slack lets an app read 50 pages a minute.
func TestNewAnswersAreNotLookedFor(t *testing.T) {
	r, general, ann := connectedRig(t, slacktest.Options{}, answerN)
	looks := func() (n int) {
		for _, call := range r.w.Calls("conversations.history") {
			if call.Args["include_all_metadata"] == "1" {
				n++
			}
		}
		return n
	}
	r.ask(general, ann, 1)
	check.Equal(t, "looks for an answer that is new", looks(), 0)
	q := r.question(false)
	r.send(r.reply(q), piece("One."))
	check.Equal(t, "looks for one that may not be", looks(), 1)
}

// What is looked for while a reply is written waits behind all others, the finished text does not.
func TestFinishedTextDoesNotWaitForTheLookOfItsDraft(t *testing.T) {
	r, _, _ := town(t, slacktest.Options{}, nil)
	r.begin()
	q := r.question(false)
	gate := r.connector.api.gates.of("conversations.history")
	for gate.take(0, true) == 0 { // the share of the background
	}
	w := r.reply(q)
	w.Show("One ")
	time.Sleep(500 * time.Millisecond)
	check.That(t, len(r.botMessages(q.channel)) == 0, "the draft is shown: the test proves nothing")
	began := time.Now()
	r.send(w, piece("One two."))
	r.answered(q.channel, "One two.")
	check.That(t, time.Since(began) < callTimeout/2, "it was sent after %v", time.Since(began))
}

// A process that stood by has authenticated long before the other one began an answer that it takes over.
func TestReplyOfAProcessBesideIsFinished(t *testing.T) {
	r, _, _ := town(t, slacktest.Options{}, nil)
	r.begin()
	r.connector.self.since = time.Now().Add(-time.Hour)
	q := r.question(false)
	place := r.connector.self.place(q.channel, "")
	check.Must(r.connector.poster.post(t.Context(), r.connector.api.write, place, "One ", mark{Answers: q.to[0]}, nil, nil))(t)
	r.send(r.reply(q), piece("One two."))
	r.answered(q.channel, "One two.")
	q = r.question(false)
	check.Must(r.connector.poster.post(t.Context(), r.connector.api.write, place, "Three ", mark{Answers: q.to[0]}, nil, nil))(t)
	r.reply(q).Cancel()
	check.Len(t, "what is left of an answer that nobody wants", r.botMessages(q.channel), 0)
}

// A question in a channel and one in the thread under it are answered in the same thread. While the bot
// is young, each answer looks for what an earlier process left of it.
func TestTwoAnswersInOneThreadKeepApart(t *testing.T) {
	r, _, _ := town(t, slacktest.Options{}, nil)
	r.opts.ReplyIn = replyThread
	r.begin()
	q := r.question(false)
	reply := target{channel: q.channel, thread: q.to[0], name: conversation(q.channel, q.to[0])}
	reply.to = []string{r.w.Say(slacktest.Post{Channel: q.channel, User: r.w.AddUser("bob"), Thread: reply.thread, Text: "and?"})}
	r.known(reply)
	r.w.Fail(slacktest.Fault{Of: "chat.startStream", Delay: 300 * time.Millisecond, Late: true}) // so that the other finds a stream that is not known yet
	above := r.reply(q)
	below := r.reply(reply)
	above.Show("One ")
	r.shows(q.channel, "One")
	below.Show("Two ")
	r.eventually("the other is shown", func() bool { return len(r.botMessages(q.channel)) == 2 })
	r.send(below, channel.Piece{Reply: "r2", Parts: 1, Text: "Two three."})
	r.send(above, piece("One two."))
	said := r.botTexts(q.channel)
	slices.Sort(said)
	check.EqualAll(t, "said", said, []string{"One two.", "Two three."})
}

// After a failed attempt at an answer comes another one, or a sentence that says so. A young bot looks for what an
// earlier process has shown of an answer.
func TestWhatIsNoAnswerTakesOverNone(t *testing.T) {
	both(t, func(t *testing.T, r *rig, inThread bool) {
		q := r.question(inThread)
		w := r.replying(q)
		w.(*writer).Working()
		sign := func() bool { return len(r.reactions(q.channel, q.to[0])) > 0 || r.w.Status(q.channel, q.thread) != "" }
		r.eventually("a sign of work", sign)
		r.w.Fail(slacktest.Fault{Of: "chat.delete", Delay: 300 * time.Millisecond, Late: true})
		w.Cancel()
		check.Len(t, "messages, which the next attempt would take over", r.botMessages(q.channel), 0)
		r.eventually("all is gone", func() bool { return !sign() })
		r.send(r.reply(q), piece("That did not work."))
		r.answered(q.channel, "That did not work.")

		q = r.question(inThread)
		w = r.replying(q)
		r.send(r.reply(q), channel.Piece{Reply: "shortened-1", Parts: 1, Text: "(too long)", To: q.to, Failure: true})
		r.send(w, piece("One two."))
		r.answered(q.channel, "One two.", "(too long)")
	})
}

func TestWhereAServerHasNeitherStreamsNorStatus(t *testing.T) {
	r := idle(t)
	for claim, fault := range map[string]slacktest.Fault{
		"in this kind of channel":    {Error: "channel_type_not_supported"},
		"without the scope":          {Error: "missing_scope"},
		"by a server without a path": {Status: 404, Body: "404 page not found"},
	} {
		t.Run(claim, func(*testing.T) {
			q := r.question(true)
			r.w.Clear()
			for _, fault.Of = range []string{"chat.startStream", "assistant.threads.setStatus"} {
				fault.Times = -1
				r.w.Fail(fault)
			}
			w := r.reply(q)
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
	r := idle(t)
	goesOn := func(w channel.Writer) {
		calls := len(r.w.Calls("chat.appendStream"))
		w.Show("One two ")
		r.eventually("it is noticed", func() bool { return len(r.w.Calls("chat.appendStream")) > calls })
	}
	for claim, c := range map[string]struct {
		inThread bool
		happen   func(q target, ts string, w channel.Writer)
	}{
		"Slack ends the stream":            {true, func(q target, ts string, w channel.Writer) { r.w.EndStream(q.channel, ts); goesOn(w) }},
		"a person ends the stream":         {true, func(q target, ts string, w channel.Writer) { r.w.StopStream(q.channel, ts); goesOn(w) }},
		"somebody deletes it in a channel": {false, func(q target, ts string, _ channel.Writer) { r.w.Delete(q.channel, ts) }},
		"somebody deletes it in a thread":  {true, func(q target, ts string, _ channel.Writer) { r.w.Delete(q.channel, ts) }},
		"it can no longer be edited": {false, func(target, string, channel.Writer) {
			r.w.Fail(slacktest.Fault{Of: "chat.update", Error: "edit_window_closed"})
		}},
	} {
		t.Run(claim, func(*testing.T) {
			q := r.question(c.inThread)
			w := r.replying(q)
			c.happen(q, r.botMessages(q.channel)[0].TS, w)
			r.send(w, piece("One two three."))
			r.answered(q.channel, "One two three.")
		})
	}
}
