// The limits of the Web API, and that people do not wait for what the bot reads in the background.

package slack

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
	"cairn/testkit/check"
	"cairn/testkit/slacktest"
)

func TestTheDoubleRefusesRequestsBeyondTheDocumentedLimits(t *testing.T) {
	d := newDouble(t, slacktest.Options{})
	list := func() error { return check.ErrorOf(d.api.GetUsersPaginated().Next(t.Context())) }
	for range 20 { // users.list is of tier 2
		check.NoError(t, list())
	}
	limited, is := errors.AsType[*slackgo.RateLimitedError](list())
	check.Require(t, is, "a request beyond the limit is served")
	check.That(t, limited.RetryAfter > 0 && limited.RetryAfter <= time.Minute, "retry after %s", limited.RetryAfter)
	check.Equal(t, "refused requests", d.Limited("users.list"), 1)
	_, err := d.api.GetUserInfoContext(t.Context(), d.ann)
	check.NoError(t, err) // each method has a limit of its own
}

func TestAGateKeepsHalfForThoseWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{tier: tier{limit: 10, background: 5}, window: time.Minute}
		start := time.Now()
		in := background(t.Context(), nil)
		asking := make(chan struct{})
		for range 5 {
			check.NoError(t, g.wait(in))
		}
		for range 5 {
			check.NoError(t, g.wait(t.Context()))
		}
		check.Equal(t, "the first ten waited", time.Since(start), 0)
		check.NoError(t, g.wait(in))
		check.Equal(t, "the sixth in the background waited", time.Since(start), time.Minute)

		g = &gate{tier: tier{limit: 10, background: 5}, window: time.Minute}
		start = time.Now()
		for range 5 {
			check.NoError(t, g.wait(in))
		}
		time.AfterFunc(time.Second, func() { close(asking) })
		check.NoError(t, g.wait(background(t.Context(), asking)))
		check.Equal(t, "the sixth waited until somebody asked", time.Since(start), time.Second)

		g = &gate{tier: tier{limit: 10, background: 5}, window: time.Minute}
		start = time.Now()
		g.closeFor(30 * time.Second)
		check.NoError(t, g.wait(t.Context()))
		check.Equal(t, "after a 429 a request waited", time.Since(start), 30*time.Second)
		g.closeFor(30 * time.Second)
		check.NoError(t, g.wait(in))
		check.Equal(t, "and one in the background longer", time.Since(start), time.Minute+yieldTime)

		g.closeFor(time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		check.Error(t, g.wait(ctx), context.DeadlineExceeded)
	})
}

// Those who wait go before the background, and in the order in which they came.
func TestAGateIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{tier: tier{limit: 10, background: 5}, window: time.Minute}
		for range 10 {
			check.NoError(t, g.wait(t.Context()))
		}
		start := time.Now()
		through := make(chan string, 100)
		ask := func(ctx context.Context, who string) {
			go func() {
				if g.wait(ctx) == nil {
					through <- who
				}
			}()
			time.Sleep(time.Millisecond)
		}
		ask(background(t.Context(), nil), "background")
		gone, leave := context.WithCancel(t.Context())
		ask(gone, "gone")
		for n := range 30 {
			ask(t.Context(), fmt.Sprint(n))
		}
		leave()
		check.That(t, g.take(0, false) > 0 && g.take(0, true) > 0, "a request overtakes those who wait")
		for minute, most := range []int{10, 20, 30} {
			time.Sleep(time.Until(start.Add(time.Duration(minute+1)*time.Minute + time.Second)))
			for n := 10 * minute; n < most; n++ {
				who := <-through
				number, err := strconv.Atoi(who)
				check.That(t, err == nil && number >= 10*minute && number < most, "%s is let through after %d minutes", who, minute+1)
			}
		}
		check.Equal(t, "then", <-through, "background")
	})
}

func TestAGrowingTextHasNoLongPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{tier: tiers["chat.update"], window: gateWindow}
		in := background(t.Context(), nil)
		start := time.Now()
		last := time.Now()
		longest := time.Duration(0)
		var edits []time.Duration
		for time.Since(start) < 3*time.Minute {
			time.Sleep(1200 * time.Millisecond)
			check.NoError(t, g.wait(in))
			longest = max(longest, time.Since(last))
			last = time.Now()
			edits = append(edits, time.Since(start))
		}
		check.That(t, edits[11] == 12*1200*time.Millisecond, "a short text is slowed down: %v", edits[:12])
		check.That(t, longest < 5*time.Second, "%d edits with a pause of %v", len(edits), longest)
		t.Logf("%d edits in 3 minutes, the longest pause %v", len(edits), longest)
		for range tiers["chat.update"].limit - 25 {
			check.NoError(t, g.wait(t.Context()))
		}
		check.That(t, time.Since(last) == 0, "who waited for a finished text did so for %v", time.Since(last))
	})
}

func TestDraftsCostTheFinishedTextNothing(t *testing.T) {
	const minute = time.Second // a short one
	r, _, _ := town(t, slacktest.Options{Minute: minute}, nil)
	r.tune = func(s *Slack) { s.api.gates.window = minute + 100*time.Millisecond }
	r.begin()
	var all []channel.Writer
	var questions []target
	for range 10 {
		q := r.question(false)
		questions = append(questions, q)
		all = append(all, r.replying(q))
	}
	text := "One "
	r.eventually("the drafts have used their share three times", func() bool {
		text += "more "
		for _, w := range all {
			w.Show(text)
		}
		return r.w.Seen("chat.update") >= 3*tiers["chat.update"].background
	})
	start := time.Now()
	for i, w := range all {
		r.send(w, piece("One and all."))
		r.answered(questions[i].channel, "One and all.")
	}
	t.Logf("10 texts were finished in %v, after %d edits", time.Since(start), r.w.Seen("chat.update"))
	check.Equal(t, "refused requests", r.w.Limited("chat.update"), 0)
}

func TestFinishedTextsObeyTheLimits(t *testing.T) {
	r := idle(t)
	general := r.question(false).channel
	most := map[string]int{"chat.stopStream": 20, "chat.postMessage": 200}
	for method, call := range map[string]func() error{
		"chat.stopStream": func() error {
			_, _, err := r.connector.api.write.StopStreamContext(t.Context(), general, "1700000000.000100")
			return err
		},
		"chat.postMessage": func() error {
			_, _, err := r.connector.api.write.PostMessageContext(t.Context(), general, slackgo.MsgOptionText("hello", false))
			return err
		},
	} {
		asked := len(r.w.Calls(method))
		for range most[method] + 5 {
			_, limited := rateLimit(call())
			check.Equal(t, method+" is refused", limited, false)
		}
		check.Equal(t, "requests of "+method, len(r.w.Calls(method))-asked, most[method]+5)
		check.Equal(t, "refused requests of "+method, r.w.Limited(method), 0)
	}
}

func TestWhereNoMoreStreamsMayStartAMessageIsEdited(t *testing.T) {
	r := idle(t)
	q := r.question(true)
	r.w.Fail(slacktest.Fault{Of: "chat.startStream", RetryAfter: time.Minute})
	w := r.replying(q)
	w.Show("One two ")
	r.shows(q.channel, "One two")
	r.send(w, piece("One two three."))
	r.answered(q.channel, "One two three.")
	check.That(t, !r.botMessages(q.channel)[0].Streamed && len(r.w.Calls("chat.startStream")) == 1, "there stands %+v", r.botMessages(q.channel)[0])
}

func TestNamesExpireAtDifferentTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := knowing(t)
		for n := range 1000 {
			s.names.set(fmt.Sprint("U", n), "somebody")
		}
		expired := func() (count int) {
			for n := range 1000 {
				if s.names.nameOf(fmt.Sprint("U", n)) == "" {
					count++
				}
			}
			return count
		}
		most := 0
		before := expired()
		for range 60 {
			time.Sleep(time.Minute)
			now := expired()
			most = max(most, now-before)
			before = now
		}
		check.Equal(t, "expired after an hour", before, 1000)
		check.That(t, most < 100, "%d of 1000 names expire in one minute", most)
	})
}

