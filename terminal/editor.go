// The line editor: a person at a terminal.
package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"cairn/channel"
)

const prompt = "> "

// editor shows a prompt below what has been said. Everything that is written goes
// through the line editor, which moves the prompt out of the way, so only whole
// rows are written.
type editor struct {
	in, out      *os.File
	conversation string
	who          channel.Person
	history      string
	dim, plain   string // switch dim text on and off; empty without colour
	log          *slog.Logger
	disk         disk

	mu   sync.Mutex     // guards everything below
	line *term.Terminal // nil while the terminal is not in raw mode
	rows bool           // a reply has rows on the terminal, and more are to come
	held []string       // what waits for its last row

	waiting atomic.Int64 // messages that were sent and not answered
	left    atomic.Bool  // the person wants to leave

	awaited sync.WaitGroup // answers that take long
}

func newEditor(o Options, in, out *os.File, conversation string, who channel.Person) *editor {
	e := &editor{in: in, out: out, conversation: conversation, who: who, history: o.History}
	if !o.NoColor && os.Getenv("NO_COLOR") == "" {
		e.dim, e.plain = "\x1b[2m", "\x1b[0m"
	}
	return e
}

func (e *editor) run(ctx context.Context, hub *channel.Hub, log *slog.Logger) error {
	e.log = log
	ctx, cancel := context.WithCancel(ctx)
	defer e.awaited.Wait()
	defer cancel() // ends the reading of lines, and what takes long
	if err := e.talk(ctx, hub); err != nil {
		return err
	}
	patience := time.AfterFunc(300*time.Millisecond, func() { _ = e.put(e.quiet("finishing what still runs; Ctrl-C leaves at once")) })
	defer patience.Stop()
	return hub.Drain(ctx)
}

