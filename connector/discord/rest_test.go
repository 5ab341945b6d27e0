// Limits, refusals and faults of the REST API, in spite of which a piece arrives once.

package discord

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/chat"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/discordtest"
)

// transport answers requests without a network, which would stop a test's own clock; status 0: it fails.
type transport func(*http.Request) (status int, body string)

func (f transport) RoundTrip(q *http.Request) (*http.Response, error) {
	status, body := f(q)
	if status == 0 {
		return nil, errors.New("nobody answered")
	}
	header := http.Header{"Location": {"http://elsewhere.invalid/"}, "Retry-After": {"60"}}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body)), Request: q}, nil
}

// offline is a connector, with the group of its goroutines open, whose requests are answered by f.
func offline(t *testing.T, f transport) *Discord {
	t.Helper()
	d := check.Must(New(Options{Token: token}))(t)
	d.rest.client.Transport = f
	d.state.bot.Store(&self{user{ID: "1"}, "1"})
	d.Work.Open(t.Context())
	t.Cleanup(d.Work.Close)
	return d
}

func TestWaitingForALimitEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		d := offline(t, func(*http.Request) (int, string) {
			requests++
			return 429, `{"message":"You are being rate limited.","retry_after":3600}`
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		check.Error(t, check.ErrorOf(d.poster.create(ctx, "20", newPost("20", "hello", "", "n"), false)), context.DeadlineExceeded)
		// Others wait too, and make no request meanwhile.
		err := d.rest.do(t.Context(), call{method: http.MethodPost, path: "/channels/20/messages", once: true})
		check.Equal(t, "the next waits", refusalIn(err).after, 59*time.Minute)
		check.Equal(t, "requests", requests, 1)
	})
}

func TestLimits(t *testing.T) {
	t.Parallel()
	a := call{path: "/channels/1/messages"}
	b := call{path: "/channels/2/messages"}
	synctest.Test(t, func(t *testing.T) {
		l := newLimits()
		begin := time.Now()
		waited := []time.Duration{}
		for range 3 * perSecond {
			check.NoError(t, l.wait(t.Context(), a))
			waited = append(waited, time.Since(begin))
		}
		for i, at := range waited[50:] {
			check.Require(t, at-waited[i] >= time.Second, "51 requests in %v", at-waited[i])
		}
		check.NoError(t, l.wait(t.Context(), call{tokenInPath: true}))
		check.Equal(t, "an answer to an interaction waits", time.Since(begin), waited[len(waited)-1])
	})
	synctest.Test(t, func(t *testing.T) {
		l := newLimits()
		l.learn(a, refusal{status: 429, after: 3 * time.Second}, nil)
		check.Equal(t, "a 429 for one route stops that", l.refused(a), 3*time.Second)
		check.Equal(t, "and no other", l.refused(b), 0)
		l.learn(b, refusal{status: 429, after: 2 * time.Second, global: true}, nil)
		check.Equal(t, "a 429 for all routes stops others", l.refused(call{path: "/users/@me"}), 2*time.Second)
		check.Equal(t, "but no answer to an interaction", l.refused(call{path: "/interactions/1", tokenInPath: true}), 0)
		time.Sleep(3 * time.Second)
		check.Equal(t, "then it does not", l.refused(a), 0)
	})
	synctest.Test(t, func(t *testing.T) { // the ban for 10 000 invalid requests is out of reach
		l := newLimits()
		l.learn(a, refusal{status: 429, after: time.Second}, http.Header{"X-Ratelimit-Scope": {"shared"}})
		check.Equal(t, "a shared limit is not held against the bot", l.all.Tokens(), burst)
		invalid := 0
		for begin := time.Now(); time.Since(begin) < 10*time.Minute; invalid++ {
			check.NoError(t, l.wait(t.Context(), b))
			l.learn(b, refusal{status: 403}, nil)
		}
		check.That(t, invalid < 9000, "%d invalid requests in 10 minutes", invalid)
	})
	route := func(path string) string { return call{method: "PATCH", path: path}.route() }
	check.Equal(t, "the messages of a channel count for", route("/channels/1/messages/2"), route("/channels/1/messages/3"))
	check.That(t, route("/channels/1/messages/2") != route("/channels/4/messages/2"), "two channels share a limit")
}

