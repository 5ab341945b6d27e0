// Pieces arrive once, whatever fails, and what can never arrive is given up.

package discord

import (
	"errors"
	"fmt"
	"net/http"
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
	r := newRig(t, discordtest.Options{}).start()
	m := r.Say(r.square, r.ann.ID, "question")
	const posts = "POST /channels/*/messages"
	n := 0
	for name, fault := range map[string]discordtest.Fault{
		"a 503 that took no effect":    {Route: posts, Status: 503},
		"a 502 that took effect":       {Route: posts, Status: 502, Done: true, Times: 2},
		"a cut after it took effect":   {Route: posts, Cut: true, Done: true},
		"an answer without its end":    {Route: posts, CutBody: true},
		"a 429":                        {Route: posts, Status: 429, RetryAfter: 100 * time.Millisecond, Times: 2},
		"a 429 that the channel asked": {Route: posts, Status: 429, RetryAfter: 100 * time.Millisecond, Shared: true},
	} {
		t.Run(name, func(t *testing.T) {
			r.Fail(fault)
			n++
			id := check.Must(r.send(r.place(r.square), channel.Piece{Reply: name, Parts: 1, To: []string{m.ID}, Text: "answer"}))(t)
			s := r.Sent(r.square)
			check.That(t, len(s) == n && s[n-1].ID == id && s[n-1].Content == "answer", "%d messages: %+v", len(s), s)
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
	hello := channel.Piece{Reply: "r", Parts: 1, Text: "hello"}
	for _, place := range []string{r.place(mute), r.place(r.square) + "/" + locked, r.place("1")} { // where nothing is
		check.Error(t, check.ErrorOf(r.send(place, hello)), channel.ErrGone)
	}
	r.Fail(discordtest.Fault{Route: "POST /channels/*/messages", Status: 503, Times: maxTries})
	_, err := r.send(r.place(r.square), hello)
	check.That(t, err != nil && !errors.Is(err, channel.ErrGone), "a fault of the server is worth trying again, got %v", err)

	r.Deny(r.square, discordgo.PermissionReadMessageHistory) // without the permission to reply it answers all the same
	r.ask(r.square, "hello")
	r.answersLast(r.square, 1, "echo: hello")
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
			check.Must(d.create(t.Context(), "20", newPost("20", "hello", "", nonce(i)), false))(t)
		}
		took := time.Since(begin)
		check.That(t, took <= 2*time.Second, "the answers took %v", took-time.Second)
		all.Wait()
		check.Equal(t, "requests", read.Load(), 100)
		took = time.Since(begin)
		check.That(t, took >= 3900*time.Millisecond && took <= 5*time.Second, "the histories took %v", took)
	})
}
