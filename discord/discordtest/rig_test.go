// The rig of this package's tests: a bare discordgo session on a double.
package discordtest_test

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"cairn/discord/discordtest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if name := os.Getenv("DISCORDTEST_CHILD"); name != "" {
		children[name]()
		os.Exit(0)
	}
	// discordgo's Close sleeps for a second: the tests mostly wait, side by side.
	if err := flag.Set("test.parallel", "32"); err != nil {
		panic(err)
	}
	// Op 7 as the answer to IDENTIFY is a deadlock that cannot be undone.
	deadlock := goleak.IgnoreAnyFunction("github.com/bwmarrin/discordgo.(*Session).CloseWithCode")
	goleak.VerifyTestMain(patient{m, deadlock}, deadlock)
}

// patient gives discordgo's reconnect loops, which wait for up to some seconds
// before they look again, time to end.
type patient struct {
	*testing.M
	ignored goleak.Option
}

func (p patient) Run() int {
	code := p.M.Run()
	for until := time.Now().Add(patience); time.Now().Before(until) && goleak.Find(p.ignored) != nil; {
	}
	return code
}

func init() {
	discordgo.Logger = func(int, int, string, ...any) {} // closing codes are expected here
}

// patience is what a test waits for what must come, on a busy machine too.
const patience = 2 * time.Minute

// town is a double with a guild, a channel in it, and one person.
type town struct {
	*discordtest.Server
	t       *testing.T
	ctx     context.Context
	person  discordtest.User
	guild   discordtest.Guild
	channel string
}

func newTown(t *testing.T, o discordtest.Options) *town {
	t.Helper()
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	v := &town{Server: discordtest.New(o), t: t, ctx: ctx}
	t.Cleanup(v.Close)
	v.person = v.User("ann")
	v.guild = v.Guild("town", v.person)
	v.channel = v.Channel(v.guild.ID, "square").ID
	return v
}

// session is a bare discordgo client that does not reconnect by itself.
func (v *town) session() *discordgo.Session {
	v.t.Helper()
	s, err := discordgo.New("Bot token")
	if err != nil {
		v.t.Fatal(err)
	}
	s.ShouldReconnectOnError = false
	s.Client, s.Dialer = v.mortal()
	s.Identify.Intents = discordgo.IntentsAllWithoutPrivileged | discordgo.IntentMessageContent
	return s
}

// mortal is what a session reaches the double with until the test is over;
// then it ends the goroutine that uses it: nothing else stops discordgo's
// reconnect loop.
func (v *town) mortal() (*http.Client, *websocket.Dialer) {
	var over atomic.Bool
	v.t.Cleanup(func() { over.Store(true) })
	check := func() {
		if over.Load() {
			runtime.Goexit()
		}
	}
	by := v.Client().Transport
	client := &http.Client{Transport: roundTrip(func(q *http.Request) (*http.Response, error) {
		check()
		return by.RoundTrip(q)
	})}
	dialer := &websocket.Dialer{NetDialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		check()
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
	return client, dialer
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(q *http.Request) (*http.Response, error) { return f(q) }

// opened is a session with all its messages in a channel, in order.
func (v *town) opened(change ...func(*discordgo.Session)) (*discordgo.Session, <-chan string) {
	v.t.Helper()
	s := v.session()
	s.SyncEvents = true
	got := make(chan string, 10_000)
	s.AddHandler(func(_ *discordgo.Session, m *discordgo.MessageCreate) { got <- m.Content })
	for _, c := range change {
		c(s)
	}
	if err := s.Open(); err != nil {
		v.t.Fatalf("open: %v", err)
	}
	v.t.Cleanup(func() { _ = s.Close() })
	v.beats(0)
	return s, got
}

// beats waits for the first heartbeat on a connection. Until then discordgo's
// goroutine for them may find the connection closed by what the test does next,
// and then it closes, with 1000, the one that follows.
func (v *town) beats(connection int) {
	v.t.Helper()
	v.wait("a heartbeat", func() bool {
		all := v.Connections()
		return len(all) > connection && all[connection].Heartbeats > 0
	})
}

// noted makes a session tell each READY and RESUMED.
func noted(s *discordgo.Session) <-chan string {
	told := make(chan string, 100)
	s.AddHandler(func(*discordgo.Session, *discordgo.Ready) { told <- "READY" })
	s.AddHandler(func(*discordgo.Session, *discordgo.Resumed) { told <- "RESUMED" })
	return told
}

func (v *town) wait(what string, holds func() bool) {
	v.t.Helper()
	if err := v.Wait(v.ctx, holds); err != nil {
		v.t.Fatalf("waiting for %s: %v", what, err)
	}
}

func (v *town) say(content string) discordtest.Message {
	return v.Say(v.channel, v.person.ID, content)
}

// next returns the next message, and fails where none comes.
func (v *town) next(got <-chan string) string {
	v.t.Helper()
	return receive(v, got)
}

// receive returns what comes next, and fails where nothing does.
func receive[T any](v *town, from <-chan T) (got T) {
	v.t.Helper()
	select {
	case got = <-from:
	case <-v.ctx.Done():
		v.t.Fatal("nothing came")
	}
	return got
}

func (v *town) expect(got <-chan string, want ...string) {
	v.t.Helper()
	for _, w := range want {
		if m := v.next(got); m != w {
			v.t.Fatalf("got message %q, want %q", m, w)
		}
	}
}

// silence fails if a message comes within d.
func (v *town) silence(got <-chan string, d time.Duration) {
	v.t.Helper()
	select {
	case m := <-got:
		v.t.Fatalf("got message %q, want none", m)
	case <-time.After(d):
	}
}

func numbered(from, to int) (all []string) {
	for i := from; i < to; i++ {
		all = append(all, fmt.Sprint(i))
	}
	return all
}

// ends waits for done, which must come.
func (v *town) ends(what string, done <-chan error) error {
	v.t.Helper()
	select {
	case err := <-done:
		return err
	case <-v.ctx.Done():
		v.t.Fatalf("%s did not end", what)
		return nil
	}
}

func (v *town) hangs(what string, done <-chan error, d time.Duration) {
	v.t.Helper()
	select {
	case err := <-done:
		v.t.Fatalf("%s ended with %v, where the library is known to hang", what, err)
	case <-time.After(d):
	}
}

func background(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}
