// A terminal at a bot that another process runs: the stream of events, and what it shows of them.

package web

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"cairn/channel"
	"cairn/connector/platform"
	"cairn/store"
)

// ErrLost says that the bot of another process has ended, or does not answer any more. What was on its way may have been done.
var ErrLost = errors.New("the bot has ended or does not answer")

// Attachment is what a terminal knows of its conversations, whichever process runs the bot. It is safe for concurrent use.
type Attachment struct {
	local   Local
	attends string // where somebody answers questions: see Events.attended

	mine platform.Cache // messages of this terminal, by messageKey

	mu         sync.Mutex                // guards everything below
	last       string                    // id of the newest event
	rows       map[string]int64          // of the newest piece that was handled, by conversation; only those in which this terminal talks
	unaccepted map[string]postedMessage  // of which no place is known yet, by messageKey
	spoken     map[string]spoken         // by conversation
	writers    map[string]channel.Writer // of the replies that are being written, by conversation
}

// postedMessage is a message that was passed on.
type postedMessage struct {
	conversation string
	message      channel.Inbound
}

// spoken is what the bot last said of a conversation.
type spoken struct{ language, silent string }

// NewAttachment returns what a terminal knows at its start. It answers questions in the conversation attends; "terminal:": in all.
func NewAttachment(local Local, attends string) *Attachment {
	return &Attachment{
		local: local, attends: attends, rows: make(map[string]int64), unaccepted: make(map[string]postedMessage),
		spoken: make(map[string]spoken), writers: make(map[string]channel.Writer),
	}
}

// Attached is a terminal's connection to a bot. It implements terminal.Bot. It is safe for concurrent use.
type Attached struct {
	*Attachment
	client Client
	ctx    context.Context // ends when the connection is lost
	end    context.CancelFunc
	ended  chan struct{} // closed when nothing is shown any more

	mu     sync.Mutex // guards everything below
	seen   int64      // number of the newest event
	newer  chan struct{}
	redial context.CancelFunc // ends the stream, which is then opened again
}

const (
	firstAnswer = 10 * time.Second // of a bot that works
	silence     = 3 * heartbeat    // of a stream of events, whose bot then does not work any more
)

// Connect connects to a bot, and shows what was missed since the last connection.
func (f *Attachment) Connect(ctx context.Context, client Client) (*Attached, error) {
	a := &Attached{Attachment: f, client: client, ended: make(chan struct{}), newer: make(chan struct{})}
	a.ctx, a.end = context.WithCancel(ctx)
	stream, err := a.open()
	if err != nil {
		a.end()
		return nil, err
	}
	go a.follow(stream)
	return a, nil
}

// Done is closed when the bot is lost, or after Close.
func (a *Attached) Done() <-chan struct{} { return a.ended }

// Close ends the connection.
func (a *Attached) Close() {
	a.end()
	<-a.ended
}

// open opens the stream of events.
func (a *Attached) open() (io.ReadCloser, error) {
	ctx, cancel := context.WithCancel(a.ctx)
	late := time.AfterFunc(firstAnswer, cancel)
	f := a.Attachment
	f.mu.Lock()
	query := url.Values{}
	if f.attends != "" {
		query.Set("attends", f.attends)
	}
	last := f.last
	if last == "" && len(f.rows) > 0 { // what was sent since is read
		last = "0"
	}
	f.mu.Unlock()
	a.mu.Lock()
	a.redial = cancel
	a.mu.Unlock()
	resp, err := a.client.send(ctx, http.MethodGet, "/api/events", query, nil, "Last-Event-ID", last)
	switch p, refused := errors.AsType[*Problem](err); {
	case refused && p.Status < http.StatusInternalServerError:
		return nil, fmt.Errorf("the bot that runs there refuses terminals of this version of cairn, so it may be of another one: %w", p)
	case err != nil && !late.Stop() && a.ctx.Err() == nil:
		return nil, fmt.Errorf("the bot that runs there did not answer within %v: it may be stopped or hang: %w", firstAnswer, ErrLost)
	case err != nil:
		return nil, lostBy(err)
	}
	late.Stop()
	return resp.Body, nil
}

// lostBy returns a failure of the connection as ErrLost.
func lostBy(err error) error { return fmt.Errorf("%w: %w", ErrLost, err) }

// follow shows events until the connection is lost.
func (a *Attached) follow(stream io.ReadCloser) {
	defer close(a.ended)
	defer a.end()
	defer a.cancelWriters()
	for {
		a.read(stream)
		_ = stream.Close()
		a.mu.Lock()
		again := a.redial == nil
		a.mu.Unlock()
		if !again || a.ctx.Err() != nil {
			return
		}
		var err error
		if stream, err = a.open(); err != nil {
			return
		}
	}
}

// read shows the events of a stream until it ends, or is silent.
func (a *Attached) read(stream io.ReadCloser) {
	quiet := time.AfterFunc(silence, func() { _ = stream.Close() })
	defer quiet.Stop()
	lines := bufio.NewReader(stream)
	var id, kind, data string
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		quiet.Reset(silence)
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			id = value
		case "event":
			kind = value
		case "data":
			data = value
		case "": // the end of an event; one without data only says where the stream begins
			if data != "" {
				a.show(kind, []byte(data))
			}
			a.saw(id)
			id = ""
			data = ""
		}
	}
}

// saw notes the newest event.
func (a *Attached) saw(id string) {
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return
	}
	a.Attachment.mu.Lock()
	a.last = id
	a.Attachment.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen = number
	close(a.newer)
	a.newer = make(chan struct{})
}

