// JSON Lines, for programs: many channels through one pipe, side by side.
package terminal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"cairn/channel"
)

// The lines that go out, keys in the order scripts were promised.
type (
	acceptedLine struct {
		Type    string `json:"type"`
		Channel string `json:"channel"`
		ID      string `json:"id"`
		Seq     int64  `json:"seq"`
	}
	replyLine struct {
		Type    string   `json:"type"`
		Channel string   `json:"channel"`
		ID      string   `json:"id"`
		To      []string `json:"to"`
		Text    string   `json:"text"`
	}
	compactionLine struct {
		Type    string `json:"type"`
		Channel string `json:"channel"`
		channel.Event
	}
	memoryLine struct {
		Type    string `json:"type"`
		Channel string `json:"channel"`
		ID      int64  `json:"id"`
		Kind    string `json:"kind"`
		Content string `json:"content"`
	}
	errorLine struct {
		Type    string   `json:"type"`
		Channel string   `json:"channel"`
		To      []string `json:"to"`
		Text    string   `json:"text"`
	}
)

// protocol speaks JSON Lines. Lines of one channel keep their order, channels do
// not wait for each other.
type protocol struct {
	in            io.Reader
	channel, user string // of lines that name none
	err           io.Writer

	mu  sync.Mutex // guards out: a line is written whole
	out io.Writer
}

func newProtocol(o Options) *protocol {
	return &protocol{in: o.In, out: o.Out, err: o.Err, channel: short(o.Channel), user: o.User}
}

// short is how the lines name a conversation.
func short(conversation string) string { return strings.TrimPrefix(conversation, prefix) }

func (p *protocol) run(ctx context.Context, hub *channel.Hub) error {
	if err := hub.Recover(ctx, func(name string) bool { return strings.HasPrefix(name, prefix) }); err != nil {
		return err
	}
	queue := newLanes()
	defer queue.wait()
	for line := range lines(ctx, p.in) {
		if line.err != nil && line.err != errTooLong {
			return line.err
		}
		request, err := p.parse(line)
		if err != nil {
			p.refuse(request, fmt.Sprintf("line %d: %v", line.number, err))
			continue
		}
		if request.Text == "" {
			continue // the line was empty
		}
		if request.command == "stop" { // it would wait for the very turn it stops
			p.command(ctx, hub, request)
			continue
		}
		if err := queue.add(ctx, request.conversation, len(line.text), func() { p.handle(ctx, hub, request) }); err != nil {
			return err
		}
	}
	queue.wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	return hub.Drain(ctx)
}

// handle does what one line asks for, in its channel's turn. A command waits until
// the lines before it are answered.
func (p *protocol) handle(ctx context.Context, hub *channel.Hub, r request) {
	if r.command == "" {
		p.deliver(ctx, hub, r)
		return
	}
	if err := hub.Idle(ctx, r.conversation); err != nil {
		p.fail(ctx, r, err)
		return
	}
	p.command(ctx, hub, r)
}

func (p *protocol) command(ctx context.Context, hub *channel.Hub, r request) {
	answer, handled, err := hub.Run(ctx, r.conversation, channel.Person{ID: r.User, Name: r.User}, r.Text)
	switch {
	case err != nil:
		p.fail(ctx, r, err)
	case !handled:
		p.deliver(ctx, hub, r)
	default:
		_ = p.emit(replyLine{"reply", r.Channel, "re-" + r.ID, []string{r.ID}, answer})
	}
}

func (p *protocol) deliver(ctx context.Context, hub *channel.Hub, r request) {
	if _, err := hub.Deliver(ctx, r.conversation, r.inbound()); err != nil {
		p.fail(ctx, r, err)
	}
}

// fail tells that a line was not done, unless the whole run is ending: then it is
// on disk or was never accepted, and who sent it sees which.
func (p *protocol) fail(ctx context.Context, r request, err error) {
	if ctx.Err() == nil {
		p.refuse(r, err.Error())
	}
}

func (p *protocol) refuse(r request, text string) {
	to := []string{}
	if r.ID != "" {
		to = append(to, r.ID)
	}
	_ = p.emit(errorLine{"error", r.Channel, to, text})
}

// emit writes v as one line, at once.
func (p *protocol) emit(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write a line of JSON: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := p.out.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write a line of JSON: %w", err)
	}
	return nil
}

func (p *protocol) note(text string) { _, _ = io.WriteString(p.err, text) }

// Accepted tells that a message is on disk and has its place.
func (p *protocol) Accepted(conversation, id string, seq int64) {
	_ = p.emit(acceptedLine{"accepted", short(conversation), id, seq})
}

// Compaction tells of a step of a compaction.
func (p *protocol) Compaction(conversation string, event channel.Event) {
	_ = p.emit(compactionLine{"compaction", short(conversation), event})
}

// Remembered tells of a new memory.
func (p *protocol) Remembered(conversation string, id int64, kind, content string) {
	_ = p.emit(memoryLine{"memory", short(conversation), id, kind, content})
}

func (p *protocol) reply(conversation string, to []string) channel.Writer {
	return protocolReply{p, short(conversation), append([]string{}, to...)}
}

// protocolReply writes a reply as one line when it is complete. After a crash the
// same line may be repeated; its id tells.
type protocolReply struct {
	p       *protocol
	channel string
	to      []string
}

func (r protocolReply) Show(string) {}

func (r protocolReply) Send(_ context.Context, piece channel.Piece) (string, error) {
	if piece.Failure {
		return piece.Reply, r.p.emit(errorLine{"error", r.channel, r.to, piece.Text})
	}
	return piece.Reply, r.p.emit(replyLine{"reply", r.channel, piece.Reply, r.to, piece.Text})
}

func (r protocolReply) Cancel() {}
