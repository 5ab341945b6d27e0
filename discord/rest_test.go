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
		d.rest.limits.mu.Lock()
		defer d.rest.limits.mu.Unlock()
		return len(d.rest.limits.buckets) == 1
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

func TestRequestsStayBelowTheLimits(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{})
	d := r.newConnector()
	t.Cleanup(d.rest.client.CloseIdleConnections)
	const burst = 120
	r.Limit(discordtest.RouteLimit{Route: "POST /channels/*/messages", Requests: 40, Per: 700 * time.Millisecond})
	for i := range burst {
		check.Must(d.create(r.ctx, r.square, newPost(r.square, "hello", "", nonce(i)), false))(t)
	}
	check.Equal(t, "requests that were refused", r.InvalidRequests(), 0)
	check.Equal(t, "messages", len(r.Sent(r.square)), burst)
}

func TestLimits(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	refused := http.Header{}
	t.Run("requests on all routes together", func(t *testing.T) {
		l := newLimits()
		for i := range perSecond {
			if wait := l.take("a", call{}, now); wait != 0 {
				t.Fatalf("request %d waits %v", i, wait)
			}
		}
		check.Equal(t, "one too many waits", l.take("b", call{}, now.Add(400*time.Millisecond)), 600*time.Millisecond)
		check.Equal(t, "one in the background waits for a third of them", l.take("b", call{background: true}, now.Add(400*time.Millisecond)), 600*time.Millisecond)
		check.Equal(t, "an answer to an interaction waits", l.take("interaction", call{ownToken: true}, now), 0)
		check.Equal(t, "a second later it waits", l.take("b", call{}, now.Add(time.Second)), 0)
	})
	t.Run("a 429 for all routes stops all", func(t *testing.T) {
		l := newLimits()
		l.learn("a", 429, refused, 3*time.Second, true, now)
		check.Equal(t, "it waits", l.take("b", call{}, now.Add(time.Second)), 2*time.Second)
	})
	t.Run("a 429 for one route stops that", func(t *testing.T) {
		l := newLimits()
		l.learn("a", 429, refused, 3*time.Second, false, now)
		if a, b := l.take("a", call{}, now), l.take("b", call{}, now); a != 3*time.Second || b != 0 {
			t.Errorf("they wait %v and %v", a, b)
		}
	})
	t.Run("what headers say is left is used up and no more", func(t *testing.T) {
		l := newLimits()
		l.learn("a", 200, http.Header{"X-Ratelimit-Remaining": {"1"}, "X-Ratelimit-Reset-After": {"1.5"}}, 0, false, now)
		if a, b := l.take("a", call{}, now), l.take("a", call{}, now); a != 0 || b <= 1500*time.Millisecond || b > 1510*time.Millisecond { // it is rounded
			t.Errorf("they wait %v and %v", a, b)
		}
		check.Equal(t, "then it waits", l.take("a", call{}, now.Add(1510*time.Millisecond)), 0)
	})
	t.Run("the messages of a channel share one", func(t *testing.T) {
		a := call{method: "PATCH", path: "/channels/1/messages/2"}.route()
		check.Equal(t, "they count for and", a, (call{method: "PATCH", path: "/channels/1/messages/3"}).route())
		if b := (call{method: "PATCH", path: "/channels/4/messages/2"}).route(); a == b {
			t.Errorf("two channels count for %s", a)
		}
	})
}

func TestTheBanForInvalidRequestsIsOutOfReach(t *testing.T) {
	t.Parallel()
	now, refused := time.Unix(1_700_000_000, 0), http.Header{}
	l := newLimits()
	invalid := 0
	for at := now; at.Before(now.Add(10 * time.Minute)); {
		wait := l.take("a", call{}, at)
		if wait == 0 {
			l.learn("b", 403, refused, 0, false, at)
			invalid++
			wait = time.Microsecond
		}
		at = at.Add(wait)
	}
	if invalid >= 9000 {
		t.Errorf("%d invalid requests in 10 minutes", invalid)
	}
	shared := newLimits()
	shared.learn("a", 429, http.Header{"X-Ratelimit-Scope": {"shared"}}, time.Second, false, now)
	check.Equal(t, "a shared limit is not held against the bot", shared.invalid.TokensAt(now), slowAfter)
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
		if err == nil || errors.Is(err, channel.ErrGone) != c.gone {
			t.Errorf("%s: %v", name, err)
		}
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
		check.Equal(t, body+": another route waits", rest.limits.take("another", call{}, time.Now()) > 50*time.Second, all)
	}
}
