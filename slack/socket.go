// Sockets of Socket Mode, one after the other, each from dialing to its end.

package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	slackgo "github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"

	"cairn/internal/platform"
)

// errLost is the end of a socket by Slack, the network or silence.
var errLost = errors.New("the socket was lost")

// socket is one connection of Socket Mode, from dialing to its end.
type socket struct {
	s       *Slack
	silence time.Duration // after which it counts as dead

	outer         context.Context // what the socket brought outlives it
	client        *socketmode.Client
	lose          context.CancelCauseFunc
	started       time.Time
	lastRead      atomic.Int64 // when something was last read, in nanoseconds since started
	silent        bool         // it ended because nothing was received
	helloReceived atomic.Bool  // Slack said hello
}

func (s *Slack) newSocket(silence time.Duration) *socket {
	k := &socket{s: s, silence: silence, started: time.Now()}
	dialer := &websocket.Dialer{
		Proxy: http.ProxyFromEnvironment, HandshakeTimeout: callTime,
		WriteBufferSize: 32 << 10, // Slack does not join the fragments of a longer acknowledgement
		NetDialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &watchedConn{Conn: conn, socket: k}, nil
		},
	}
	k.client = socketmode.New(s.api.write, socketmode.OptionDialer(dialer), socketmode.OptionLog(log.New(io.Discard, "", 0)),
		socketmode.OptionReadLimit(platform.MaxAnswer), socketmode.OptionPingInterval(24*time.Hour)) // a compatible server may send no PING: see watch
	return k
}

// watchedConn reports to its socket each read, and the end of the connection.
type watchedConn struct {
	net.Conn
	socket *socket
}

func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.socket.lastRead.Store(int64(time.Since(c.socket.started)))
	}
	if err != nil {
		// Before slack-go hears of it: from then on it may drop an event and hand on the
		// next one. Where a close frame or TLS ends the socket, that is left to overlap.
		c.socket.ended()
	}
	return n, err
}

// Close ends the socket before slack-go's client reconnects, which is up to supervise.
func (c *watchedConn) Close() error {
	c.socket.ended()
	return c.Conn.Close()
}

// ended ends a socket whose connection has ended. If Slack never said hello, slack-go reports the
// reason.
func (k *socket) ended() {
	if k.helloReceived.Load() {
		k.lose(errLost)
	}
}

// run serves the socket until it ends, and returns the reason. connected is called once it has been
// up for a while.
func (k *socket) run(ctx context.Context, connected func()) error {
	k.outer = ctx
	ctx, k.lose = context.WithCancelCause(ctx)
	defer k.lose(nil)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		k.lose(explainSocketError(k.client.RunContext(ctx)))
	}()
	watch := time.NewTicker(k.silence / 4)
	defer watch.Stop()
	steady := time.NewTimer(k.s.times.steady)
	defer steady.Stop()
	hello := time.NewTimer(k.s.times.hello)
	defer hello.Stop()
	for {
		select {
		case <-ended:
			return context.Cause(ctx)
		case <-watch.C:
			if k.helloReceived.Load() && time.Since(k.started)-time.Duration(k.lastRead.Load()) > k.silence {
				k.silent = true
				k.lose(fmt.Errorf("%w: nothing was received for %v", errLost, k.silence))
			}
		case <-hello.C:
			if !k.helloReceived.Load() { // slack-go would wait for ever
				k.lose(fmt.Errorf("%w: no hello came within %v", errLost, k.s.times.hello))
			}
		case <-steady.C:
			if k.helloReceived.Load() {
				connected()
			} else { // a late hello must be reported too
				steady.Reset(k.s.times.steady)
			}
		case e := <-k.client.Events:
			if ctx.Err() == nil {
				k.event(ctx, e)
			}
		}
	}
}

