// Limits, refusals and faults of the REST API.

package discord

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/channel"
	"cairn/internal/check"
)

// transport answers requests without a network, which would stop a test's own clock.
type transport func(*http.Request) (status int, body string)

func (f transport) RoundTrip(q *http.Request) (*http.Response, error) {
	status, body := f(q)
	header := http.Header{"Location": {"http://elsewhere.invalid/"}, "Retry-After": {"60"}}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body)), Request: q}, nil
}

// offline is a connector, with the group of its goroutines open, whose requests are answered by f.
func offline(t *testing.T, f transport) *Discord {
	t.Helper()
	d := check.Must(New(Options{Token: token}))(t)
	d.rest.client.Transport = f
	d.state.setSelf(user{ID: "1"}, "1")
	d.work.Open(t.Context())
	t.Cleanup(d.work.Close)
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
		check.Error(t, check.ErrorOf(d.create(ctx, "20", newPost("20", "hello", "", "n"), false)), context.DeadlineExceeded)
		// Others wait too, and make no request meanwhile.
		err := d.rest.do(t.Context(), call{method: http.MethodPost, path: "/channels/20/messages", once: true})
		check.Equal(t, "the next waits", rateLimitWait(err), 59*time.Minute)
		check.Equal(t, "requests", requests, 1)
	})
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
		check.That(t, a != (call{method: "PATCH", path: "/channels/4/messages/2"}).route(), "two channels count for %s", a)
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
	check.That(t, err != nil, "nobody answered")
	check.Lacks(t, "the error", err.Error(), "SECRET", token)
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
		err := offline(t, func(*http.Request) (int, string) { return c.status, c.body }).rest.do(t.Context(), call{method: "GET", path: "/users/@me", once: true})
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
		rest := offline(t, func(*http.Request) (int, string) { return http.StatusTooManyRequests, body }).rest
		err := rest.do(t.Context(), call{method: "GET", path: "/users/@me", once: true})
		check.Equal(t, body+": it waits", rateLimitWait(err), time.Minute)
		check.Equal(t, body+": another route waits", rest.limits.refused(call{path: "/another"}) > 50*time.Second, all)
	}
}