// What is refused for a while is refused on one route, or by a ban of the address on all.
func TestARefusalIsForGoodOnlyIfDiscordSaysSo(t *testing.T) {
	for name, c := range map[string]struct {
		status    int
		body      string
		gone      bool
		tries     int
		wait, all time.Duration // until it may be tried again, and anything
	}{
		"missing access":          {403, `{"message":"Missing Access","code":50001}`, true, 1, 0, 0},
		"unknown channel":         {404, `{"message":"Unknown Channel","code":10003}`, true, 1, 0, 0},
		"a form that is refused":  {400, `{"message":"Invalid Form Body","code":50035}`, true, 1, 0, 0},
		"a bad token":             {401, `{"message":"401: Unauthorized","code":0}`, false, 1, 0, 0},
		"a proxy's page":          {403, `<html>Forbidden</html>`, false, 1, 0, 0},
		"a limit":                 {429, `{"message":"You are being rate limited.","retry_after":0.01}`, false, maxWaits + 1, 10 * time.Millisecond, 0},
		"the ban of the address":  {429, `error code: 1015`, false, maxWaits + 1, time.Minute, time.Minute},
		"a ban, in Discord's way": {429, `{"message":"You are being blocked from accessing our API temporarily.","code":0}`, false, maxWaits + 1, time.Minute, time.Minute},
		"a fault":                 {500, `{"message":"500: Internal Server Error","code":0}`, false, maxTries, 0, 0},
		"a redirect, to anywhere": {302, ``, false, 1, 0, 0},
		"no answer":               {0, ``, false, maxTries, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			rest := offline(t, func(*http.Request) (int, string) { tries++; return c.status, c.body }).rest
			err := rest.do(t.Context(), call{method: "PATCH", path: "/webhooks/1/SECRET/messages/@original", tokenInPath: true})
			check.Lacks(t, "the error", fmt.Sprint(err), "SECRET", token)
			check.That(t, err != nil && errors.Is(err, channel.ErrGone) == c.gone && tries == c.tries, "%s: %v after %d tries", name, err, tries)
			check.Equal(t, name+": it waits", refusalIn(err).after, c.wait)
			check.Equal(t, name+": another route waits", rest.limits.refused(call{path: "/another"}), c.all)
		})
	}
}

// send has one piece sent by a fresh writer, as after a restart.
func (r *rig) send(place string, p channel.Piece) (string, error) {
	return r.connector.Reply(place, p.To).Send(r.ctx, p)
}

func TestAPieceIsPostedOnceWhateverFails(t *testing.T) {
	r := newRig(t, discordtest.Options{}).start()
	for name, fault := range map[string]discordtest.Fault{
		"a 503 that took no effect":  {Status: 503},
		"a 502 that took effect":     {Status: 502, Done: true, Times: 2},
		"a cut after it took effect": {Cut: true, Done: true},
		"an answer without its end":  {CutBody: true},
		"a 429":                      {Status: 429, RetryAfter: 100 * time.Millisecond, Times: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place := r.Channel(r.guild.ID, "place").ID
			fault.Of = "POST /channels/" + place + "/messages"
			m := r.Say(place, r.ann.ID, "question")
			r.Fail(fault)
			id := check.Must(r.send(r.place(place), channel.Piece{Reply: name, Parts: 1, To: []string{m.ID}, Text: "answer"}))(t)
			s := r.Sent(place)
			check.That(t, len(s) == 1 && s[0].ID == id && s[0].Content == "answer", "%d messages: %+v", len(s), s)
		})
	}
}

