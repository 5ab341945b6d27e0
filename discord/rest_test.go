// Limits, refusals and faults of the REST API.

package discord

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/channel"
	"cairn/discord/discordtest"
	"cairn/internal/check"
)

func TestWaitingForALimitEndsWithTheContext(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{})
	d := r.newConnector()
	t.Cleanup(d.rest.client.CloseIdleConnections)
	r.Fail(discordtest.Fault{Route: "POST /channels/*/messages", Status: 429, RetryAfter: time.Hour})
	ctx, cancel := context.WithCancel(r.ctx)
	done := make(chan error, 1)
	go func() {
		_, err := d.create(ctx, r.square, newPost(r.square, "hello", "", "n"), false)
		done <- err
	}()
	r.until("the 429", func() bool {
		return d.rest.limits.refused(call{method: http.MethodPost, path: "/channels/" + r.square + "/messages"}) > 0
	})
	cancel()
	select {
	case err := <-done:
		check.Error(t, err, context.Canceled)
	case <-r.ctx.Done():
		t.Error("it waits out the hour")
	}
	// Others wait too, and make no request meanwhile.
	if err := d.rest.do(r.ctx, call{method: http.MethodPost, path: "/channels/" + r.square + "/messages", once: true}); rateLimitWait(err) < time.Minute {
		t.Errorf("the next got %v", err)
	}
	check.Equal(t, "requests", len(r.Requests("POST /channels/*/messages")), 1)
}

func TestLimits(t *testing.T) {
	t.Parallel()
	refused := http.Header{}
	a, b := call{path: "/channels/1/messages"}, call{path: "/channels/2/messages"}
	synctest.Test(t, func(t *testing.T) {
		l := newLimits()
		begin, waited := time.Now(), []time.Duration{}
		for range 3 * perSecond {
			check.NoError(t, l.wait(t.Context(), a))
			waited = append(waited, time.Since(begin))
		}
		for i, at := range waited[50:] {
			if at-waited[i] < time.Second {
				t.Fatalf("51 requests in %v", at-waited[i])
			}
		}
		check.NoError(t, l.wait(t.Context(), call{ownToken: true}))
		check.Equal(t, "an answer to an interaction waits", time.Since(begin), waited[len(waited)-1])
	})
	synctest.Test(t, func(t *testing.T) {
		l := newLimits()
		l.learn(a, 429, refused, 3*time.Second, false)
		check.Equal(t, "a 429 for one route stops that", l.refused(a), 3*time.Second)
		check.Equal(t, "and no other", l.refused(b), 0)
		l.learn(b, 429, refused, 2*time.Second, true)
		check.Equal(t, "a 429 for all routes stops others", l.refused(call{path: "/users/@me"}), 2*time.Second)
		check.Equal(t, "but no answer to an interaction", l.refused(call{path: "/interactions/1", ownToken: true}), 0)
		time.Sleep(3 * time.Second)
		check.Equal(t, "then it does not", l.refused(a), 0)
	})
	synctest.Test(t, func(t *testing.T) { // the ban for 10 000 invalid requests is out of reach
		l := newLimits()
		l.learn(a, 429, http.Header{"X-Ratelimit-Scope": {"shared"}}, time.Second, false)
		check.Equal(t, "a shared limit is not held against the bot", l.invalid.Tokens(), slowAfter)
		invalid := 0
		for begin := time.Now(); time.Since(begin) < 10*time.Minute; invalid++ {
			check.NoError(t, l.wait(t.Context(), b))
			l.learn(b, 403, refused, 0, false)
		}
		check.That(t, invalid < 9000, "%d invalid requests in 10 minutes", invalid)
	})
	t.Run("the messages of a channel share one", func(t *testing.T) {
		a := call{method: "PATCH", path: "/channels/1/messages/2"}.route()
		check.Equal(t, "they count for and", a, (call{method: "PATCH", path: "/channels/1/messages/3"}).route())
		if b := (call{method: "PATCH", path: "/channels/4/messages/2"}).route(); a == b {
			t.Errorf("two channels count for %s", a)
		}
	})
}

func TestErrorsNameNoSecrets(t *testing.T) {
	t.Parallel()
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	check.NoError(t, err)
	address := "http://" + nobody.Addr().String()
	_ = nobody.Close()
	rest := newREST(address, token)
	err = rest.do(t.Context(), call{method: "PATCH", path: "/webhooks/1/SECRET/messages/@original", ownToken: true, once: true})
	if err == nil || strings.Contains(err.Error(), "SECRET") || strings.Contains(err.Error(), token) {
		t.Errorf("the error is %v", err)
	}
}

// answering is the client of a server that always answers the same.
func answering(t *testing.T, status int, body string) *rest {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "http://elsewhere.invalid/")
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	rest := newREST(s.URL, token)
	t.Cleanup(rest.client.CloseIdleConnections)
	return rest
}

func TestARefusalIsForGoodOnlyIfDiscordSaysSo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		gone   bool
	}{
		"missing access":          {403, `{"message":"Missing Access","code":50001}`, true},
		"unknown channel":         {404, `{"message":"Unknown Channel","code":10003}`, true},
		"a form that is refused":  {400, `{"message":"Invalid Form Body","code":50035}`, true},
		"a bad token":             {401, `{"message":"401: Unauthorized","code":0}`, false},
		"a proxy's page":          {403, `<html>Forbidden</html>`, false},
		"a limit":                 {429, `{"message":"You are being rate limited.","retry_after":0.01}`, false},
		"the ban of the address":  {429, `error code: 1015`, false},
		"a fault":                 {500, `{"message":"500: Internal Server Error","code":0}`, false},
		"a redirect, to anywhere": {302, ``, false},
	} {
		rest := answering(t, c.status, c.body)
		err := rest.do(t.Context(), call{method: "GET", path: "/users/@me", once: true})
		check.That(t, err != nil && errors.Is(err, channel.ErrGone) == c.gone, "%s: %v", name, err)
	}
}

func TestABanOfTheAddressStopsAllRoutes(t *testing.T) {
	t.Parallel()
	for body, all := range map[string]bool{
		`error code: 1015`: true,
		`{"message":"You are being blocked from accessing our API temporarily due to exceeding global rate limits.","code":0}`: true,
		`{"message":"You are being rate limited.","retry_after":60}`:                                                           false,
	} {
		rest := answering(t, http.StatusTooManyRequests, body)
		if err := rest.do(t.Context(), call{method: "GET", path: "/users/@me", once: true}); rateLimitWait(err) != time.Minute {
			t.Errorf("%s: got %v", body, err)
		}
		check.Equal(t, body+": another route waits", rest.limits.refused(call{path: "/another"}) > 50*time.Second, all)
	}
}
