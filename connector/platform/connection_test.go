package platform

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"cairn/testkit/check"
	"cairn/testkit/loopback"
)

func TestLinkKeepsConnectedAndLogsIncidentsOnce(t *testing.T) {
	const long, short = time.Hour, time.Millisecond
	for claim, c := range map[string]struct {
		lasting   []time.Duration // the attempts; 0: it is not established
		incidents int
		pauses    time.Duration // at most
	}{
		"connections that work need no warning and no pause":    {[]time.Duration{long, long, long}, 0, 0},
		"nor does one that is lost soon":                        {[]time.Duration{short, long}, 0, time.Second},
		"several that are lost soon are an incident":            {[]time.Duration{short, short, short, long}, 1, 7 * time.Second},
		"so is one that is refused, until another proves right": {[]time.Duration{0, 0, short, long}, 1, 7 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log check.Buffer
			l := Link{
				Log:   slog.New(slog.NewTextHandler(&log, nil)),
				Pause: Backoff{First: time.Second, Max: time.Minute}, Steady: time.Minute,
			}
			var connected time.Duration
			start := time.Now()
			left := append(c.lasting, 0)
			lost := map[bool]error{true: errors.New("lost"), false: SetupError("wrong token")}
			err := l.Keep(t.Context(), func(ctx context.Context) error {
				lasts := left[0]
				left = left[1:]
				if lasts > 0 {
					l.Established()
				}
				check.Equal(t, claim+": connected", l.Connected(), lasts > 0)
				connected += lasts
				_ = Sleep(ctx, lasts)
				return lost[len(left) > 0]
			})
			check.Error(t, err, SetupError("wrong token"))
			check.Equal(t, claim+": warnings", strings.Count(log.String(), "connection_failed"), c.incidents)
			check.Equal(t, claim+": recoveries", strings.Count(log.String(), "connection_recovered"), c.incidents)
			paused := time.Since(start) - connected
			check.That(t, paused <= c.pauses, "%s: it paused for %v", claim, paused)
		})
	}
}

func TestLinkToASilentPlatform(t *testing.T) {
	type attempt struct {
		waits       time.Duration // for READY
		established bool
		lasts       time.Duration // after that
	}
	for claim, c := range map[string]struct {
		attempts            []attempt
		warnings, recovered int
	}{
		"a platform that answers in time is not worth a line":    {[]attempt{{9 * time.Second, true, time.Hour}}, 0, 0},
		"one that answers late is, and so is its answer":         {[]attempt{{11 * time.Second, true, time.Hour}}, 1, 1},
		"one that never answers is once, however often it tries": {[]attempt{{20 * time.Second, false, 0}, {20 * time.Second, false, 0}, {20 * time.Second, false, 0}, {0, true, time.Hour}}, 1, 1},
		"it is again after it has answered":                      {[]attempt{{20 * time.Second, false, 0}, {0, true, time.Hour}, {20 * time.Second, false, 0}}, 2, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log check.Buffer
			l := Link{
				Log: slog.New(slog.NewTextHandler(&log, nil)), Pause: Backoff{First: time.Second, Max: 8 * time.Second}, Steady: 5 * time.Second,
				Hint: "look at the firewall",
			}
			left := c.attempts
			err := l.Keep(t.Context(), func(context.Context) error {
				if len(left) == 0 {
					return SetupError("the end")
				}
				a := left[0]
				left = left[1:]
				l.Await("HELLO")
				time.Sleep(patience - time.Second)
				l.Await("READY")
				time.Sleep(a.waits)
				synctest.Wait()
				problem := map[bool]string{true: "waiting for READY: look at the firewall"}[a.waits > patience]
				if len(left) == len(c.attempts)-1 {
					check.Equal(t, claim+": the problem", l.Problem(), problem)
				}
				if a.established {
					l.Established()
					check.Equal(t, claim+": the problem of a connection", l.Problem(), "")
				}
				time.Sleep(a.lasts)
				return ErrSilent
			})
			check.Error(t, err, SetupError("the end"))
			check.Equal(t, claim+": lines", strings.Count(log.String(), "level=WARN"), c.warnings)
			check.Equal(t, claim+": lines of the silence", strings.Count(log.String(), "level=WARN msg=connection_silent waits_for=READY after=10s hint=\"look at the firewall\""), c.warnings)
			check.Equal(t, claim+": recoveries", strings.Count(log.String(), "connection_recovered"), c.recovered)
		})
	}
}

