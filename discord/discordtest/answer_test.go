// What every request must bring, and the answers that go wrong.
package discordtest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/discord/discordtest"
)

func TestWhatEachRequestMustBring(t *testing.T) {
	v := newTown(t, discordtest.Options{})
	for _, c := range []struct {
		claim, path, token, agent string
		status                    int
	}{
		{"the bot's token", "/api/v9/users/@me", "Bot other", "DiscordBot (x, 1)", 401},
		{"the word Bot", "/api/v9/users/@me", "token", "DiscordBot (x, 1)", 401},
		{"a proper user agent", "/api/v9/users/@me", "Bot token", "curl", 403},
		{"a known version", "/api/v5/users/@me", "Bot token", "DiscordBot (x, 1)", 400},
		{"a snowflake", "/api/v9/channels/x", "Bot token", "DiscordBot (x, 1)", 400},
		{"a known route", "/api/v9/nothing", "Bot token", "DiscordBot (x, 1)", 404},
		{"a known channel", "/api/v9/channels/1", "Bot token", "DiscordBot (x, 1)", 404},
		{"nothing, for the gateway's address", "/api/v10/gateway", "", "DiscordBot (x, 1)", 200},
	} {
		t.Run(c.claim, func(t *testing.T) {
			r, _ := http.NewRequest("GET", v.URL+c.path, nil)
			r.Header.Set("Authorization", c.token)
			r.Header.Set("User-Agent", c.agent)
			answer, err := v.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
			if answer.StatusCode != c.status {
				t.Errorf("got %d, want %d", answer.StatusCode, c.status)
			}
		})
	}
	if n := v.InvalidRequests(); n != 3 {
		t.Errorf("%d invalid requests, want 3", n)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	noRetry := discordgo.WithRetryOnRatelimit(false)
	t.Run("too many requests in a second get a global 429", func(t *testing.T) {
		v := newTown(t, discordtest.Options{GlobalPerSecond: 1})
		s := v.session()
		for n := 1; ; n++ {
			_, err := s.User("@me", noRetry)
			var limit *discordgo.RateLimitError
			if errors.As(err, &limit) && n > 1 && limit.RetryAfter <= time.Second {
				return
			}
			if err != nil || n > 50 {
				t.Fatalf("request %d: %v", n, err)
			}
		}
	})
	t.Run("too many invalid requests ban the address", func(t *testing.T) {
		v := newTown(t, discordtest.Options{InvalidLimit: 2})
		s := v.session()
		v.Fail(discordtest.Fault{Status: 403, Code: 50001, Times: 2})
		for range 2 {
			_, err := s.User("@me")
			refused(t, err, http.StatusForbidden, 50001)
		}
		if _, err := s.User("@me", noRetry); err == nil {
			t.Error("the third request was answered")
		}
	})
	t.Run("a 429 that is shared does not count", func(t *testing.T) {
		v := newTown(t, discordtest.Options{})
		v.Fail(discordtest.Fault{Status: 429, Shared: true, RetryAfter: time.Second})
		if _, err := v.session().User("@me", noRetry); err == nil || v.InvalidRequests() != 0 {
			t.Errorf("%v, %d counted", err, v.InvalidRequests())
		}
	})
	t.Run("a global 429 holds back every route of the library", func(t *testing.T) {
		v := newTown(t, discordtest.Options{})
		s := v.session()
		v.Fail(discordtest.Fault{Route: "GET /users/*", Status: 429, Global: true, RetryAfter: 300 * time.Millisecond})
		if _, err := s.User("@me"); err != nil {
			t.Error(err)
		}
		all := v.Requests("GET /users/*")
		if len(all) != 2 || all[1].At.Sub(all[0].At) < 300*time.Millisecond {
			t.Errorf("requests %v, want the second 300 ms later", all)
		}
	})
}

func TestAFaultSkipsCountsAndEnds(t *testing.T) {
	v := newTown(t, discordtest.Options{})
	s := v.session()
	m, err := s.ChannelMessageSend(v.channel, "0")
	if err != nil {
		t.Fatal(err)
	}
	v.Fail(discordtest.Fault{Route: "PATCH /channels/*/messages/" + m.ID, Status: 429, RetryAfter: time.Second, Skip: 2})
	for i, content := range numbered(1, 5) {
		_, err := s.ChannelMessageEdit(v.channel, m.ID, content, discordgo.WithRetryOnRatelimit(false))
		var limit *discordgo.RateLimitError
		if third := i == 2; third != errors.As(err, &limit) {
			t.Errorf("edit %s: %v, want only the third to get a 429", content, err)
		}
	}
	if now := v.Sent(v.channel)[0]; now.Content != "4" || len(now.Edits) != 3 {
		t.Errorf("the message is %+v", now)
	}
}

func TestAnAnswerCutInItsBodyHasTakenEffect(t *testing.T) {
	v := newTown(t, discordtest.Options{})
	v.Fail(discordtest.Fault{Route: "POST /channels/*/messages", CutBody: true})
	if _, err := v.session().ChannelMessageSend(v.channel, "x"); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want a body that ends too soon", err)
	}
	if n := len(v.Sent(v.channel)); n != 1 {
		t.Errorf("%d messages, want 1", n)
	}
}

