// JSON Lines, for programs: many channels through one pipe, in parallel.

package terminal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/channel/report"
	"cairn/connector/platform"
)

// The fields of output lines behind type and channel. The order of keys is documented for scripts.
type (
	acceptedLine struct {
		ID  string `json:"id"`
		Seq int64  `json:"seq"`
	}
	replyLine struct {
		ID   string   `json:"id"`
		To   []string `json:"to,omitempty"` // absent: no message asked for it, as for the result of a task that /ask began
		Text string   `json:"text"`
	}
	memoryLine struct {
		ID      int64  `json:"id"`
		Kind    string `json:"kind"`
		Content string `json:"content"`
	}
	usageLine struct {
		For   string `json:"for"`
		Model string `json:"model"`
		report.Expense
	}
	deltaLine struct {
		To      []string `json:"to,omitempty"`
		Text    string   `json:"text"`              // behind what came before
		Restart bool     `json:"restart,omitempty"` // what came before no longer counts
	}
	taskLine struct {
		Task channel.Task `json:"task"`
	}
	errorLine struct { // also used for notices
		To   []string `json:"to,omitempty"`
		Text string   `json:"text"`

		Buttons []channel.Button `json:"buttons,omitempty"`
	}
)

// maxWaiting limits the input that is queued in all channels together, in bytes.
const maxWaiting = 64 << 20

// protocol handles JSON Lines. Lines of one channel are handled in order; channels do not wait for each other.
type protocol struct {
	client        // set by Run
	in            io.Reader
	out           *output
	err           io.Writer
	channel, user string         // of lines that do not set them
	deltas        bool           // answers are also written while they are made
	answers       platform.Cache // output of recent commands, by commandKey, so that a repeated command does not run twice
	inputEnded    atomic.Bool    // the input has ended
}

func newProtocol(o Options) *protocol {
	return &protocol{in: o.In, out: newOutput(o.Out), err: o.Err, channel: shortName(o.Channel), user: o.User, deltas: o.Deltas}
}

func shortName(conversation string) string { return strings.TrimPrefix(conversation, prefix) }

func (p *protocol) Run(ctx context.Context, bot Bot, log *slog.Logger) error {
	p.client = client{bot, log}
	return p.out.run(ctx, p.loop)
}

func (p *protocol) loop(ctx context.Context) error {
	ours := func(name string) bool { return strings.HasPrefix(name, prefix) }
	if err := p.bot.Recover(ctx, ours, ""); err != nil {
		return err
	}
	room := semaphore.NewWeighted(maxWaiting)
	queue := platform.KeyedQueue[func()]{Group: platform.NewGroup(p.log)}
	queue.Group.Open(context.WithoutCancel(ctx)) // the queued work ends by itself when ctx does
	defer queue.Group.Close()
	for line := range Lines(ctx, p.in) {
		if line.Err != nil && line.Err != ErrTooLong {
			return line.Err
		}
		if line.Err == nil && strings.TrimSpace(line.Text) == "" {
			continue
		}
		request, err := p.parse(line)
		if err != nil {
			p.refuse(request, fmt.Sprintf("line %d: %v", line.Number, err))
			continue
		}
		if request.immediate { // it would have to wait for the turn that it should stop
			p.report(ctx, request, p.answer)
			continue
		}
		size := int64(len(line.Text)) + 1<<10
		if err := room.Acquire(ctx, size); err != nil {
			return err
		}
		queue.Add(request.conversation, func() {
			defer room.Release(size)
			p.report(ctx, request, p.handle)
		}, queue.Group.CallEach)
	}
	p.inputEnded.Store(true)
	queue.Group.Close()
	if err := ctx.Err(); err != nil {
		return err
	}
	return p.drain(ctx, ours, channel.DefaultLanguage, p.note)
}

// handle handles one line after the earlier lines of its channel. A command waits until they are answered.
func (p *protocol) handle(ctx context.Context, r request) error {
	if r.command == "" {
		return p.bot.Deliver(ctx, r.conversation, r.inbound())
	}
	_ = p.bot.Idle(ctx, r.conversation) // where that fails the command fails too, and says why
	return p.answer(ctx, r)
}

// answer runs a command. If it has run before, answer repeats the output.
func (p *protocol) answer(ctx context.Context, r request) error {
	if line, known := p.answers.Find(r.commandKey()); known {
		return p.out.write(line)
	}
	answer, err := p.bot.Command(ctx, r.conversation, access.Person{ID: r.User, Name: r.User, Manager: true}, r.text)
	if err != nil {
		return err
	}
	line, err := lineOf("reply", r.Channel, replyLine{"re-" + r.ID, []string{r.ID}, complete(ctx, answer)})
	if err != nil {
		return err
	}
	p.answers.Set(r.commandKey(), line)
	return p.out.write(line)
}

