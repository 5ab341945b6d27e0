// The line editor: a person at a terminal.
package terminal

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	"cairn/channel"
)

// editor shows a screen, on which a line is typed, below what has been said: that is
// written above it for good, and scrolls away.
type editor struct {
	spectator
	in, out      *os.File
	conversation string
	who          channel.Person
	history      string
	color        bool
	log          *slog.Logger
	disk         disk
	asked        atomic.Pointer[[]channel.Button] // what "y" and "n" stand for; nil: nothing was asked

	mu       sync.Mutex   // guards everything below; Update must not take it
	program  *tea.Program // nil: there is no screen, and rows are written as they come
	changing bool         // the screen is being put up or taken down; rows wait in late
	late     []string
	replying bool     // a reply is being shown, and more of it is to come
	held     []string // what waits for its last row

	waiting atomic.Int64 // messages that were sent and not answered

	awaited sync.WaitGroup // answers that take long
}

func newEditor(o Options, in, out *os.File, conversation string, who channel.Person) *editor {
	e := &editor{
		in: in, out: out, conversation: conversation, who: who, history: o.History,
		color: !o.NoColor && os.Getenv("NO_COLOR") == "",
	}
	e.spectator = spectator{e.note}
	return e
}

func (e *editor) run(ctx context.Context, hub *channel.Hub, log *slog.Logger) error {
	e.log = log
	ctx, cancel := context.WithCancel(ctx)
	defer e.awaited.Wait()
	defer cancel() // ends what takes long
	if err := e.talk(ctx, hub); err != nil {
		return err
	}
	patience := time.AfterFunc(300*time.Millisecond, func() { _ = e.put(e.quiet("finishing what still runs; Ctrl-C leaves immediately")) })
	defer patience.Stop()
	return hub.Drain(ctx)
}

// talk does what is typed until the person leaves. The terminal is as it was when talk
// returns, so that Ctrl-C is a signal again.
func (e *editor) talk(ctx context.Context, hub *channel.Hub) error {
	kept, err := openHistory(e.history)
	if err != nil {
		return err
	}
	defer kept.Close()
	lines := make(chan entry, maxTyped)
	screen := newScreen(kept, lines, &e.waiting, e.color)
	screen.status = func() string { return e.status(ctx, hub) }
	e.note(short(e.conversation) + ": this conversation never ends. / shows the commands, Ctrl-D leaves.")
	ended := e.start(screen)
	defer e.stop(ended)
	if err := hub.Recover(ctx, func(name string) bool { return name == e.conversation }); err != nil {
		return err
	}
	for {
		select {
		case entry := <-lines:
			line, err := parseTyped(e.decided(entry.text))
			if line.quit {
				return nil
			}
			if err := e.say(ctx, hub, entry.shown, line, err); err != nil {
				return err
			}
		case err := <-ended:
			ended <- err
			return ctx.Err()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// start puts up the screen. The channel gets why it ended. What is written above the
// screen before it is drawn would take the whole terminal for it.
func (e *editor) start(s *screen) chan error {
	e.mu.Lock()
	e.changing = true
	e.mu.Unlock()
	out := &watched{File: e.out, drawn: make(chan struct{})}
	program := tea.NewProgram(s, tea.WithInput(e.in), tea.WithOutput(out), tea.WithoutSignalHandler())
	ended := make(chan error, 1)
	go func() {
		_, err := program.Run()
		out.once.Do(func() { close(out.drawn) })
		ended <- err
	}()
	<-out.drawn
	e.settle(program)
	return ended
}

// watched is a terminal that signals when the screen has been drawn: the cursor is shown
// behind each drawing.
type watched struct {
	*os.File
	once  sync.Once
	drawn chan struct{}
}

func (w *watched) Write(b []byte) (int, error) {
	n, err := w.File.Write(b)
	if err != nil || bytes.Contains(b, []byte("\x1b[?25h")) {
		w.once.Do(func() { close(w.drawn) })
	}
	return n, err
}

// stop takes the screen down, and writes the rows that waited for that.
func (e *editor) stop(ended chan error) {
	e.mu.Lock()
	program := e.program
	e.changing = true
	e.mu.Unlock()
	program.Send(leaveMsg{})
	if err := <-ended; err != nil {
		e.log.Error("terminal_ended", "error", err)
	}
	e.settle(nil)
}

// settle has rows written above the screen of program from now on, if there is one, and
// writes what waited for that.
func (e *editor) settle(program *tea.Program) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.program, e.changing = program, false
	_ = e.putLocked(strings.Join(e.late, ""))
	e.late = nil
}

// decided returns the command that "y" or "n" means after a question; else the text itself.
func (e *editor) decided(text string) string {
	answer := strings.ToLower(strings.TrimSpace(text))
	asked := e.asked.Load()
	for i, short := range []string{"y", "n"} {
		if asked != nil && (answer == short || answer == []string{"yes", "no"}[i]) {
			e.asked.Store(nil)
			return (*asked)[i].Line
		}
	}
	return text
}

// say handles a typed line; a non-nil refused says why it cannot be done.
func (e *editor) say(ctx context.Context, hub *channel.Hub, shown string, line typed, refused error) error {
	if err := e.write(e.wrap("> "+strings.ReplaceAll(printable(shown), "\n", "\n  ")) + "\n"); err != nil {
		return err
	}
	if refused != nil {
		e.note(refused.Error())
		return nil
	}
	if line.command == "" {
		e.wait(1)
		if err := e.disk.deliver(ctx, hub, e.log, e.conversation, inbound(e.who, line.text)); err != nil {
			e.answered(1) // it never will be
			return e.tell(ctx, err)
		}
		return nil
	}
	answer, _, err := hub.Run(ctx, e.conversation, e.who, line.text)
	if err != nil {
		return e.tell(ctx, undone(ctx, e.log, err))
	}
	if line.command == "stop" || line.command == "pause" {
		e.waiting.Store(0) // a stopped turn may have nothing to say
	}
	err = e.write(e.wrap(printable(answer.String())) + "\n")
	if answer.Then != nil && answer.Awaited {
		e.awaited.Go(func() {
			if text := answer.Then(ctx); ctx.Err() == nil {
				_ = e.write(e.wrap(printable(text)) + "\n")
			}
		})
	}
	return err
}

// tell shows why something was not done, and continues; the arrow key brings back
// what was typed. The error is that of an ending run.
func (e *editor) tell(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	e.note(err.Error())
	return nil
}

// status says who is writing and how full the window is; empty while unknown.
func (e *editor) status(ctx context.Context, hub *channel.Hub) string {
	model, percent, err := hub.Operator().Fill(ctx, e.conversation)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s · window %.0f %% full", Printable(model), percent)
}

func (e *editor) note(text string) { _ = e.write(e.quiet(text)) }

func (e *editor) reply(_ string, to []string) channel.Writer {
	return &stream{editor: e, answers: int64(len(to))}
}

// wait counts n messages that want an answer.
func (e *editor) wait(n int64) {
	e.waiting.Add(n)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sendLocked(waitMsg{})
}

// answered counts n messages as answered, never more than wait: a reply to what a
// crash left answers messages of another run.
func (e *editor) answered(n int64) {
	if e.waiting.Add(-n) < 0 {
		e.waiting.Store(0)
	}
}
