// Sockets of Socket Mode, one after another, and their events, which are queued by channel and acknowledged when they are
// stored. slack-go's client would drop events while a socket ends, reconnect by itself, and hide PINGs and messages that it
// cannot decode.

package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	slackgo "github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"

	"cairn/channel"
	"cairn/connector/platform"
)

var errReplaced = errors.New("Slack asks for another socket")

const (
	drainTime    = 30 * time.Second // how long a socket is read after Slack asked for another one; Slack closes it after some 10 s
	helloTimeout = 45 * time.Second // how long a new socket waits for hello
	maxPause     = 8 * time.Second  // between two attempts to get a socket: people wait, and Slack's rate limits are obeyed apart from this
)

// socket is one connection of Socket Mode. Apart from acknowledgements, only the goroutine in run uses it.
type socket struct {
	s       *Slack
	ws      *platform.Socket
	greeted bool // hello was received
}

// run serves the socket until it ends, and returns the reason.
func (k *socket) run(ctx context.Context) (err error) {
	link := &k.s.Link
	_, address, err := k.s.api.write.StartSocketModeContext(link.AwaitAnswers(ctx, "the answer to apps.connections.open"))
	if err == nil {
		link.Await("the WebSocket of Socket Mode")
		k.ws, err = platform.Dial(ctx, address, http.Header{"Origin": {"https://api.slack.com"}}, helloTimeout) // as slack-go does
	}
	if err != nil {
		k.s.draining.Store(false) // nothing serves what is missed from now on
		return explainSocketError(err)
	}
	defer func() {
		if k.greeted {
			k.s.lastRead = k.s.Clock.At(k.ws.LastRead())
		}
		replaced := errors.Is(err, errReplaced)
		k.s.draining.Store(replaced && k.greeted)
		if !replaced || !k.s.Work.Start(k.drain) {
			k.ws.Close()
		}
	}()
	link.Await("hello of Socket Mode")
	ping := time.NewTicker(k.s.times.silence / 3) // a compatible server may send none itself
	defer ping.Stop()
	return k.ws.Serve(ctx, ping.C, k.ws.Ping, func(message []byte) error { return k.receive(ctx, message) })
}

