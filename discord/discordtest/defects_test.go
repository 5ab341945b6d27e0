// The defects of discordgo v0.29.0, each shown on the double with the bare
// library. If one of these tests fails after an update of the library, the
// defect is gone, and so may be what works round it.
package discordtest_test

import (
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/discord/discordtest"
)

func TestOpenWaitsForeverForHelloAndReady(t *testing.T) {
	t.Parallel()
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
	v := newTown(t, discordtest.Options{})
	s, _ := v.opened(func(s *discordgo.Session) { s.ShouldReconnectOnError = true })
	for range 100 {
		v.Handshakes(discordtest.Handshake{Close: discordtest.CloseAuthFailed})
	}
	v.Disconnect(discordtest.CloseAuthFailed)
	v.wait("a second attempt after 4004", func() bool { return len(v.Connections()) >= 2 })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	closed := len(v.Connections())
	v.wait("a connection after Close", func() bool { return len(v.Connections()) > closed })
}

func TestAfter4007ItResumesAgainAndAgain(t *testing.T) {
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
	const interval = time.Second // the client itself gives up a connection whose heartbeats are starved for 5
	v := newTown(t, discordtest.Options{Heartbeat: interval, HeartbeatWithin: patience})
	s, got := v.opened(func(s *discordgo.Session) { s.ShouldReconnectOnError = true })
	v.HalfOpen()
	s.RLock()
	heard := s.LastHeartbeatAck
	s.RUnlock()
	v.say("said into the void")
	v.wait("the client's close", func() bool { return v.Connections()[0].ClientClose != 0 })
	if late := time.Since(heard); late < 5*interval {
		t.Errorf("noticed after %v; the defect is that it takes 5 intervals of %v", late, interval)
	}
	if code := v.Connections()[0].ClientClose; code != 1000 {
		t.Errorf("closed with %d; the defect is 1000, which gives the session up", code)
	}
	v.wait("a new session", func() bool { all := v.Connections(); return len(all) > 1 && all[1].Identify })
	v.say("said after")
	v.expect(got, "said after") // and never what was said into the void
}

func TestCutByTheClientAHalfOpenConnectionIsResumed(t *testing.T) {
	v := newTown(t, discordtest.Options{})
	_, got := v.opened(func(s *discordgo.Session) { s.ShouldReconnectOnError = true })
	v.HalfOpen()
	v.say("said into the void")
	v.Cut()
	v.expect(got, "said into the void")
}

func TestHandlersRunOutOfOrderUnlessSynchronous(t *testing.T) {
	t.Parallel()
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

func TestDroppedEventsAreNeverNoticed(t *testing.T) {
	v := newTown(t, discordtest.Options{Heartbeat: time.Second, HeartbeatWithin: patience})
	_, got := v.opened(func(s *discordgo.Session) { s.ShouldReconnectOnError = true })
	v.Drop(3)
	for _, m := range []string{"1", "2", "3", "4"} {
		v.say(m)
	}
	v.expect(got, "4")
	v.wait("heartbeats", func() bool { return v.Connections()[0].Heartbeats > 2 })
	v.silence(got, 50*time.Millisecond)
	if n := len(v.Connections()); n != 1 {
		t.Errorf("%d connections; the defect is that nothing happens", n)
	}
}