// It is the crash between sending and the note that it was sent, long after Discord forgot the nonce.
func TestAPieceThatMayHaveArrivedIsLookedUp(t *testing.T) {
	r := newRig(t, discordtest.Options{NonceLife: time.Nanosecond}).start()
	place := r.place(r.square)
	m := r.Say(r.square, r.ann.ID, "question")
	said := r.heard(place, 1)[0]
	said.Addressed = true
	result := said
	result.ID = store.TaskID + "-1"
	turns := check.Must(r.Store.Find(r.ctx, place))(t).Turns()
	check.EqualAll(t, "of a question and the result of a task Discord knows", turns.Of([]chat.Message{said, result}).To, []string{m.ID})
	pieces := []channel.Piece{
		{Reply: "reply-0", Parts: 1, To: turns.Of([]chat.Message{result}).To, Text: "they say 42"},
		{Reply: "reply-1", Part: 0, Parts: 3, To: []string{m.ID}, Text: "the begin"},
		{Reply: "reply-1", Part: 1, Parts: 3, To: []string{m.ID}, Text: "the middle"},
		{Reply: "reply-1", Part: 2, Parts: 3, To: []string{m.ID}, Text: "the middle"},
	}
	var ids []string
	for _, p := range pieces {
		ids = append(ids, check.Must(r.send(place, p))(t))
		r.Say(r.square, r.ann.ID, "chatter")
	}
	for i, p := range pieces {
		p.Sending = true
		check.Equal(t, fmt.Sprint("the message of piece ", i), check.Must(r.send(place, p))(t), ids[i])
	}
	check.Equal(t, "messages", len(r.Sent(r.square)), len(pieces))
	late := channel.Piece{Reply: "reply-2", Parts: 1, To: []string{r.Say(r.square, r.ann.ID, "another").ID}, Text: "never arrived", Sending: true}
	check.Must(r.send(place, late))(t)
	check.Equal(t, "messages", len(r.Sent(r.square)), len(pieces)+1)
}

func TestWhatCanNeverBeSaidIsGivenUp(t *testing.T) {
	r := newRig(t, discordtest.Options{}).start()
	mute := r.Channel(r.guild.ID, "mute").ID
	locked := r.Thread(r.square, r.ann.ID, "closed").ID
	r.Deny(mute, discordgo.PermissionSendMessages)
	r.Archive(locked, true)
	for _, place := range []string{r.place(mute), r.place(r.square) + "/" + locked, r.place("1")} { // where nothing is
		check.Error(t, check.ErrorOf(r.send(place, channel.Piece{Reply: "r", Parts: 1, Text: "hello"})), channel.ErrGone)
	}
	r.Deny(r.square, discordgo.PermissionReadMessageHistory) // without the permission to reply it answers all the same
	r.converse(r.square, "hello", 1)
	check.That(t, r.sent(r.square)[0].MessageReference == nil, "it replied")
}

func TestWhatPeopleWaitForGoesBeforeTheHistoryOfManyChannels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var read atomic.Int32
		d := offline(t, func(q *http.Request) (int, string) {
			if q.Method != http.MethodGet {
				return 200, `{"id":"1"}`
			}
			read.Add(1)
			return 200, "[]" // an empty history is looked at once more
		})
		begin := time.Now()
		var all sync.WaitGroup
		for i := range 50 { // as after an outage
			all.Go(func() {
				check.Error(t, check.ErrorOf(d.History(t.Context(), fmt.Sprint("discord:9/", 100+i), channel.Look{After: "5", Limit: 100})), nil)
			})
		}
		time.Sleep(time.Second)
		for i := range 10 {
			check.Must(d.poster.create(t.Context(), "20", newPost("20", "hello", "", nonce(i)), false))(t)
		}
		took := time.Since(begin)
		check.That(t, took <= 2*time.Second, "the answers took %v", took-time.Second)
		all.Wait()
		check.Equal(t, "requests", read.Load(), 100)
		took = time.Since(begin)
		check.That(t, took >= 3900*time.Millisecond && took <= 5*time.Second, "the histories took %v", took)
	})
}

func TestTheUserAgentNamesCairn(t *testing.T) {
	check.HasPrefix(t, "the user agent", userAgent, "DiscordBot (https://cairn")
	check.Lacks(t, "the user agent", userAgent, "discordgo")
}
