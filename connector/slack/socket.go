// Sockets of Socket Mode, one after another. slack-go's client would drop events while a socket ends, reconnect by itself, and
// hide PINGs and messages that it cannot decode.

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

	"cairn/connector/platform"
)

var errReplaced = errors.New("Slack asks for another socket")

const (
	drainTime    = 30 * time.Second // how long a socket is read after Slack asked for another one; Slack closes it after some 10 s
	helloTimeout = 45 * time.Second // how long a new socket waits for hello
)

// sockets has the parts that handle what a socket receives.
type sockets struct {
	base     *platform.Base
	api      *api
	times    *times
	backfill *backfill
	events   *events
	commands *commands
	home     *home
	draining atomic.Bool // an earlier socket is still read, see socket.drain
}

// socket is one connection of Socket Mode. Apart from acknowledgements, only the goroutine in serve uses it.
type socket struct {
	*sockets
	ws      *platform.Socket
	greeted bool // hello was received
}

// serve opens a socket and serves it until it ends. It returns the reason.
func (s *sockets) serve(ctx context.Context) (err error) {
	k := &socket{sockets: s}
	link := &k.base.Link
	_, address, err := k.api.write.StartSocketModeContext(link.AwaitAnswers(ctx, "the answer to apps.connections.open"))
	if err == nil {
		link.Await("the WebSocket of Socket Mode")
		k.ws, err = platform.Dial(ctx, address, http.Header{"Origin": {"https://api.slack.com"}}, helloTimeout) // as slack-go does
	}
	if err != nil {
		k.draining.Store(false) // nothing serves what is missed from now on
		return explainSocketError(err)
	}
	defer func() {
		if k.greeted {
			k.backfill.noteRead(k.base.Clock.At(k.ws.LastRead()))
		}
		drains := k.greeted && errors.Is(err, errReplaced) // before hello no gap is noted
		k.draining.Store(drains)
		if !drains || !k.base.Work.Start(k.drain) {
			k.ws.Close()
		}
	}()
	link.Await("hello of Socket Mode")
	ping := time.NewTicker(k.times.silence / 3) // a compatible server may send none itself
	defer ping.Stop()
	return k.ws.Serve(ctx, ping.C, k.ws.Ping, func(message []byte) error { return k.handle(ctx, message) })
}

// drain handles what still arrives over a socket until it ends: Slack does not repeat commands.
func (k *socket) drain(ctx context.Context) {
	defer k.ws.Close()
	defer k.draining.Store(false)
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	_ = k.ws.Serve(ctx, nil, nil, func(message []byte) error {
		_ = k.handle(ctx, message) // a second request to end changes nothing
		return nil
	})
}

// handle handles a message. The socket must end after an error.
func (k *socket) handle(ctx context.Context, message []byte) (err error) {
	k.base.Work.Guard(func() { err = k.receive(ctx, message) })
	return err
}

// receive passes a message on.
func (k *socket) receive(ctx context.Context, message []byte) error {
	var r struct {
		socketmode.Request
		Connections int `json:"num_connections"` // of hello
	}
	if json.Unmarshal(message, &r) != nil {
		return nil // not an envelope, so it needs no acknowledgement
	}
	k.base.Link.NoteEvent()
	switch r.Type {
	case socketmode.RequestTypeHello:
		if !k.draining.Load() { // otherwise nothing was missed in between
			if err := k.backfill.onHello(ctx, r.Connections); err != nil {
				return err
			}
		}
		k.greeted = true
		k.ws.Expect(k.times.silence)
		k.base.Link.Established()
	case socketmode.RequestTypeDisconnect:
		return errReplaced
	case socketmode.RequestTypeEventsAPI:
		k.events.add(r.Payload, func() { k.acknowledge(r.EnvelopeID) })
	case socketmode.RequestTypeSlashCommands:
		k.acknowledge(r.EnvelopeID)
		k.commands.onSlashCommand(r.Payload)
	case socketmode.RequestTypeInteractive:
		if k.home.take(r.Payload, func(response any) { k.respond(r.EnvelopeID, response) }) {
			break
		}
		k.acknowledge(r.EnvelopeID)
		k.commands.onButton(r.Payload)
	default:
		k.acknowledge(r.EnvelopeID) // otherwise Slack would repeat it
	}
	return nil
}

func (k *socket) acknowledge(envelope string) { k.respond(envelope, nil) }

// respond acknowledges an envelope with a response; nil: there is none.
func (k *socket) respond(envelope string, response any) {
	if envelope != "" {
		_ = k.ws.Write(socketmode.Response{EnvelopeID: envelope, Payload: response}) // without it Slack repeats what is no command
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
