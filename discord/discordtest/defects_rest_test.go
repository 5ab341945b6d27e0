// The defects of discordgo v0.29.0's HTTP side, as in defects_test.go.
package discordtest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/discord/discordtest"
)

func TestWaitingForA429IgnoresTheContext(t *testing.T) {
	v := newTown(t, discordtest.Options{})
	const after = 700 * time.Millisecond
	// send's context ends as soon as the first answer is here.
	send := func(options ...discordgo.RequestOption) (time.Duration, error) {
		ctx, cancel := context.WithCancel(v.ctx)
		defer cancel()
		s := v.session()
		by := s.Client.Transport
		s.Client = &http.Client{Transport: roundTrip(func(q *http.Request) (*http.Response, error) {
			answer, err := by.RoundTrip(q)
			if err == nil {
				body, _ := io.ReadAll(answer.Body) // what is missing makes the test fail
				_ = answer.Body.Close()
				answer.Body = io.NopCloser(bytes.NewReader(body))
			}
			cancel()
			return answer, err
		})}
		began := time.Now()
		_, err := s.ChannelMessageSend(v.channel, "hello", append(options, discordgo.WithContext(ctx))...)
		return time.Since(began), err
	}
	v.Fail(discordtest.Fault{Route: "POST /channels/*/messages", Status: 429, RetryAfter: after, Times: 2})
	if took, err := send(); took < after || err == nil {
		t.Errorf("with an ended context it waited %v (%v); the defect is that it waits out the 429", took, err)
	}
	var limit *discordgo.RateLimitError
	_, err := send(discordgo.WithRetryOnRatelimit(false))
	if !errors.As(err, &limit) || limit.RetryAfter != after {
		t.Errorf("without retries the error is %v, want a RateLimitError of %v", err, after)
	}
	if n := v.InvalidRequests(); n != 2 {
		t.Errorf("%d invalid requests were counted, want 2", n)
	}
}

func TestOf5xxOnly502IsRetried(t *testing.T) {
	v := newTown(t, discordtest.Options{})
	const route = "POST /channels/*/messages"
	s := v.session()
	for _, status := range []int{500, 503, 504} {
		before := len(v.Requests(route))
		v.Fail(discordtest.Fault{Route: route, Status: status})
		if _, err := s.ChannelMessageSend(v.channel, "hello"); err == nil {
			t.Errorf("%d was retried; the defect is gone", status)
		}
		if n := len(v.Requests(route)) - before; n != 1 {
			t.Errorf("%d: %d requests, want 1", status, n)
		}
	}
	if n := len(v.Sent(v.channel)); n != 0 {
		t.Fatalf("%d messages were posted by requests that failed", n)
	}
	v.Fail(discordtest.Fault{Route: route, Status: 502, Done: true})
	if _, err := s.ChannelMessageSend(v.channel, "hello"); err != nil {
		t.Error(err)
	}
	if n := len(v.Sent(v.channel)); n != 2 {
		t.Errorf("%d messages, want 2: the retried 502 had taken effect", n)
	}
	v.Fail(discordtest.Fault{Route: route, Status: 502, Done: true})
	body := map[string]any{"content": "once", "nonce": "n-1", "enforce_nonce": true}
	path := discordgo.EndpointChannelMessages(v.channel)
	if _, err := s.RequestWithBucketID("POST", path, body, path); err != nil {
		t.Error(err)
	}
	if n := len(v.Sent(v.channel)); n != 3 {
		t.Errorf("%d messages, want 3: an enforced nonce makes the retry harmless", n)
	}
}

// Not parallel: it changes the library's variables.
func TestEndpointsAreComputedOnce(t *testing.T) {
	d := discordtest.New(discordtest.Options{})
	t.Cleanup(d.Close)
	var elsewhere atomic.Int32
	s, err := discordgo.New("Bot token")
	if err != nil {
		t.Fatal(err)
	}
	s.Client = &http.Client{Transport: roundTrip(func(q *http.Request) (*http.Response, error) {
		if q.URL.Host == "discord.com" {
			elsewhere.Add(1)
			return nil, io.EOF
		}
		return d.Client().Transport.RoundTrip(q)
	})}
	oldBase, oldAPI, oldUsers := discordgo.EndpointDiscord, discordgo.EndpointAPI, discordgo.EndpointUsers
	t.Cleanup(func() {
		discordgo.EndpointDiscord, discordgo.EndpointAPI, discordgo.EndpointUsers = oldBase, oldAPI, oldUsers
	})
	discordgo.EndpointDiscord = d.URL + "/"
	discordgo.EndpointAPI = d.URL + "/api/v9/"
	if _, err := s.User("@me"); err == nil || elsewhere.Load() != 1 {
		t.Errorf("setting the base moved the users' endpoint (%v); the defect is gone", err)
	}
	discordgo.EndpointUsers = discordgo.EndpointAPI + "users/"
	if u, err := s.User("@me"); err != nil || u.ID != d.Bot.ID {
		t.Errorf("got %v, %v; want the bot from the double", u, err)
	}
}
