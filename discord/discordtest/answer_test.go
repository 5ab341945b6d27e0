// What every request must bring, and the answers that go wrong.
package discordtest_test

import (
	"context"
	"errors"
	"net/http"
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
	noRetry := discordgo.WithRetryOnRatelimit(false)
	t.Run("too many requests in a second get a global 429", func(t *testing.T) {
		v := newTown(t, discordtest.Options{GlobalPerSecond: 3})
		s := v.session()
		for n := 1; ; n++ {
			_, err := s.User("@me", noRetry)
			var limit *discordgo.RateLimitError
			if errors.As(err, &limit) && n > 3 && limit.RetryAfter <= time.Second {
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

func TestAnswersThatAreSlowOrNeverCome(t *testing.T) {
	v := newTown(t, discordtest.Options{})
	s := v.session()
	const route = "POST /channels/*/messages"
	send := func(patience time.Duration) error {
		ctx, cancel := context.WithTimeout(v.ctx, patience)
		defer cancel()
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
		if err := send(100 * time.Millisecond); err == nil {
			t.Errorf("send %d succeeded", i)
		}
		if n := len(v.Sent(v.channel)); n != posted {
			t.Errorf("after send %d there are %d messages, want %d", i, n, posted)
		}
	}
	if err := send(10 * time.Second); err != nil {
		t.Errorf("after the faults: %v", err)
	}
}
