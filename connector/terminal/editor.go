// The line editor, for a person at a terminal.

package terminal

import (
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
	"cairn/channel/access"
	"cairn/channel/sentences"
	"cairn/connector/platform"
)

// editor shows an input line at the bottom of the terminal. Finished output is printed above it and scrolls away.
type editor struct {
	spectator
	client       // set by Run
	in, out      *os.File
	conversation string
	who          access.Person
	history      string
	color        bool
	files        func() (platform.Files, error) // see Options

	mu       sync.Mutex   // guards everything below; Update must not take it
	program  *tea.Program // nil: there is no screen, and rows are written directly
	replying bool         // a reply is being shown and is not complete
	below    below

	left    atomic.Bool  // the person has left
	waiting atomic.Int64 // number of the newest message that was sent, while it may be answered; 0: none
	sent    int64        // messages so far; only sayMessage uses it

	background sync.WaitGroup // slow commands, and the end of waiting
}

func newEditor(o Options, in, out *os.File, conversation string, who access.Person) *editor {
	e := &editor{in: in, out: out, conversation: conversation, who: who, history: o.History, files: o.Files, color: os.Getenv("NO_COLOR") == ""}
	e.print = e.note
	return e
}

func (e *editor) Run(ctx context.Context, bot Bot, log *slog.Logger) error {
	e.client = client{bot, log}
	e.readLanguages(bot)
	ctx, cancel := context.WithCancel(ctx)
	defer e.background.Wait()
	defer cancel() // cancels slow commands
	if err := e.loop(ctx); err != nil {
		return err
	}
	e.left.Store(true)
	patience := time.AfterFunc(300*time.Millisecond, func() {
		_ = e.put(e.dimmed(e.says("finishing the work in progress; Ctrl-C quits immediately")))
	})
	defer patience.Stop()
	return bot.Settle(ctx)
}

