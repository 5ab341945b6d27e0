// Sockets of Socket Mode, one after another. slack-go's client would drop events while a socket
// ends, reconnect by itself, and hide PINGs and messages that it cannot decode.

package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/slack-go/slack/socketmode"

	"cairn/internal/platform"
)

var errReplaced = errors.New("Slack asks for another socket")

const (
	drainTime    = 30 * time.Second // how long a socket is read after Slack asked for another one; Slack closes it after some 10 s
	helloTimeout = 45 * time.Second // how long a new socket waits for hello
)

// socket is one connection of Socket Mode. Apart from acknowledgements, only the goroutine in run uses it.
type socket struct {
	s      *Slack
	ws     *platform.Socket
	before *socket // the one that it replaces; nil: none

	greeted  bool        // hello was received
	draining atomic.Bool // see drain
}

// run serves the socket until it ends, and returns the reason.
func (k *socket) run(ctx context.Context) (err error) {
	_, address, err := k.s.api.once.StartSocketModeContext(ctx)
	if err == nil {
		k.ws, err = platform.Dial(ctx, address, http.Header{"Origin": {"https://api.slack.com"}}, helloTimeout) // as slack-go does
	}
	if err != nil {
		return explainSocketError(err)
	}
	defer func() {
		if k.greeted {
			k.s.lastRead = k.ws.LastRead()
		}
		k.draining.Store(errors.Is(err, errReplaced))
		if !k.draining.Load() || !k.s.Work.Start(k.drain) {
			k.ws.Close()
		}
	}()
	ping := time.NewTicker(k.s.times.silence / 3) // a compatible server may send none itself
	defer ping.Stop()
	return k.ws.Serve(ctx, ping.C, k.ws.Ping, func(message []byte) error { return k.receive(ctx, message) })
}

// drain handles what still arrives over a socket until it ends: Slack does not repeat commands.
func (k *socket) drain(ctx context.Context) {
	defer k.ws.Close()
	defer k.draining.Store(false)
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	_ = k.ws.Serve(ctx, nil, nil, func(message []byte) error {
		_ = k.receive(ctx, message) // asked once more to end, it ends by itself
		return nil
	})
}

// receive handles a message. The socket must end after an error.
func (k *socket) receive(ctx context.Context, message []byte) error {
	var r socketmode.Request
	if json.Unmarshal(message, &r) != nil {
		return nil // not an envelope, so it needs no acknowledgement
	}
	switch r.Type {
	case socketmode.RequestTypeHello:
		if before := k.before; before == nil || !before.greeted || !before.draining.Load() { // otherwise nothing was missed in between
			if err := k.s.handleHello(ctx); err != nil {
				return err
			}
		}
		k.greeted = true
		k.ws.Expect(k.s.times.silence)
		k.s.Link.Established()
	case socketmode.RequestTypeDisconnect:
		return errReplaced
	case socketmode.RequestTypeEventsAPI:
		k.s.queueEvent(r.Payload, func() { k.acknowledge(r) })
	case socketmode.RequestTypeSlashCommands:
		k.acknowledge(r)
		k.s.onSlashCommand(r.Payload)
	case socketmode.RequestTypeInteractive:
		k.acknowledge(r)
		k.s.onButton(r.Payload)
	default:
		k.acknowledge(r) // otherwise Slack would repeat it
	}
	return nil
}

func (k *socket) acknowledge(r socketmode.Request) {
	if r.EnvelopeID == "" {
		return
	}
	if err := k.ws.Write(socketmode.Response{EnvelopeID: r.EnvelopeID}); err != nil {
		k.s.Log.Debug("acknowledge_failed", "error", err)
	}
}

// explainSocketError adds instructions to an error of Socket Mode, if there are any.
func explainSocketError(err error) error {
	err = platform.WithoutURL(err)
	switch code := codeOf(err); {
	case code == "missing_scope", slices.Contains(invalidTokenCodes, code):
		return platform.SetupError(fmt.Sprintf("Slack rejects the app-level token (%s): %s", code, clickAppToken))
	case isPermanent(err):
		return fmt.Errorf("socket mode is refused (%w): %s", err, clickSocketMode)
	}
	return err
}

// supervise keeps a socket open until ctx is done, or a person has to fix something. First it finds out who the bot is.
func (s *Slack) supervise(ctx context.Context) error {
	var before *socket
	return s.Link.Keep(ctx, func(ctx context.Context) error {
		if before == nil {
			if err := s.probeBot(ctx); err != nil {
				return err
			}
			s.Work.Open(ctx)
			s.Work.Start(s.backfillAll)
		}
		next := &socket{s: s, before: before}
		before = next
		defer func() { next.before = nil }()
		err := next.run(s.Work.Context())
		if broken, ok := errors.AsType[platform.SetupError](context.Cause(s.Work.Context())); ok { // see stopIfSetupError
			return broken
		}
		return err
	})
}