// await returns once an event was shown.
func (a *Attached) await(ctx context.Context, event int64) error {
	for {
		a.mu.Lock()
		seen, newer := a.seen, a.newer
		a.mu.Unlock()
		if seen >= event {
			return nil
		}
		select {
		case <-newer:
		case <-a.ctx.Done():
			return ErrLost
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// leave says that nobody answers questions here any more.
func (a *Attached) leave() {
	a.Attachment.mu.Lock()
	attended := a.attends != ""
	a.attends = ""
	a.Attachment.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	if attended && a.redial != nil {
		a.redial()
		a.redial = nil
	}
}

// show shows an event.
func (a *Attached) show(kind string, data []byte) {
	switch kind {
	case kindReset:
		a.catchUpAll()
	case kindAccepted:
		if e, ok := decodedAs[acceptedEvent](data); ok {
			a.accepted(e)
		}
	case kindReply:
		if e, ok := decodedAs[replyEvent](data); ok {
			a.reply(e)
		}
	case kindSpent:
		if e, ok := decodedAs[spentEvent](data); ok && a.shows(e.Conversation) {
			a.local.Used(e.Conversation, e.For, e.Model, e.Expense)
		}
	case "compaction":
		if e, ok := decodedAs[compactionEvent](data); ok && a.shows(e.Conversation) {
			a.local.Compaction(e.Conversation, e.Event)
		}
	case kindMemory:
		if e, ok := decodedAs[memoryEvent](data); ok && e.Change == "saved" && a.shows(e.Conversation) {
			a.local.Remembered(e.Conversation, e.ID, e.Kind, e.Content)
		}
	case "task":
		if e, ok := decodedAs[channel.Task](data); ok {
			if root, _ := store.RootOf(e.Conversation); a.shows(root) {
				a.local.Task(root, e)
			}
		}
	}
}

func decodedAs[T any](data []byte) (v T, ok bool) { return v, json.Unmarshal(data, &v) == nil }

// shows reports whether the terminal shows what happens in a conversation: because of these messages or, without messages, by itself.
func (f *Attachment) shows(conversation string, because ...string) bool {
	f.mu.Lock()
	_, talks := f.rows[conversation]
	f.mu.Unlock()
	if !talks {
		return false
	}
	isMine := func(id string) bool { _, mine := f.mine.Find(messageKey(conversation, id)); return mine }
	return len(because) == 0 || f.local.Follows(conversation) || slices.ContainsFunc(because, isMine)
}

func (f *Attachment) accepted(e acceptedEvent) {
	if e.Seq > 0 {
		f.mu.Lock()
		delete(f.unaccepted, messageKey(e.Conversation, e.ID))
		f.mu.Unlock()
	}
	if f.shows(e.Conversation, e.ID) {
		f.local.Accepted(e.Conversation, e.ID, e.Seq)
	}
}

// reply shows an event of a reply.
func (a *Attached) reply(e replyEvent) {
	if !a.shows(e.Conversation, e.To...) {
		if e.State == "sent" {
			a.handled(e)
		}
		return
	}
	switch e.State {
	case "writing":
		a.writer(e).Show(e.Text)
	case "canceled":
		if w := a.takeWriter(e.Conversation); w != nil {
			w.Cancel()
		}
	case "sent":
		if e.Text == "" { // it was missed, and events do not keep it
			a.catchUp(e.Conversation)
			return
		}
		a.send(e)
	}
}

// writer returns the writer of the reply that is being written in a conversation.
func (f *Attachment) writer(e replyEvent) channel.Writer {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.writers[e.Conversation] == nil {
		f.writers[e.Conversation] = f.local.Reply(e.Conversation, e.To)
	}
	return f.writers[e.Conversation]
}

func (f *Attachment) takeWriter(conversation string) channel.Writer {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := f.writers[conversation]
	delete(f.writers, conversation)
	return w
}

func (f *Attachment) cancelWriters() {
	f.mu.Lock()
	all := f.writers
	f.writers = make(map[string]channel.Writer)
	f.mu.Unlock()
	for _, w := range all {
		w.Cancel()
	}
}

// TakeOver is called when this process becomes the bot, before it answers. It shows what the bot before it has sent, by requests to the
// new one, and passes on the messages of which that one may not have known.
func (f *Attachment) TakeOver(ctx context.Context, client Client, deliver func(conversation string, m channel.Inbound)) {
	a := &Attached{Attachment: f, client: client, ctx: ctx}
	again, talks := f.missing()
	for _, conversation := range talks {
		a.catchUp(conversation)
	}
	for _, m := range again {
		deliver(m.conversation, m.message)
	}
}

// missing returns the messages that were not accepted, and the conversations in which this terminal talks.
func (f *Attachment) missing() (again []postedMessage, talks []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Values(f.unaccepted)), slices.Sorted(maps.Keys(f.rows))
}

// handled reports whether a piece is newer than those handled before, and notes it as handled.
func (f *Attachment) handled(e replyEvent) (newer bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	row, talks := f.rows[e.Conversation]
	if !talks || e.Row <= row {
		return false
	}
	f.rows[e.Conversation] = e.Row
	return true
}

// has reports whether a piece was handled.
func (f *Attachment) has(conversation string, row int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	last, talks := f.rows[conversation]
	return talks && row <= last
}

// send shows a piece that was sent, once. The events of a conversation come in the order of its rows.
func (a *Attached) send(e replyEvent) {
	if !a.handled(e) {
		return
	}
	piece := channel.Piece{Row: e.Row, Reply: e.Reply, Part: e.Part, Parts: e.Parts, To: e.To, Text: e.Text, Failure: e.Failure}
	var w channel.Writer
	if !e.Failure {
		w = a.takeWriter(e.Conversation)
	}
	if w == nil {
		w = a.local.Reply(e.Conversation, e.To)
	}
	_, _ = w.Send(a.ctx, piece) // a terminal that cannot be written ends the run
}