var manyChannels = flag.Int("channels", 400, "of TestAQuestionDoesNotWaitForTheBackfill")

func TestAQuestionDoesNotWaitForTheBackfill(t *testing.T) {
	r, _, ann := town(t, unhelpful(), ok)
	var all []string
	for n := range *manyChannels {
		all = append(all, r.w.AddChannel(fmt.Sprint("channel-", n), ann))
	}
	r.begin()
	for _, id := range all {
		r.w.Say(slacktest.Post{Channel: id, User: ann, Text: "before"})
	}
	r.eventually("what came is kept", r.acknowledged)
	back := r.loseSocket()
	for _, id := range all {
		r.w.Say(slacktest.Post{Channel: id, User: ann, Text: "missed"})
	}
	back()
	r.eventually("the background has used its share", func() bool { return r.w.Seen("conversations.history") >= tiers["conversations.history"].background })
	asked := time.Now()
	r.w.Say(slacktest.Post{Channel: all[0], User: ann, Text: mention + "are you there?"}) // the last to be backfilled
	r.answered(all[0], "ok")
	t.Logf("%d channels: answered after %s", len(all), time.Since(asked))
	check.That(t, time.Since(asked) < 5*time.Second, "answered after %s", time.Since(asked))
	r.stored(conversation(all[0]), "user: before", "user: missed", "user: are you there?", "assistant: ok")
	check.Equal(t, "refused requests", r.w.Limited("conversations.history"), 0)
}

// crowd adds people whom nobody knows yet.
func (r *rig) crowd(n int) (ids []string) {
	for i := range n {
		ids = append(ids, r.w.AddUser(fmt.Sprint("person-", i)))
	}
	return ids
}

func TestOverheardPeopleCostTheAskerNothing(t *testing.T) {
	r, general, _ := town(t, slacktest.Options{}, ok)
	known := r.crowd(480)
	r.begin()
	for _, who := range known {
		r.w.Say(slacktest.Post{Channel: general, User: who, Text: "hello"})
	}
	r.askerIsKnown(general, known[0])
	for _, m := range r.Transcript(conversation(general)) {
		check.That(t, m.Role != "user" || strings.HasPrefix(m.Author, "person-"), "stored as %s", m.Author)
	}
	// They came after the list was read.
	for _, who := range r.crowd(480) {
		r.w.Say(slacktest.Post{Channel: general, User: who, Text: "hello"})
	}
	r.askerIsKnown(general, "")
	for _, method := range []string{"users.info", "users.list"} {
		check.Equal(t, "refused requests of "+method, r.w.Limited(method), 0)
		t.Logf("%s: %d requests", method, len(r.w.Calls(method)))
	}
}

// askerIsKnown has somebody, a newcomer if it is "", ask something and be answered by name, before a look-up in the background
// gives up: behind hundreds of messages that came at once, half a second, and more under the race detector.
func (r *rig) askerIsKnown(channelID, who string) {
	r.T.Helper()
	name := "person-0"
	if who == "" {
		name = "newcomer"
		who = r.w.AddUser(name)
	}
	answers := len(r.botTexts(channelID))
	asked := time.Now()
	r.w.Say(slacktest.Post{Channel: channelID, User: who, Text: mention + "are you there?"})
	r.eventually("an answer", func() bool { return len(r.botTexts(channelID)) > answers })
	r.T.Logf("%s was answered after %s", name, time.Since(asked))
	check.That(r.T, time.Since(asked) < 8*time.Second, "answered after %s", time.Since(asked))
	for _, m := range r.Transcript(conversation(channelID)) {
		if m.AuthorID == who {
			check.Equal(r.T, "stored as", m.Author, name)
		}
	}
}
