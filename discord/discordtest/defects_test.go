// The defects of discordgo v0.29.0, each shown on the double with the bare
// library. If one of these tests fails after an update of the library, the
// defect is gone, and so may be what works round it.
package discordtest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/discord/discordtest"
)

func TestOpenWaitsForeverForHelloAndReady(t *testing.T) {
	realTime(t)
	for name, h := range map[string]discordtest.Handshake{
		"silent HELLO holds Open and Close until the connection is cut": {SilentHello: true},
		"silent READY holds Open and Close until the connection is cut": {SilentReady: true},
	} {
		t.Run(name, func(t *testing.T) {
			v := newTown(t, discordtest.Options{})
			v.Handshakes(h)
			s := v.session()
			opening := background(s.Open)
			v.wait("the connection", func() bool {
				all := v.Connections()
				return len(all) == 1 && (h.SilentHello || all[0].Identify)
			})
			closing := background(s.Close)
			v.hangs("Open", opening, 200*time.Millisecond)
			v.hangs("Close", closing, 200*time.Millisecond)
			v.Cut()
			if err := v.ends("Open", opening); err == nil {
				t.Error("Open succeeded without READY")
			}
			_ = v.ends("Close", closing)
		})
	}
}

func TestReconnectAsAnswerToIdentifyDeadlocksOpen(t *testing.T) {
	realTime(t)
	v := newTown(t, discordtest.Options{})
	v.Handshakes(discordtest.Handshake{Op: 7})
	s := v.session()
	opening := background(s.Open)
	v.wait("IDENTIFY", func() bool { all := v.Connections(); return len(all) == 1 && all[0].Identify })
	v.hangs("Open", opening, 200*time.Millisecond)
	v.Cut() // frees a silent handshake, but not this
	v.wait("the cut", func() bool { return !v.Connections()[0].Open })
	v.hangs("Open", opening, 200*time.Millisecond)
}

func TestTheReconnectLoopIgnoresCloseCodesAndClose(t *testing.T) {
	realTime(t)
	v := newTown(t, discordtest.Options{})
	s, _ := v.opened(func(s *discordgo.Session) { s.ShouldReconnectOnError = true })
	v.Handshakes(discordtest.Handshake{Close: discordtest.CloseAuthFailed})
	v.Disconnect(discordtest.CloseAuthFailed)
	v.wait("a second attempt after 4004", func() bool { return len(v.Connections()) >= 2 })
	v.wait("its end", func() bool { return !v.Connections()[1].Open })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	v.wait("a connection after Close", func() bool { return len(v.Connections()) >= 3 })
}

func TestAfter4007ItResumesAgainAndAgain(t *testing.T) {
	realTime(t)
	v := newTown(t, discordtest.Options{})
	v.opened(func(s *discordgo.Session) { s.ShouldReconnectOnError = true })
	v.Disconnect(discordtest.CloseInvalidSeq)
	v.wait("two attempts", func() bool { all := v.Connections(); return len(all) >= 3 && all[2].Resume })
	for _, c := range v.Connections()[1:3] {
		if c.Identify || !c.Resume {
			t.Errorf("after 4007 it sent identify=%v, resume=%v; the defect is that it only resumes", c.Identify, c.Resume)
		}
	}
}

func TestAHalfOpenConnectionIsNoticedLateAndLosesTheSession(t *testing.T) {
	realTime(t)
	interval := 100 * time.Millisecond
	v := newTown(t, discordtest.Options{Heartbeat: interval})
	_, got := v.opened(func(s *discordgo.Session) { s.ShouldReconnectOnError = true })
	v.HalfOpen()
	began := time.Now()
	v.say("said into the void")
	v.wait("the client's close", func() bool { return v.Connections()[0].ClientClose != 0 })
	if late := time.Since(began); late < 4*interval {
		t.Errorf("noticed after %v; the defect is that it takes 5 intervals of %v", late, interval)
	}
	if code := v.Connections()[0].ClientClose; code != 1000 {
		t.Errorf("closed with %d; the defect is 1000, which gives the session up", code)
	}
	v.wait("a new session", func() bool { all := v.Connections(); return len(all) == 2 && all[1].Identify })
	v.say("said after")
	v.expect(got, "said after") // and never what was said into the void
}

func TestCutByTheClientAHalfOpenConnectionIsResumed(t *testing.T) {
	realTime(t)
	v := newTown(t, discordtest.Options{})
	_, got := v.opened(func(s *discordgo.Session) { s.ShouldReconnectOnError = true })
	v.HalfOpen()
	v.say("said into the void")
	v.Cut()
	v.expect(got, "said into the void")
}