func TestRoutesAreLimitedPerChannel(t *testing.T) {
	v := newTown(t, discordtest.Options{})
	other := v.Channel(v.guild.ID, "park").ID
	v.Limit(discordtest.RouteLimit{Route: "POST /channels/*/messages", Requests: 2, Per: time.Minute})
	post := func(channel string) *http.Response {
		t.Helper()
		r, _ := http.NewRequest("POST", v.URL+"/api/v9/channels/"+channel+"/messages", strings.NewReader(`{"content":"x"}`))
		r.Header = http.Header{"Authorization": {"Bot token"}, "User-Agent": {"DiscordBot (x, 1)"}, "Content-Type": {"application/json"}}
		answer, err := v.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		return answer
	}
	for i, want := range []struct {
		status    int
		remaining string
		scope     string
	}{{200, "1", ""}, {200, "0", ""}, {429, "0", "user"}} {
		a := post(v.channel)
		if h := a.Header; a.StatusCode != want.status || h.Get("X-RateLimit-Remaining") != want.remaining ||
			h.Get("X-RateLimit-Scope") != want.scope || h.Get("X-RateLimit-Limit") != "2" || h.Get("X-RateLimit-Bucket") == "" {
			t.Errorf("request %d: %d with %v, want %+v", i, a.StatusCode, h, want)
		}
	}
	if a := post(other); a.StatusCode != 200 || a.Header.Get("X-RateLimit-Remaining") != "1" {
		t.Errorf("another channel: %d with %v", a.StatusCode, a.Header)
	}
	if n := v.InvalidRequests(); n != 1 {
		t.Errorf("%d invalid requests, want 1", n)
	}
	if _, err := v.session().User("@me"); err != nil {
		t.Errorf("another route: %v", err)
	}
}

func TestTheLibraryWaitsForALimitedRoute(t *testing.T) {
	const per = 300 * time.Millisecond
	v := newTown(t, discordtest.Options{})
	v.Limit(discordtest.RouteLimit{Route: "POST /channels/*/messages", Requests: 1, Per: per})
	s := v.session()
	for range 2 {
		if _, err := s.ChannelMessageSend(v.channel, "x"); err != nil {
			t.Error(err)
		}
	}
	if all := v.Requests("POST /channels/*/messages"); all[len(all)-1].At.Sub(all[0].At) < per/2 || len(v.Sent(v.channel)) != 2 {
		t.Errorf("it did not wait: %v", all)
	}
}

func TestAnswersThatAreSlowOrNeverCome(t *testing.T) {
	v := newTown(t, discordtest.Options{})
	s := v.session()
	const route = "POST /channels/*/messages"
	send := func(ctx context.Context) error {
		_, err := s.ChannelMessageSend(v.channel, "x", discordgo.WithContext(ctx))
		return err
	}
	v.Fail(
		discordtest.Fault{Route: route, Delay: time.Minute},
		discordtest.Fault{Route: route, Delay: time.Minute, Done: true},
		discordtest.Fault{Route: route, Cut: true},
		discordtest.Fault{Route: route, Cut: true, Done: true},
	)
	for i, posted := range []int{0, 1, 1, 2} {
		ctx, cancel := context.WithCancel(v.ctx)
		sending := background(func() error { return send(ctx) })
		v.wait("the request and its effect", func() bool { return len(v.Requests(route)) == i+1 && len(v.Sent(v.channel)) == posted })
		cancel()
		if err := v.ends("send", sending); err == nil {
			t.Errorf("send %d succeeded", i)
		}
		if n := len(v.Sent(v.channel)); n != posted {
			t.Errorf("after send %d there are %d messages, want %d", i, n, posted)
		}
	}
	if err := send(v.ctx); err != nil {
		t.Errorf("after the faults: %v", err)
	}
}