// talk reads lines until the person leaves. The terminal is as it was when talk
// returns, so that Ctrl-C is a signal again.
func (e *editor) talk(ctx context.Context, hub *channel.Hub) error {
	old, err := term.MakeRaw(int(e.in.Fd()))
	if err != nil {
		return fmt.Errorf("switch the terminal to line editing: %w", err)
	}
	defer func() {
		e.setLine(nil)
		_ = term.Restore(int(e.in.Fd()), old)
		_, _ = io.WriteString(e.out, "\r\n")
	}()
	kept, err := openHistory(e.history)
	if err != nil {
		return err
	}
	defer kept.Close()

	keys := &keys{in: e.in, left: &e.left}
	line := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{keys, e.out}, prompt)
	line.History = kept
	line.AutoCompleteCallback = e.key(ctx, hub)
	line.SetBracketedPasteMode(true)
	defer line.SetBracketedPasteMode(false)
	e.setLine(line)

	e.note(short(e.conversation) + ": this conversation never ends. /help tells what there is, Ctrl-D leaves.")
	if err := hub.Recover(ctx, func(name string) bool { return name == e.conversation }); err != nil {
		return err
	}
	typed := typedLines(ctx, e, line)
	for {
		select {
		case text, ok := <-typed:
			if !ok {
				return nil
			}
			line, err := parseTyped(text)
			if err != nil {
				e.note(err.Error())
				continue
			}
			if line.quit {
				return nil
			}
			if err := e.say(ctx, hub, line); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// typedLines hands on what is typed, until the person leaves. Lines that were pasted
// wait for the one that ends with the Enter key, and are one text with it. The
// goroutine behind it may outlive ctx in a read that nothing can interrupt.
func typedLines(ctx context.Context, e *editor, line *term.Terminal) <-chan string {
	out := make(chan string)
	go func() {
		defer close(out)
		pasted := ""
		for {
			e.fit(line)
			text, err := line.ReadLine()
			text = pasted + text
			if err == term.ErrPasteIndicator {
				pasted = text + "\n"
				continue
			}
			if err != nil {
				return
			}
			pasted = ""
			select {
			case out <- text:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

func (e *editor) say(ctx context.Context, hub *channel.Hub, typed typed) error {
	if strings.TrimSpace(typed.text) == "" {
		return nil
	}
	if typed.command != "" {
		answer, _, err := hub.Run(ctx, e.conversation, e.who, typed.text)
		if err != nil {
			return e.tell(ctx, undone(ctx, e.log, err))
		}
		if typed.urgent {
			e.waiting.Store(0) // a stopped turn may have nothing to say
		}
		err = e.write(printable(answer.String()) + "\n")
		if answer.Then != nil && answer.Awaited {
			e.awaited.Go(func() {
				if text := answer.Then(ctx); ctx.Err() == nil {
					_ = e.write(printable(text) + "\n")
				}
			})
		}
		return err
	}
	e.waiting.Add(1)
	if err := e.disk.deliver(ctx, hub, e.log, e.conversation, inbound(e.who, typed.text)); err != nil {
		e.answered(1) // it never will be
		return e.tell(ctx, err)
	}
	return nil
}

// tell shows why something was not done, and goes on; the arrow key brings back
// what was typed. The error is that of an ending run.
func (e *editor) tell(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	e.note(err.Error())
	return nil
}

// key answers the keys the line editor has no meaning for: Tab completes a command,
// Ctrl-C stops a running turn, else clears the line, else leaves.
func (e *editor) key(ctx context.Context, hub *channel.Hub) func(string, int, rune) (string, int, bool) {
	return func(line string, pos int, key rune) (string, int, bool) {
		switch {
		case key == '\t' && pos == len(line):
			done, choice := completed(line)
			if done == line && len(choice) > 1 {
				e.note(strings.Join(choice, "  "))
			}
			return done, len(done), true
		case key == interrupt && e.waiting.Load() > 0:
			if err := e.say(ctx, hub, typed{text: "/stop", command: "stop", urgent: true}); err != nil {
				e.note(err.Error())
			}
			return line, pos, true
		case key == interrupt:
			e.left.Store(line == "")
			return "", 0, true
		}
		return "", 0, false
	}
}

// completed returns line with the command it begins completed as far as there is
// only one way, and the commands it may become.
func completed(line string) (done string, names []string) {
	for _, c := range channel.Commands {
		if name := "/" + c.Name; line != "" && strings.HasPrefix(name, line) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return line, nil
	}
	if len(names) == 1 {
		return names[0] + " ", names
	}
	common := names[0]
	for _, name := range names[1:] {
		for !strings.HasPrefix(name, common) {
			common = common[:len(common)-1]
		}
	}
	return common, names
}

func (e *editor) setLine(line *term.Terminal) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.line = line
}

// fit tells the line editor how wide the terminal is now, and returns that, in columns.
func (e *editor) fit(line *term.Terminal) int {
	width, height, err := term.GetSize(int(e.out.Fd()))
	if err != nil || width < 2 {
		return 80
	}
	if line != nil {
		_ = line.SetSize(width, height)
	}
	return width
}

// write shows whole rows above the prompt. They wait while a reply is being written:
// what stands in the middle of it would read as a part of it.
func (e *editor) write(rows string) error {
	e.mu.Lock()
	wait := e.rows
	if wait {
		e.held = append(e.held, rows)
	}
	e.mu.Unlock()
	if wait {
		return nil
	}
	return e.put(rows)
}

// writeReply shows rows of a reply, and behind its last row what waited for that.
func (e *editor) writeReply(rows string, last bool) error {
	err := e.put(rows)
	e.mu.Lock()
	held := e.held
	e.rows, e.held = !last, nil
	if !last {
		e.held = held
		held = nil
	}
	e.mu.Unlock()
	for _, rows := range held {
		err = errors.Join(err, e.put(rows))
	}
	return err
}

// put writes rows past the line that is being typed.
func (e *editor) put(rows string) error {
	e.mu.Lock()
	line := e.line
	e.mu.Unlock()
	var err error
	if line == nil {
		_, err = io.WriteString(e.out, rows)
	} else {
		e.fit(line)
		_, err = io.WriteString(line, rows)
	}
	if err != nil {
		return fmt.Errorf("write to the terminal: %w", err)
	}
	return nil
}

func (e *editor) width() int { return e.fit(nil) }

func (e *editor) note(text string) { _ = e.write(e.quiet(text)) }

// quiet is text in a row that does not draw the eye.
func (e *editor) quiet(text string) string {
	return e.dim + strings.TrimRight(text, "\n") + e.plain + "\n"
}

func (e *editor) reply(_ string, to []string) channel.Writer {
	return &stream{editor: e, answers: int64(len(to))}
}

func (e *editor) Accepted(string, string, int64) {}

func (e *editor) Compaction(_ string, event channel.Event) {
	if text := status(event); text != "" {
		e.note(text)
	}
}

func (e *editor) Remembered(string, int64, string, string) {}

// answered counts n messages as answered, never more than wait: a reply to what a
// crash left answers messages of another run.
func (e *editor) answered(n int64) {
	if e.waiting.Add(-n) < 0 {
		e.waiting.Store(0)
	}
}