// event handles an event of slack-go's client.
func (k *socket) event(ctx context.Context, e socketmode.Event) {
	switch e.Type {
	case socketmode.EventTypeConnecting:
		if c, ok := e.Data.(*slackgo.ConnectingEvent); ok && c.ConnectionCount > 0 {
			k.lose(errLost) // it ended before it began
		}
	case socketmode.EventTypeConnectionError:
		if c, ok := e.Data.(*slackgo.ConnectionErrorEvent); ok {
			k.lose(explainSocketError(c.ErrorObj))
		}
	case socketmode.EventTypeHello:
		if err := k.s.handleHello(ctx); err != nil {
			k.lose(err)
			return
		}
		k.helloReceived.Store(true)
		k.s.socketed.Store(true)
	case socketmode.EventTypeErrorBadMessage:
		if bad, ok := e.Data.(*socketmode.ErrorBadMessage); ok {
			var r socketmode.Request
			if json.Unmarshal(bad.Message, &r) == nil { // what is no envelope wants no acknowledgement
				k.request(ctx, r)
			}
		}
	case socketmode.EventTypeEventsAPI, socketmode.EventTypeInteractive, socketmode.EventTypeSlashCommand:
		if e.Request != nil {
			k.request(ctx, *e.Request)
		}
	}
}

// explainSocketError adds what to do about an error of Socket Mode, if that is known.
func explainSocketError(err error) error {
	if err == nil {
		return errLost
	}
	if err = explainAppError(withoutURL(err)); refusedForGood(err) {
		return fmt.Errorf("socket mode is refused (%w): %s", err, clickSocketMode)
	}
	return err
}

// request handles an envelope. It reads the payload itself, because slack-go's types reject
// messages in an unknown form.
func (k *socket) request(ctx context.Context, r socketmode.Request) {
	ack := func() {
		if r.EnvelopeID == "" {
			return
		}
		ctx, cancel := context.WithTimeout(ctx, k.s.times.ack)
		defer cancel()
		if err := k.client.AckCtx(ctx, r.EnvelopeID, nil); err != nil {
			k.s.log.Debug("acknowledge_failed", "error", err)
		}
	}
	switch r.Type {
	case socketmode.RequestTypeEventsAPI:
		k.s.takeEvent(k.outer, r.Payload, ack)
	case socketmode.RequestTypeSlashCommands:
		ack()
		k.s.takeCommand(k.outer, r.Payload)
	case socketmode.RequestTypeInteractive:
		ack()
		k.s.takePress(k.outer, r.Payload)
	default:
		ack() // or it would come again
	}
}

// patience returns how long the next socket may be silent. Slack sends a PING every few seconds; a
// compatible server may send none, so the limit doubles after each silent socket.
func (k *socket) patience(now, least time.Duration) time.Duration {
	switch {
	case k.silent:
		return min(2*now, 20*least)
	case time.Duration(k.lastRead.Load()) > now:
		return least
	}
	return now
}

// lastReceived returns when something was last read.
func (k *socket) lastReceived() time.Time { return k.started.Add(time.Duration(k.lastRead.Load())) }

// supervise keeps a socket open until ctx is done or an error that only a person can fix.
// slack-go's client would reconnect by itself, at once; so each socket gets a client of its own,
// and this loop alone decides when to reconnect.
func (s *Slack) supervise(ctx context.Context) error {
	down := platform.Incident{Log: s.log, Failed: "connection_failed", Recovered: "connection_recovered", Reason: codeOf}
	silence := s.times.silence
	pause := s.newBackoff()
	for {
		started := time.Now()
		socket := s.newSocket(silence)
		err := socket.run(ctx, down.End)
		s.socketed.Store(false)
		var broken setupError
		if errors.As(err, &broken) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if socket.helloReceived.Load() {
			s.lastRead = socket.lastReceived()
		}
		silence = socket.patience(silence, s.times.silence)
		if socket.helloReceived.Load() && time.Since(started) >= s.times.steady {
			s.log.Debug("connection_lost", "error", err)
			pause.Reset()
			continue
		}
		if !socket.helloReceived.Load() || pause.Grown() { // a socket may be lost once
			down.Begin(err)
		}
		if err := sleepAfter(ctx, err, pause.Next()); err != nil {
			return err
		}
	}
}