// While a connection is not tried, the platform cannot be late; a refused connection is another problem.
func TestLinkThatIsRefusedIsNotSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log check.Buffer
		l := Link{Log: slog.New(slog.NewTextHandler(&log, nil)), Reason: func(error) string { return "" }, Steady: time.Second}
		tries := 0
		_ = l.Keep(t.Context(), func(context.Context) error {
			tries++
			switch tries {
			case 1:
				l.Await("READY")
				time.Sleep(time.Minute)
				return ErrSilent
			case 2:
				check.Equal(t, "the problem", l.Problem(), "waiting for READY: ")
				l.Await("READY")
				return errors.New("connection refused")
			case 3:
				check.Equal(t, "the problem", l.Problem(), "")
				l.Await("")
				time.Sleep(time.Minute) // a pause that the platform demands
			}
			return SetupError("the end")
		})
		check.Equal(t, "lines of the silence", strings.Count(log.String(), "level=WARN msg=connection_silent"), 1)
		check.Equal(t, "lines of the refusal", strings.Count(log.String(), "level=WARN msg=connection_failed"), 1)
	})
}

// piped tests a socket to a server that does this, on a clock of its own.
func piped(t *testing.T, silence time.Duration, do func(ws *websocket.Conn), test func(s *Socket)) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		s := NewSocket(loopback.Pipe(do), silence)
		test(s)
		s.Close()
		time.Sleep(time.Hour) // until the server has ended
	})
}

// listen answers PINGs until the connection ends.
func listen(ws *websocket.Conn) { _, _, _ = ws.ReadMessage() }

func TestASocketReadsAndWrites(t *testing.T) {
	piped(t, time.Minute, func(ws *websocket.Conn) {
		var text string
		if ws.ReadJSON(&text) == nil {
			_ = ws.WriteJSON(text + " back")
		}
		_ = ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(4004, ""), time.Now().Add(time.Second))
		listen(ws)
	}, func(s *Socket) {
		check.NoError(t, s.Write("hello"))
		check.Equal(t, "the message", string(<-s.messages), "\"hello back\"\n")
		_, open := <-s.messages
		var closed *websocket.CloseError
		check.That(t, errors.As(s.err, &closed) && closed.Code == 4004 && !open, "it ended with %v", s.err)
	})
}

func TestASocketThatIsClosedDropsWhatWasNotTaken(t *testing.T) {
	ended := make(chan error, 1)
	piped(t, time.Minute, func(ws *websocket.Conn) {
		time.Sleep(time.Second)
		for range 5 {
			_ = ws.WriteJSON("news")
		}
		_, _, err := ws.ReadMessage()
		ended <- err
	}, func(s *Socket) {
		before := time.Now()
		<-s.messages
		synctest.Wait() // until the time is noted
		check.Equal(t, "it last read after", s.LastRead().Sub(before), time.Second)
		s.Goodbye()
		s.Close()
		s.Close()
		check.That(t, s.Write("late") != nil, "a closed socket writes")
	})
	err := <-ended
	check.That(t, websocket.IsCloseError(err, websocket.CloseNormalClosure), "the server saw %v", err)
}

func TestASocketThatCannotWriteEnds(t *testing.T) {
	piped(t, time.Minute, func(*websocket.Conn) { time.Sleep(time.Minute) }, func(s *Socket) { // the server reads nothing
		start := time.Now()
		check.That(t, s.Write("hello") != nil, "it wrote")
		<-s.messages
		check.Equal(t, "it ended after", time.Since(start), writeTimeout)
	})
}

func TestASocketThatIsRefused(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer server.Close()
	forbidden := "ws" + strings.TrimPrefix(server.URL, "http")
	for url, want := range map[string]string{forbidden: "HTTP 403", "ws://127.0.0.1:1": "refused"} {
		check.ErrorContains(t, "the error", check.ErrorOf(Dial(t.Context(), url, nil, time.Second)), want)
	}
}

func TestASocketOnWhichNothingComesEnds(t *testing.T) {
	for claim, c := range map[string]struct {
		expect, after time.Duration
		pings         bool // the bot, else the server
	}{
		"before it is told what to expect":     {0, time.Minute, true},
		"and after, unless PINGs are answered": {10 * time.Second, 15 * time.Second, true},
		"or the server sends some":             {10 * time.Second, 15 * time.Second, false},
	} {
		piped(t, time.Minute, func(ws *websocket.Conn) {
			if !c.pings {
				time.Sleep(5 * time.Second)
				_ = ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(time.Second))
			}
			listen(ws)
		}, func(s *Socket) {
			start := time.Now()
			if c.expect > 0 {
				s.Expect(c.expect)
			}
			time.Sleep(5 * time.Second)
			if c.pings {
				s.Ping()
			}
			<-s.messages
			check.Error(t, s.err, ErrSilent)
			check.Equal(t, claim+": it ended after", time.Since(start), c.after)
		})
	}
}

func TestASocketWhoseMessagesAreNotTakenLives(t *testing.T) {
	const all = readAhead + 10
	piped(t, time.Minute, func(ws *websocket.Conn) {
		for range all {
			_ = ws.WriteJSON("news")
		}
		listen(ws)
	}, func(s *Socket) {
		s.Expect(time.Second)
		time.Sleep(time.Minute) // as while a disk is slow
		for i := range all {
			_, open := <-s.messages
			check.Require(t, open, "it ended after %d messages: %v", i, s.err)
		}
	})
}
