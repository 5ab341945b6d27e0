// Requests that the door itself holds back.

package discord

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

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
	for range 90 { // as for the history of many channels after an outage
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
