// Pieces arrive once, whatever fails, and what can never arrive is given up.

package discord

import (
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
	"cairn/discord/discordtest"
	"cairn/internal/check"
)

// send has one piece sent by a fresh writer, as after a restart.
func (r *rig) send(place string, p channel.Piece) (string, error) {
	return r.connector.Reply(place, p.To).Send(r.ctx, p)
}

func TestAPieceIsPostedOnceWhateverFails(t *testing.T) {
	t.Parallel()
	const posts = "POST /channels/*/messages"
	for name, fault := range map[string]discordtest.Fault{
		"a 503 that took no effect":    {Route: posts, Status: 503},
		"a 502 that took effect":       {Route: posts, Status: 502, Done: true, Times: 2},
		"a cut after it took effect":   {Route: posts, Cut: true, Done: true},
		"an answer without its end":    {Route: posts, CutBody: true},
		"a 429":                        {Route: posts, Status: 429, RetryAfter: 300 * time.Millisecond, Times: 2},
		"a 429 that the channel asked": {Route: posts, Status: 429, RetryAfter: 300 * time.Millisecond, Shared: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, discordtest.Options{}).start()
			m := r.Say(r.square, r.ann.ID, "question")
			r.Fail(fault)
			id := check.Must(r.send(r.place(r.square), channel.Piece{Reply: "reply-1", Parts: 1, To: []string{m.ID}, Text: "answer"}))(t)
			if s := r.Sent(r.square); len(s) != 1 || s[0].ID != id || s[0].Content != "answer" {
				t.Errorf("%d messages: %+v", len(s), s)
			}
		})
	}
}

// TestAPieceThatMayHaveArrivedIsLookedUp is the crash between sending and the note
// that it was sent, long after Discord forgot the nonce.
func TestAPieceThatMayHaveArrivedIsLookedUp(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{NonceLife: time.Nanosecond}).start()
	place := r.place(r.square)
	m := r.Say(r.square, r.ann.ID, "question")
	pieces := []channel.Piece{
		{Reply: "reply-1", Part: 0, Parts: 3, To: []string{m.ID}, Text: "the begin"},
		{Reply: "reply-1", Part: 1, Parts: 3, To: []string{m.ID}, Text: "the middle"},
		{Reply: "reply-1", Part: 2, Parts: 3, To: []string{m.ID}, Text: "the middle"},
	}
	var ids []string
	for _, p := range pieces {
		id := check.Must(r.send(place, p))(t)
		ids = append(ids, id)
		r.Say(r.square, r.ann.ID, "chatter")
	}
	for i, p := range pieces {
		p.Sending = true
		id := check.Must(r.send(place, p))(t)
		check.Equal(t, fmt.Sprint("the message of piece ", i), id, ids[i])
	}
	check.Equal(t, "messages", len(r.Sent(r.square)), len(pieces))
	late := channel.Piece{Reply: "reply-2", Parts: 1, To: []string{r.Say(r.square, r.ann.ID, "another").ID}, Text: "never arrived", Sending: true}
	if _, err := r.send(place, late); err != nil || len(r.Sent(r.square)) != 4 {
		t.Errorf("a piece that had not arrived: %d messages, %v", len(r.Sent(r.square)), err)
	}
}

func TestWhatCanNeverBeSaidIsGivenUp(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start()
	mute, locked := r.Channel(r.guild.ID, "mute").ID, r.Thread(r.square, r.ann.ID, "closed").ID
	r.Deny(mute, discordgo.PermissionSendMessages)
	r.Archive(locked, true)
	for name, place := range map[string]string{
		"where it may not write": r.place(mute), "in a locked thread": r.place(r.square) + "/" + locked, "where nothing is": r.place("1"),
	} {
		if _, err := r.send(place, channel.Piece{Reply: "r", Parts: 1, Text: "hello"}); !errors.Is(err, channel.ErrGone) {
			t.Errorf("%s: got %v, want %v", name, err, channel.ErrGone)
		}
	}
	r.Fail(discordtest.Fault{Route: "POST /channels/*/messages", Status: 503, Times: maxTries})
	if _, err := r.send(r.place(r.square), channel.Piece{Reply: "r", Parts: 1, Text: "hello"}); err == nil || errors.Is(err, channel.ErrGone) {
		t.Errorf("a fault of the server is worth trying again, got %v", err)
	}
}

func TestWithoutThePermissionToReplyItAnswersAllTheSame(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start()
	r.Deny(r.square, discordgo.PermissionReadMessageHistory)
	r.ask(r.square, "hello")
	if got := r.answers(r.square, 1); got[0] != "echo: hello" || r.sent(r.square)[0].MessageReference != nil {
		t.Errorf("it answered %q", got)
	}
}

func TestNobodyIsNotified(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}, quick).start() // the double refuses what could notify
	slowly(r, 30, 30*time.Millisecond)
	r.ask(r.square, "@everyone, <@"+r.ann.ID+">")
	r.until("an edit", func() bool { return len(r.Requests("PATCH /channels/*/messages/*")) > 0 })
	r.idle(r.place(r.square))
	for _, q := range append(r.Requests("POST /channels/*/messages"), r.Requests("PATCH /channels/*/messages/*")...) {
		if !strings.Contains(string(q.Body), `"allowed_mentions":{"parse":[],"replied_user":false}`) || q.Status != 200 {
			t.Errorf("%s %s: %d, %s", q.Method, q.Path, q.Status, q.Body)
		}
	}
}

// transport answers requests without a network, which would stop a test's own clock.
type transport func(*http.Request) string

func (f transport) RoundTrip(q *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(f(q))), Request: q}, nil
}

func TestAnEditThatHasToBeReadKeepsNoMessageBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start()
	m := r.Say(r.square, r.ann.ID, "old")
	r.heard(r.place(r.square), 1)
	r.Fail(discordtest.Fault{Route: "GET /channels/*/messages/*", Status: 429, RetryAfter: time.Hour})
	r.Dispatch("MESSAGE_UPDATE", map[string]any{
		"id": m.ID, "channel_id": r.square, "guild_id": r.guild.ID, "content": "new", "edited_timestamp": time.Now().UTC().Format(time.RFC3339Nano),
	})
	r.converse("still there?", 1)
}

func TestWhatPeopleWaitForGoesBeforeTheHistoryOfManyChannels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var read atomic.Int32
		d := check.Must(New(Options{Token: token}))(t)
		d.rest.client.Transport = transport(func(q *http.Request) string {
			if q.Method != http.MethodGet {
				return `{"id":"1"}`
			}
			read.Add(1)
			return "[]" // an empty history is looked at once more
		})
		d.state.setSelf(user{ID: "1"}, "1")
		begin := time.Now()
		var all sync.WaitGroup
		for i := range 50 { // as after an outage
			all.Go(func() {
				if _, err := d.History(t.Context(), fmt.Sprint("discord:9/", 100+i), channel.Look{After: "5", Limit: 100}); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(time.Second)
		for i := range 10 {
			check.Must(d.create(t.Context(), "20", newPost("20", "hello", "", nonce(i)), false))(t)
		}
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("the answers took %v", took-time.Second)
		}
		all.Wait()
		check.Equal(t, "requests", read.Load(), 100)
		if took := time.Since(begin); took < 3900*time.Millisecond || took > 5*time.Second {
			t.Errorf("the histories took %v", took)
		}
	})
}