// drain handles what still arrives over a socket until it ends: Slack does not repeat commands.
func (k *socket) drain(ctx context.Context) {
	defer k.ws.Close()
	defer k.s.draining.Store(false)
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
	k.s.Heard()
	switch r.Type {
	case socketmode.RequestTypeHello:
		if !k.s.draining.Load() { // otherwise nothing was missed in between
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
	if r.EnvelopeID != "" {
		_ = k.ws.Write(socketmode.Response{EnvelopeID: r.EnvelopeID}) // without it Slack repeats what is no command
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
	return s.Link.Keep(ctx, func(ctx context.Context) error {
		if s.self.user == "" {
			if err := s.probeBot(s.Link.AwaitAnswers(ctx, "the answer to auth.test")); err != nil {
				return err
			}
			s.Work.Open(ctx)
		}
		connection, done := s.Link.Connection(s.Work.Ctx)
		err := (&socket{s: s}).run(connection)
		done()
		if broken, ok := errors.AsType[platform.SetupError](context.Cause(s.Work.Ctx)); ok { // see stopIfSetupError
			return broken
		}
		return err
	})
}

// queueEvent queues an event. ack is called when the event is on disk, or there is nothing to store.
func (s *Slack) queueEvent(payload json.RawMessage, ack func()) {
	e := readEvent(payload)
	e.ack = ack
	if e.dropped > 0 {
		s.noteDropped(time.Unix(e.dropped, 0))
	}
	s.notePermissions(e.message)
	if e.Channel != "" && e.Type == "agent_session_stopped" {
		s.onStop(e.message)
	}
	if slices.Contains(renames, e.Type) {
		s.noteRename(payload)
	}
	if e.Channel == "" || e.Type != slackgo.TYPE_MESSAGE && e.Type != "app_mention" {
		ack()
		return
	}
	s.queue.Add(e.Channel, e)
}

// handle handles queued events of one channel in order, and acknowledges them.
func (s *Slack) handle(batch []event) {
	ctx := s.Work.Ctx
	for len(batch) > 0 {
		n, store := s.next(ctx, batch)
		if store == nil || s.Store(ctx, store) {
			for _, e := range batch[:n] {
				e.ack()
			}
		}
		batch = batch[n:]
	}
}

// next returns how to store the first event, and with it the messages of the same conversation that follow: a burst would be
// acknowledged too late if each was stored alone. n is the number of these events; store is nil if there is nothing to store.
func (s *Slack) next(ctx context.Context, batch []event) (n int, store func() error) {
	first := batch[0]
	place := s.placeOf(first.Channel, first.message)
	const changed, deleted = slackgo.MsgSubTypeMessageChanged, slackgo.MsgSubTypeMessageDeleted
	switch {
	case first.SubType == changed:
		return 1, s.edited(ctx, first.message)
	case first.SubType == deleted && first.DeletedTS != "":
		gone := message{}
		if first.Before != nil {
			gone = *first.Before
		}
		gone.TS = first.DeletedTS
		return 1, s.deletion(ctx, first.Channel, gone)
	case first.SubType == deleted:
		return 1, nil
	}
	var messages []channel.Inbound
	for _, e := range batch {
		if e.SubType == changed || e.SubType == deleted || s.placeOf(e.Channel, e.message) != place {
			break
		}
		m, there := s.current(e.Channel, e.message)
		in, relevant := s.inbound(place, m)
		relevant = relevant && there
		if relevant && platform.IsCommand(in) {
			if n > 0 {
				break
			}
			c := typed{place: place, line: in.Text, who: channel.Person{ID: in.AuthorID, Name: in.Author}, ran: make(chan struct{})}
			s.start(place.Channel+"/"+in.ID, c, s.asMessage(c, in.ID)) // it comes as a message and as a mention
			return 1, nil
		}
		if relevant {
			in.Audience = audience(e.Kind, place)
			if !in.Incomplete { // otherwise Complete finds out the names
				in.Label = s.label(place, in.Author)
			}
			messages = append(messages, in)
		}
		n++
	}
	if len(messages) == 0 {
		return n, nil
	}
	return n, func() error { return s.Deliver(ctx, place.String(), messages...) }
}

// edited returns how to store an edit; nil if it is the bot's own, or changes neither text nor files, as a link preview.
func (s *Slack) edited(ctx context.Context, m message) (store func() error) {
	now := m.Now
	before := m.Before
	switch {
	case now == nil || now.TS == "":
		return nil
	case now.SubType == "tombstone":
		return s.deletion(ctx, m.Channel, *now)
	case now.isHuddle(): // it has ended; what was before says so, too
	case before != nil && withForwarded(*before) == withForwarded(*now) && sameFiles(before.Files, now.Files) || before == nil && now.Edited == nil:
		return nil
	}
	place := s.placeOf(m.Channel, *now)
	in, relevant := s.inbound(place, *now)
	if !relevant {
		return nil
	}
	in.Time = timeOf(m.TS)
	now.Edited = &struct{ TS string }{m.TS} // Slack's has whole seconds, but someone may edit twice within one
	latest, _ := s.current(m.Channel, *now)
	encoded, _ := json.Marshal(latest) // what was decoded can be encoded
	s.edits.Set(m.Channel+"/"+now.TS, string(encoded))
	// Complete is not called for edits, so names are looked up here; nearly all are cached since the original message.
	limited, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	in.Text = s.resolveNames(limited, in.Text)
	return func() error { return s.Hub.Edit(ctx, place.String(), in) }
}

// sameFiles compares the files of two versions of a message; a deleted one gets another mode.
func sameFiles(a, b []file) bool {
	return slices.EqualFunc(a, b, func(a, b file) bool { return a.ID == b.ID && a.Mode == b.Mode })
}

// current returns a message as its latest edit left it, and whether it was not deleted: an event may be late, because Slack does not
// guarantee the order, and so may a page of the history that was read before it was requested.
func (s *Slack) current(channelID string, m message) (_ message, there bool) {
	key := channelID + "/" + m.TS
	now := message{}
	latest, _ := s.edits.Find(key) // empty: it was not edited
	if json.Unmarshal([]byte(latest), &now) == nil && (m.Edited == nil || !timeOf(m.Edited.TS).After(timeOf(now.Edited.TS))) {
		m.Text = now.Text
		m.Blocks = now.Blocks
		m.Attachments = now.Attachments
		m.Files = now.Files
		m.Room = now.Room
		m.Edited = now.Edited
	}
	_, gone := s.deletions.Find(key)
	return m, !gone
}

// deletion caches a deletion, see current.
func (s *Slack) deletion(ctx context.Context, channelID string, m message) (store func() error) {
	key := channelID + "/" + m.TS
	s.deletions.Set(key, "")
	s.edits.Set(key, "") // not even in memory
	name := s.placeOf(channelID, m).String()
	return func() error { return s.Hub.Delete(ctx, name, m.TS) }
}
