// Sockets of Socket Mode, one after the other, each from dialing to its end. slack-go's client would
// drop events while a socket ends, reconnect by itself, and hide PINGs and what it cannot decode.

package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/slack-go/slack/socketmode"

	"cairn/internal/platform"
)

// errLost is the end of a socket by Slack, the network or silence.
var errLost = errors.New("the socket was lost")

// socket is one connection of Socket Mode, from dialing to its end. Only the goroutine in run uses
// it, but for acknowledgements.
type socket struct {
	s       *Slack
	silence time.Duration // after which it counts as dead
	ws      *platform.Socket

	started  time.Time
	lastRead time.Time // when something was last read
	greeted  bool      // Slack said hello
	silent   bool      // it ended because nothing was received
}

// run serves the socket until it ends, and returns the reason. connected is called once it has been
// up for a while.
func (k *socket) run(ctx context.Context, connected func()) error {
	if err := k.dial(ctx); err != nil {
		return explainSocketError(err)
	}
	defer k.ws.Close()
	defer func() { k.lastRead = k.ws.LastRead() }()
	watch := time.NewTicker(k.silence / 4)
	defer watch.Stop()
	steady := time.NewTimer(k.s.times.steady)
	defer steady.Stop()
	hello := time.NewTimer(k.s.times.hello)
	defer hello.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case message, ok := <-k.ws.Messages:
			if !ok {
				return fmt.Errorf("%w: %w", errLost, k.ws.Err())
			}
			if err := k.receive(ctx, message); err != nil {
				return err
			}
		case <-watch.C:
			if k.greeted && time.Since(k.ws.LastRead()) > k.silence {
				k.silent = true
				return fmt.Errorf("%w: nothing was received for %v", errLost, k.silence)
			}
		case <-hello.C:
			if !k.greeted {
				return fmt.Errorf("%w: no hello came within %v", errLost, k.s.times.hello)
			}
		case <-steady.C:
			if k.greeted {
				connected()
			} else { // a late hello must be reported too
				steady.Reset(k.s.times.steady)
			}
		}
	}
}

func (k *socket) dial(ctx context.Context) error {
	_, address, err := k.s.api.once.StartSocketModeContext(ctx)
	if err != nil {
		return err
	}
	k.ws, _, err = platform.Dial(ctx, address, http.Header{"Origin": {"https://api.slack.com"}}, callTime) // as slack-go does
	return err
}

// receive handles a message of the socket; an error ends it.
func (k *socket) receive(ctx context.Context, message []byte) error {
	var r socketmode.Request
	if json.Unmarshal(message, &r) != nil {
		return nil // what is no envelope wants no acknowledgement
	}
	switch r.Type {
	case socketmode.RequestTypeHello:
		if err := k.s.handleHello(ctx); err != nil {
			return err
		}
		k.greeted = true
		k.s.socketed.Store(true)
	case socketmode.RequestTypeDisconnect:
		return errLost
	case socketmode.RequestTypeEventsAPI:
		k.s.takeEvent(ctx, r.Payload, func() { k.acknowledge(r) })
	case socketmode.RequestTypeSlashCommands:
		k.acknowledge(r)
		k.s.takeCommand(ctx, r.Payload)
	case socketmode.RequestTypeInteractive:
		k.acknowledge(r)
		k.s.takePress(ctx, r.Payload)
	default:
		k.acknowledge(r) // or it would come again
	}
	return nil
}

func (k *socket) acknowledge(r socketmode.Request) {
	if r.EnvelopeID == "" {
		return
	}
	if err := k.ws.Write(socketmode.Response{EnvelopeID: r.EnvelopeID}); err != nil {
		k.s.log.Debug("acknowledge_failed", "error", err)
	}
}

// explainSocketError adds what to do about an error of Socket Mode, if that is known.
func explainSocketError(err error) error {
	if err == nil {
		return errLost
	}
	if err = explainAppError(platform.WithoutURL(err)); refusedForGood(err) {
		return fmt.Errorf("socket mode is refused (%w): %s", err, clickSocketMode)
	}
	return err
}

// patience returns how long the next socket may be silent. Slack sends a PING every few seconds; a
// compatible server may send none, so the limit doubles after each silent socket.
func (k *socket) patience(now, least time.Duration) time.Duration {
	switch {
	case k.silent:
		return min(2*now, 20*least)
	case k.lastRead.Sub(k.started) > now:
		return least
	}
	return now
}

// supervise keeps a socket open until ctx is done or an error that only a person can fix.
func (s *Slack) supervise(ctx context.Context) error {
	down := platform.Incident{Log: s.log, Failed: "connection_failed", Recovered: "connection_recovered", Reason: codeOf}
	silence := s.times.silence
	pause := s.newBackoff()
	for {
		started := time.Now()
		socket := &socket{s: s, silence: silence, started: started}
		err := socket.run(ctx, down.End)
		s.socketed.Store(false)
		var broken setupError
		if errors.As(err, &broken) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if socket.greeted {
			s.lastRead = socket.lastRead
		}
		silence = socket.patience(silence, s.times.silence)
		if socket.greeted && time.Since(started) >= s.times.steady {
			s.log.Debug("connection_lost", "error", err)
			pause.Reset()
			continue
		}
		if !socket.greeted || pause.Grown() { // a socket may be lost once
			down.Begin(err)
		}
		if err := sleepAfter(ctx, err, pause.Next()); err != nil {
			return err
		}
	}
}