func TestHandlersRunOutOfOrderUnlessSynchronous(t *testing.T) {
	realTime(t)
	const burst = 2000
	inversions := func(t *testing.T, sync bool) (n int) {
		v := newTown(t, discordtest.Options{})
		s := v.session()
		s.SyncEvents = sync
		got := make(chan string, burst)
		s.AddHandler(func(_ *discordgo.Session, m *discordgo.MessageCreate) { got <- m.ID })
		if err := s.Open(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		// One burst nearly always suffices; a lucky scheduler is given no chance.
		for round := 0; round < 20 && n == 0; round++ {
			for range burst {
				v.say("x")
			}
			last := ""
			for range burst {
				id := v.next(got)
				if id < last { // ids of one run have the same length
					n++
				}
				last = id
			}
			if sync {
				break
			}
		}
		return n
	}
	t.Run("a goroutine for each event inverts their order", func(t *testing.T) {
		if n := inversions(t, false); n == 0 {
			t.Error("no inversions; the defect is gone")
		}
	})
	t.Run("SyncEvents keeps their order", func(t *testing.T) {
		if n := inversions(t, true); n != 0 {
			t.Errorf("%d inversions", n)
		}
	})
}

func TestASynchronousHandlerThatBlocksStopsEveryEvent(t *testing.T) {
	realTime(t)
	v := newTown(t, discordtest.Options{})
	release := make(chan struct{})
	_, got := v.opened(func(s *discordgo.Session) {
		s.AddHandlerOnce(func(_ *discordgo.Session, e *discordgo.TypingStart) { <-release })
	})
	v.Dispatch("TYPING_START", map[string]any{"channel_id": v.channel, "user_id": v.person.ID, "timestamp": 1})
	v.say("stuck behind it")
	v.silence(got, 200*time.Millisecond)
	close(release)
	v.expect(got, "stuck behind it")
}

func TestWaitingForA429IgnoresTheContext(t *testing.T) {
	realTime(t)
	v := newTown(t, discordtest.Options{})
	const route, asked, after = "POST /channels/*/messages", 50 * time.Millisecond, 700 * time.Millisecond
	send := func(options ...discordgo.RequestOption) (time.Duration, error) {
		ctx, cancel := context.WithTimeout(v.ctx, asked)
		defer cancel()
		began := time.Now()
		_, err := v.session().ChannelMessageSend(v.channel, "hello", append(options, discordgo.WithContext(ctx))...)
		return time.Since(began), err
	}
	v.Fail(discordtest.Fault{Route: route, Status: 429, RetryAfter: after, Times: 2})
	if took, err := send(); took < after || err == nil {
		t.Errorf("asked for %v, it waited %v (%v); the defect is that it waits out the 429", asked, took, err)
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
	realTime(t)
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

func TestDroppedEventsAreNeverNoticed(t *testing.T) {
	realTime(t)
	v := newTown(t, discordtest.Options{Heartbeat: 50 * time.Millisecond})
	_, got := v.opened(func(s *discordgo.Session) { s.ShouldReconnectOnError = true })
	v.Drop(3)
	for _, m := range []string{"1", "2", "3", "4"} {
		v.say(m)
	}
	v.expect(got, "4")
	v.wait("heartbeats", func() bool { return v.Connections()[0].Heartbeats > 3 })
	v.silence(got, 50*time.Millisecond)
	if n := len(v.Connections()); n != 1 {
		t.Errorf("%d connections; the defect is that nothing happens", n)
	}
}

func TestAPanicInAHandlerEndsTheProcess(t *testing.T) {
	realTime(t)
	t.Parallel()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "DISCORDTEST_CHILD=panic")
	out, err := child.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !strings.Contains(string(out), "panic: in a handler") {
		t.Errorf("the process ended with %v; the defect is that it dies of the panic\n%s", err, out)
	}
}

// children are processes that a test starts from its own binary.
var children = map[string]func(){"panic": func() {
	d := discordtest.New(discordtest.Options{})
	s, err := discordgo.New("Bot token")
	if err != nil {
		return
	}
	s.Client = d.Client()
	s.AddHandler(func(*discordgo.Session, *discordgo.Ready) { panic("in a handler") })
	if s.Open() == nil {
		time.Sleep(10 * time.Second)
	}
}}

// Not parallel: it changes the library's variables.
func TestEndpointsAreComputedOnce(t *testing.T) {
	realTime(t)
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
