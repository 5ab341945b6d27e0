// Requests that the connector itself holds back.

package discord

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cairn/channel"
	"cairn/discord/discordtest"
)

func TestManyRequestsAtOnceWaitForEachOtherAndAllAreMade(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	defer s.Close()
	rest := newREST(s.URL, token)
	defer rest.client.CloseIdleConnections()
	rest.limits.perSecond = 10
	var all sync.WaitGroup
	for range 85 { // as for the history of many channels after an outage
		all.Go(func() {
			if err := rest.do(t.Context(), call{method: http.MethodGet, path: "/users/@me"}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
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
	r.ask(r.square, "still there?")
	r.answers(r.square, 1)
}

func TestWhatPeopleWaitForGoesBeforeTheHistoryOfManyChannels(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Method == http.MethodGet {
			_, _ = w.Write([]byte("[]"))
			return
		}
		_, _ = w.Write([]byte(`{"id":"1"}`))
	}))
	defer s.Close()
	d, err := New(Options{Token: token, APIBase: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer d.rest.client.CloseIdleConnections()
	d.state.setSelf(user{ID: "1"}, "1")
	d.rest.limits.perSecond = 12
	var all sync.WaitGroup
	var read atomic.Int32
	const channels = 90
	for i := range channels {
		all.Go(func() {
			if _, err := d.History(t.Context(), fmt.Sprint("discord:9/", 100+i), channel.Look{After: "5", Limit: 100}); err != nil {
				t.Error(err)
			}
			read.Add(1)
		})
	}
	for i := range 20 {
		if _, err := d.create(t.Context(), "20", newPost("20", "hello", "", nonce(i)), false); err != nil {
			t.Error(err)
		}
	}
	if n := read.Load(); n == channels {
		t.Error("the answers waited until all the histories were read")
	}
	all.Wait()
}