// loop handles typed lines until the person leaves. It restores the terminal before it returns, so
// that Ctrl-C is a signal again.
func (e *editor) loop(ctx context.Context) error {
	kept, err := openHistory(e.history)
	if err != nil {
		return err
	}
	defer kept.file.Close() // which does nothing to a missing file
	lines := make(chan entry, maxTyped)
	screen := newScreen(kept, lines, &e.waiting)
	screen.says = e.says
	screen.status = func() string { return e.status(ctx) }
	if err := e.introduce(ctx); err != nil {
		return err
	}
	ended := e.start(screen)
	defer e.stop(ended)
	waiting, err := e.bot.Unanswered(ctx, e.conversation)
	if err != nil {
		return err
	}
	for _, text := range waiting { // above their answers
		_ = e.echo(text)
	}
	if err := e.bot.Recover(ctx, func(name string) bool { return name == e.conversation }, ""); err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	queue := platform.KeyedQueue[func()]{Group: platform.NewGroup(e.log)}
	defer queue.Group.Close()
	for {
		select {
		case entry := <-lines:
			line, err := parseTyped(e.expandAnswer(ctx, entry.text))
			if line.quit {
				return nil
			}
			handle := func() {
				if err := e.say(ctx, entry.display, line, err); err != nil {
					end(err)
				}
			}
			if line.immediate { // an earlier message may wait for the database
				handle()
			} else {
				queue.Add("", handle, queue.Group.CallEach)
			}
		case <-ended.Done():
			return ctx.Err()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// introduce prints the headline as the first row: notes wait until the model's server has returned the window.
func (e *editor) introduce(ctx context.Context) error {
	e.mu.Lock()
	e.replying = true
	e.mu.Unlock()
	return e.writeReply(e.dimmed(e.headline(ctx, e.conversation, e.language(e.conversation))), "", false)
}

// start starts the screen and waits until it is drawn: rows printed before that would make it
// occupy the full terminal. The context ends with the screen, and its cause is why.
func (e *editor) start(s *screen) context.Context {
	e.mu.Lock() // rows of others wait
	defer e.mu.Unlock()
	drawn := make(chan struct{})
	out := &canvas{File: e.out, drawn: sync.OnceFunc(func() { close(drawn) })}
	s.draws = out.draws
	program := tea.NewProgram(s, tea.WithInput(e.in), tea.WithOutput(out), tea.WithFilter(out.resized), tea.WithoutSignalHandler())
	ended, end := context.WithCancelCause(context.Background())
	go func() {
		_, err := program.Run()
		out.drawn()
		end(err)
	}()
	<-drawn
	e.program = program
	return ended
}

// stop stops the screen. Further rows are written directly.
func (e *editor) stop(screen context.Context) {
	e.mu.Lock()
	e.program.Send(quitMsg{})
	<-screen.Done()
	e.program = nil
	e.mu.Unlock()
	if err := context.Cause(screen); err != context.Canceled { // without the lock: the log may be shown in rows
		e.log.Error("terminal_ended", "error", err)
	}
}

// answers are what people type to answer a question, and the commands that do.
var answers = map[string]string{"y": "/allow ", "yes": "/allow ", "n": "/deny ", "no": "/deny "}

// expandAnswer returns the command that "y" or "n" means while a question is pending; otherwise text itself.
func (e *editor) expandAnswer(ctx context.Context, text string) string {
	command := answers[strings.ToLower(strings.TrimSpace(text))]
	if command == "" {
		return text
	}
	if code := e.bot.Approval(ctx, e.conversation); code != "" {
		return command + code
	}
	return text
}

func (e *editor) echo(text string) error {
	return e.write(indent(wrap(printable(text), e.width()-promptWidth), "> ", "  ") + "\n")
}

// say handles a typed line. parseErr, if not nil, says why it is invalid.
func (e *editor) say(ctx context.Context, echoed string, line typed, parseErr error) error {
	if err := e.echo(echoed); err != nil {
		return err
	}
	if parseErr != nil {
		return e.report(ctx, parseErr)
	}
	if line.command == "" {
		return e.sayMessage(ctx, line.text, echoed)
	}
	answer, err := e.bot.Command(ctx, e.conversation, e.who, line.text)
	if err != nil {
		return e.report(ctx, err)
	}
	if line.command == "stop" || line.command == "pause" {
		e.waiting.Store(0) // the next Ctrl-C means something else, even if the turn takes a moment to end
	}
	if answer.Forgets && e.history != "" {
		if err := os.Truncate(e.history, 0); err != nil {
			e.note(sentences.In(e.language(e.conversation)).Sayf("your input history was not deleted: %s", err))
		}
	}
	err = e.write(hanging(printable(answer.String()), e.width(), answer.Aligned) + "\n")
	if answer.Then != nil && answer.Awaited {
		e.background.Go(func() {
			text := answer.Then(ctx).String()
			if ctx.Err() == nil {
				_ = e.write(wrap(printable(text), e.width()) + "\n")
			}
		})
	}
	return err
}

// sayMessage sends a message, and the files that are named in what was typed. The person waits until the conversation is idle: not every message is answered.
func (e *editor) sayMessage(ctx context.Context, text, typed string) error {
	m := inbound(e.who, text)
	if err := e.attach(ctx, &m, typed); err != nil {
		return e.report(ctx, err)
	}
	e.sent++
	message := e.sent
	e.waiting.Store(message)
	e.mu.Lock()
	e.sendLocked(waitMsg{}) // the screen shows for how long
	e.mu.Unlock()
	err := e.bot.Deliver(ctx, e.conversation, m)
	e.background.Go(func() { // after an error, too: an earlier message may still be answered
		_ = e.bot.Idle(ctx, e.conversation) // after an error there is nothing to stop
		e.waiting.CompareAndSwap(message, 0)
	})
	if err != nil {
		return e.report(ctx, err)
	}
	if why := e.bot.WhySilent(ctx, e.conversation); why != "" {
		e.note(why)
	}
	return nil
}

// report prints why a line was not handled; the arrow key brings the line back. It returns an error
// only when the run is ending.
func (e *editor) report(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	e.note(e.says(err.Error()))
	return nil
}

// status returns what the bot is doing, the name of the model that answers, and how full the window is; empty if unknown.
func (e *editor) status(ctx context.Context) string {
	now, err := e.bot.Status(ctx, e.conversation)
	doing := e.says(Printable(now.Doing))
	if err != nil {
		return doing
	}
	full := sentences.In(e.language(e.conversation)).Sayf("window %s full", fmt.Sprintf("%.0f %%", now.UsedPct))
	return fmt.Sprintf("%s · %s · %s", doing, Printable(now.Model), full)
}

// Interrupt returns false: the editor reads Ctrl-C as a key.
func (e *editor) Interrupt() bool                       { return false }
func (e *editor) note(text string)                      { _ = e.write(e.dimmed(text)) }
func (e *editor) Talks(conversation string) bool        { return conversation == e.conversation }
func (e *editor) Follows(conversation string) bool      { return conversation == e.conversation }
func (e *editor) attends() string                       { return e.conversation }
func (e *editor) tell(text string)                      { e.note("cairn: " + e.says(text)) }
func (e *editor) Attended(string) bool                  { return !e.left.Load() }
func (e *editor) Reply(string, []string) channel.Writer { return &stream{editor: e} }

// says translates a sentence into the conversation's language.
func (e *editor) says(text string) string {
	return sentences.In(e.language(e.conversation)).Translate(text)
}
