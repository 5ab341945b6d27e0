// A terminal at a bot that another process runs: the stream of events, and what it shows of them.

package web

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"strconv"
	"sync"

	"cairn/channel"
	"cairn/store"
)

// ErrLost says that the bot of another process has ended, or does not answer any more. What was on its way may have been done.
var ErrLost = errors.New("the bot has ended or does not answer")

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

// Connect connects to a bot, and shows what was missed since the last connection.
func (f *Attachment) Connect(ctx context.Context, client Client) (*Attached, error) {
	a := &Attached{Attachment: f, client: client, ended: make(chan struct{}), newer: make(chan struct{})}
	a.ctx, a.end = context.WithCancel(ctx)
	stream, err := a.open()
	if err != nil {
		a.end()
		return nil, err
	}
	f.mu.Lock()
	f.guest = true
	f.mu.Unlock()
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
	return a.client.events(ctx, cancel, query, last)
}

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
		next, err := a.open()
		if err != nil {
			return
		}
		stream = next
	}
}

// read shows the events of a stream until it ends, or is silent.
func (a *Attached) read(stream io.ReadCloser) {
	readEvents(stream, func(kind string, data []byte, id string) {
		if len(data) > 0 {
			a.show(kind, data)
		}
		a.saw(id)
	})
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
		seen := a.seen
		newer := a.newer
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
			a.local.Compaction(e.Conversation, e.event())
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