// report handles a line, and reports a failure unless the run is ending: then the message is on disk or was
// never accepted, and the sender can see which.
func (p *protocol) report(ctx context.Context, r request, handle func(context.Context, request) error) {
	if err := handle(ctx, r); err != nil && ctx.Err() == nil {
		p.refuse(r, err.Error())
	}
}

func (p *protocol) refuse(r request, text string) {
	var to []string
	if r.ID != "" {
		to = append(to, r.ID)
	}
	p.emit("error", cmp.Or(r.Channel, p.channel), errorLine{To: to, Text: text})
}

// emit writes a line. A failed write ends the run, see output.
func (p *protocol) emit(kind, conversation string, fields any) {
	if text, err := lineOf(kind, shortName(conversation), fields); err == nil {
		_ = p.out.write(text)
	}
}

// lineOf returns a line with the fields of a JSON object behind type and channel.
func lineOf(kind, channel string, fields any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	head := struct {
		Type    string `json:"type"`
		Channel string `json:"channel"`
	}{kind, channel}
	if err := errors.Join(enc.Encode(head), enc.Encode(fields)); err != nil {
		return "", fmt.Errorf("write a line of JSON: %w", err)
	}
	return strings.Replace(b.String(), "}\n{", ",", 1), nil // one object
}

// Talks returns true for all conversations of terminals: each line names its channel.
func (p *protocol) Talks(conversation string) bool { return strings.HasPrefix(conversation, prefix) }

// Follows returns false: a program reads what answers its own lines.
func (p *protocol) Follows(string) bool { return false }

// Interrupt returns false: programs stop an answer with a command.
func (p *protocol) Interrupt() bool { return false }

func (p *protocol) note(text string) { _, _ = io.WriteString(p.err, text) }

func (p *protocol) Accepted(name, id string, seq int64) {
	p.emit("accepted", name, acceptedLine{id, seq})
}

func (p *protocol) Compaction(name string, event channel.Event) { p.emit("compaction", name, event) }

func (p *protocol) Task(name string, t channel.Task) { p.emit("task", name, taskLine{t}) }

func (p *protocol) Remembered(name string, id int64, kind, content string) {
	p.emit("memory", name, memoryLine{id, kind, content})
}

func (p *protocol) Used(name, kind, model string, e report.Expense) {
	p.emit("usage", name, usageLine{kind, model, e})
}

func (p *protocol) attends() string { return prefix }

func (p *protocol) tell(string) {}

func (p *protocol) Attended(string) bool { return !p.inputEnded.Load() }

func (p *protocol) Reply(conversation string, to []string) channel.Writer {
	return &protocolReply{out: p.out, channel: shortName(conversation), to: slices.Clone(to), deltas: p.deltas}
}

// protocolReply writes a reply as one line when it is complete. After a crash the line may be
// repeated with the same id.
type protocolReply struct {
	out     *output
	channel string
	to      []string
	deltas  bool
	shown   string // the text so far
	restart bool   // the next delta starts again
}

func (r *protocolReply) Send(ctx context.Context, piece channel.Piece) (string, error) {
	kind := "reply"
	fields := any(replyLine{piece.Reply, r.to, piece.Text})
	if channel.IsNotice(piece) {
		kind = "notice"
		fields = errorLine{r.to, piece.Text, channel.Buttons(piece)}
	} else if piece.Failure {
		kind = "error"
		fields = errorLine{To: r.to, Text: piece.Text}
	}
	text, err := lineOf(kind, r.channel, fields)
	if err != nil {
		return "", err
	}
	return piece.Reply, r.out.send(ctx, text)
}

// Show writes what has been added to the text.
func (r *protocolReply) Show(text string) {
	if !r.deltas || text == r.shown {
		return
	}
	added, continues := strings.CutPrefix(text, r.shown)
	if !continues {
		r.Cancel()
		added = text
	}
	if line, err := lineOf("delta", r.channel, deltaLine{r.to, added, r.restart}); err == nil {
		_ = r.out.write(line) // a failed write ends the run, see output
	}
	r.shown = text
	r.restart = false
}

func (r *protocolReply) Cancel() {
	r.restart = r.restart || r.shown != ""
	r.shown = ""
}
