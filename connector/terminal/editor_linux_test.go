package terminal

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/sys/unix"

	"cairn/channel/access"
	"cairn/compactor"
	"cairn/llm"
	"cairn/testkit/channeltest"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

func TestEditorShowsReplies(t *testing.T) {
	t.Parallel()
	t.Run("text is shown before the server has sent the rest, and what is not the reply after its last row", func(t *testing.T) {
		var k *keyboard
		asked := 0
		k = sit(t, Options{}, served(t, func(x *llmtest.Exchange) {
			x.Piece("One two three four five six seven eight ")
			x.Piece("nine")
			asked++
			if asked == 2 {
				k.screen.until(t, "the second answer", func(screen string) bool { return strings.Count(screen, "One two") == 2 })
				k.typed(t, "\x03")
				x.Wait(20 * time.Second)
				return
			}
			k.screen.wait(t, "One two three four five six seven eight\nnine\n")
			k.connector.Compaction("terminal:general", compactor.Event{State: compactor.EventApplied, From: 1, To: 9})
			_, _ = k.connector.Notes().Write([]byte("a log line\n"))
			k.screen.wait(t, "a log line") // it is shown as waiting
			inOrder(t, k.screen.String(), "nine", "a log line")
			x.Say(" ten")
		}))
		check.NoError(t, k.hub.Idle(t.Context(), "terminal:general")) // just opened, it looks for unsent replies before it shows a new one
		k.typed(t, "count\r")
		k.screen.until(t, "the whole answer, once", func(screen string) bool {
			return strings.Contains(screen, "nine ten\n") && strings.Count(screen, "One two") == 1
		})
		inOrder(t, k.screen.String(), "One two", "nine ten", "· summarized messages 1 to 9", "a log line")
		k.shows(t, "again\r", "Stopped.") // which comes after the last row of what it stopped
		inOrder(t, k.screen.String(), "a log line", "One two", "nine", "Stopped.")
	})
	t.Run("Markdown is shown as what it means, and what a stranger wrote cannot change the terminal", func(t *testing.T) {
		k := sit(t, Options{}, scripted(says("# Tides\n\nThe **wall** is `high`.\n\n- one\n- two\n\nred \x1b[31malert\x07 \u009b2J")))
		k.shows(t, "hello\r", "Tides\n\nThe wall is high.\n\n• one\n• two\n\nred [31malert 2J\n")
	})
	t.Run("who waits sees for how long, for what, for which model, and how full the window is", func(t *testing.T) {
		var k *keyboard
		k = sit(t, Options{}, served(t, func(x *llmtest.Exchange) {
			k.screen.until(t, "a sign of life", regexp.MustCompile(`· (< 1|\d+) s · thinking · test-model · window \d+ % full`).MatchString)
			x.Say("here I am")
		}))
		k.resize(60)
		k.typed(t, "hello\r")
		k.screen.until(t, "the answer, and no sign any more", func(screen string) bool {
			return strings.Contains(screen, "here I am") && !strings.Contains(screen, "window")
		})
	})
	t.Run("who waits sees which tool runs, and that it waits for permission", func(t *testing.T) {
		k := sit(t, Options{}, scripted(channeltest.Add))
		k.shows(t, "please add\r", " s · waiting for permission · ")
		k.shows(t, "yes\r", "The tool says: five")
	})
}

// Ctrl-C stops an answer, then clears the line, then leaves. A message that is not saved leaves an
// earlier one waiting.
func TestCtrlC(t *testing.T) {
	t.Parallel()
	model := scripted(func(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
		<-ctx.Done()
		return llm.Response{}, ctx.Err()
	})
	k := sit(t, Options{}, model)
	k.typed(t, "hello\r")
	check.Require(t, check.Soon(func() bool { return len(model.Requests()) > 0 }), "no request")
	k.hub.Renew(access.Rules{Access: map[string]access.Access{"terminal": {Allow: []string{"Bo"}}}})
	k.shows(t, "and this\r", "was not accepted. Send it again later.")
	k.hub.Renew(access.Rules{})
	k.shows(t, "\x03", "Stopped.")
	k.typed(t, "half a line\x03")
	k.screen.until(t, "an empty line", func(screen string) bool { return strings.HasSuffix(screen, "\n>") })
	k.leave(t, "\x03")
	check.Len(t, "requests", model.Requests(), 1)
}

func TestPauseAndSlowCommand(t *testing.T) {
	t.Parallel()
	k := sit(t, Options{}, scripted(echo))
	k.shows(t, "Ada moved to Turin in May.\r", "you said Ada")
	k.shows(t, "/recap\r", "one moment.")
	k.screen.wait(t, "Made without a model")
	k.shows(t, "/pause\r", "listening.")
	k.shows(t, "hello\r", "I am still paused here; /resume ends\nthe pause.")
	check.That(t, check.Soon(func() bool { return k.connector.mode.(*editor).waiting.Load() == 0 }), "the message still waits")
	k.leave(t, "\x03")
}

// The keys of one session: each part begins and ends with an empty line.
func TestEditorKeys(t *testing.T) {
	t.Parallel()
	model := scripted(echo)
	k := sit(t, Options{History: filepath.Join(t.TempDir(), "history")}, model)
	t.Run("Ctrl-R finds an earlier line with what was typed, which may be changed", func(t *testing.T) {
		for _, line := range []string{"the tide is high", "the bell rings", "nothing else"} {
			k.typed(t, line+"\r")
			k.screen.wait(t, "you said "+line)
		}
		k.typed(t, "the\x12")
		k.screen.until(t, "the newest such line", func(screen string) bool { return strings.HasSuffix(screen, "\n> the bell rings") })
		k.typed(t, "\x12")
		k.screen.until(t, "an older one", func(screen string) bool { return strings.HasSuffix(screen, "\n> the tide is high") })
		k.shows(t, "\x12", "No earlier line contains this.")
		k.shows(t, "er\r", "you said the tide is higher")
	})
	t.Run("Alt-Enter begins a new line, which is part of the message and of the history", func(t *testing.T) {
		k.shows(t, "one\x1b\rtwo", "> one\n  two")
		k.shows(t, "\r", "you said one\n")
		requests := model.Requests()
		check.Equal(t, "prompt", lastWords(requests[len(requests)-1]), "one\ntwo")
		k.typed(t, "\x1b[A")
		k.screen.until(t, "both lines", func(screen string) bool { return strings.HasSuffix(screen, "\n> one\n  two") })
		check.That(t, check.Soon(func() bool { return k.connector.mode.(*editor).waiting.Load() == 0 }), "the message still waits")
		k.typed(t, "\x03") // would stop an answer otherwise
	})
	t.Run("Home, End and Delete do what they say, whatever the terminal sends for them", func(t *testing.T) {
		k.typed(t, "\x1b[3~") // on an empty line
		for i, keys := range [][2]string{{"\x1b[1~", "\x1b[4~"}, {"\x1b[7~", "\x1b[8~"}, {"\x1b[H", "\x1b[F"}} {
			k.typed(t, "bc"+keys[0]+"xa"+keys[0]+"\x1b[3~"+keys[1]+fmt.Sprintf("d%d\r", i))
			k.screen.wait(t, fmt.Sprintf("you said abcd%d\n", i))
		}
	})
	t.Run("bytes that are no UTF-8 are passed over", func(t *testing.T) {
		k.typed(t, "a\xff\xc3(b\xe2\x82")
		k.shows(t, "\xac\r", "you said a(b€")
	})
	k.leave(t, "\x04")
}

// What the screen shows of a session without colour, whose disk fails at its end.
func TestEditorLines(t *testing.T) {
	model := scripted(echo)
	t.Setenv("NO_COLOR", "1")
	k := sit(t, Options{}, model)
	t.Run("a slash shows the commands and their help, and Tab completes", func(t *testing.T) {
		k.shows(t, "/", "▸ /compact [focus]")
		k.shows(t, "co", "  /context          show how full")
		k.shows(t, "\x1b[B\t", "\n> /context")
		k.screen.until(t, "no menu", func(screen string) bool { return !strings.Contains(screen, "▸") })
		k.shows(t, "\r", "stack     empty")
		k.shows(t, "/sto\r", "> /stop") // Enter completes too
		k.screen.wait(t, "nothing to stop")
	})
	t.Run("an unknown command is refused and not sent", func(t *testing.T) {
		k.shows(t, "/contxt\r", "Did you\nmean /context?")
		check.Len(t, "requests", model.Requests(), 0)
	})
	t.Run("no row breaks within a word, inside a reply or outside of it", func(t *testing.T) {
		k.shows(t, "Seventeen harbour lanterns\r", "you said Seventeen harbour lanterns")
		k.shows(t, "Eight harbour lanterns illuminate it\r", "you said Eight harbour lanterns\nilluminate it")
		k.connector.Notes().Write([]byte("Seventeen harbour lanterns are extinguished\n"))
		k.screen.wait(t, "Seventeen harbour lanterns are\nextinguished")
		k.shows(t, "**bold** `code`\r", "bold code")
		k.raw.wait(t, "\x1b[1mbold\x1b[22m")
		check.Contains(t, "the screen", k.raw.String(), "\x1b[2m")
		check.Lacks(t, "the screen", k.raw.String(), "\x1b[36m")
	})
	t.Run("a message that could not be written is told in a sentence, and the next may be sent", func(t *testing.T) {
		k.lose(t)
		k.shows(t, "hello\r", "was not accepted. Send it again later.")
		k.shows(t, "/context\r", "That did not work; my log says why.")
		k.leave(t, "/quit\r") // no answer is pending
		k.logged.wait(t, "database is closed")
		check.Lacks(t, fmt.Sprintf("internal words on the terminal: %q", k.screen), k.screen.String(), "database")
	})
}

func TestApprovals(t *testing.T) {
	t.Parallel()
	k := sit(t, Options{}, scripted(channeltest.Add))
	asked := func(keys string, times int) {
		t.Helper()
		k.typed(t, keys)
		k.screen.until(t, fmt.Sprint("question ", times), func(screen string) bool { return strings.Count(screen, "[y/n]") == times })
	}
	asked("please add\r", 1)
	k.shows(t, "no\r", "denied the")
	k.screen.wait(t, "The tool says: Error")
	asked("add all the same\r", 2)
	k.shows(t, "y\r", "The tool says: five")
	k.shows(t, "y\r", "Hello.") // no question is open: it is a message
	asked("please add\r", 3)
	k.shows(t, "/stop\r", "Stopped.")
	asked("y\r", 4)    // a message, for which the model asks again
	k.leave(t, "\x04") // who leaves need not wait until the question times out
	k.screen.until(t, "the refusal", func(screen string) bool {
		return strings.Contains(strings.ReplaceAll(screen, "\n", " "), "there is no one to ask here")
	})
}

func TestEditorShowsTheRest(t *testing.T) {
	t.Parallel()
	model := scripted(says("yes"))
	k := sit(t, Options{}, model, func(s *session) {
		storetest.DeliverOnly(t, storetest.Find(t, s.store, "terminal:general"), storetest.Asking(1, "left over"))
	})
	k.screen.wait(t, "> left over\nyes")
	k.shows(t, "half a li", "> half a li")
	k.connector.Compaction("terminal:general", compactor.Event{State: compactor.EventApplied, From: 1, To: 9})
	k.screen.wait(t, "· summarized messages 1 to 9\n> half a li")
	check.Contains(t, "a dim line", k.raw.String(), "\x1b[2m· summarized messages 1 to 9\x1b[22m")
	k.shows(t, "ne\r", "half a line\nyes")
	t.Run("a pasted Tab is shown and stays one, also in a line that the arrow key brings back", func(t *testing.T) {
		k.shows(t, "\x1b[200~if so:\r\treturn\t東\x1b[201~", "> if so:\n  →return→東")
		k.shows(t, "\r", "> if so:\n          return  東")
		check.Require(t, check.Soon(func() bool { return len(model.Requests()) == 3 }), "it is not sent")
		check.Equal(t, "prompt", lastWords(model.Requests()[2]), "if so:\n\treturn\t東")
		k.shows(t, "\x1b[A", "> if so:\n  →return→東")
		check.Require(t, check.Soon(func() bool { return k.connector.mode.(*editor).waiting.Load() == 0 }), "the message still waits")
		k.typed(t, "\x03")
	})
	t.Run("what is pasted is one message, Tabs and newlines included", func(t *testing.T) {
		k.raw.wait(t, "\x1b[?2004h") // asks the terminal to mark pasted text
		for i, pasted := range []string{"one\r\ttwo\r" + strings.Repeat("x", 5000), strings.Repeat("row\r", pasteRows)} {
			const twice = 2 // each has the same placeholder
			k.typed(t, strings.Repeat("\x1b[200~"+pasted+"\x1b[201~", twice)+" three\r")
			mark := fmt.Sprintf("[pasted %d: %d characters, %d lines]", i+1, len(pasted), 1+strings.Count(pasted, "\r"))
			k.screen.until(t, mark, func(screen string) bool {
				_, after, found := strings.Cut(strings.Join(strings.Fields(screen), " "), strings.Repeat(mark, twice)+" three")
				return found && strings.Contains(after, "yes") // perhaps behind the line of a compaction
			})
			check.Require(t, check.Soon(func() bool { return len(model.Requests()) == 4+i }), "it is not sent")
			sent := strings.Repeat(strings.ReplaceAll(pasted, "\r", "\n"), twice) + " three"
			check.Equal(t, "prompt", lastWords(model.Requests()[3+i]), sent)
		}
	})
}

func TestEditorEnds(t *testing.T) {
	t.Parallel()
	t.Run("an end from outside leaves the terminal as it was", func(t *testing.T) {
		pty, tty := pseudoTerminal(t)
		defer tty.Close()
		defer pty.Close()
		s := open(t, Options{In: tty, Out: tty, Err: tty}, scripted(echo))
		before := check.Must(unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS))(t)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		check.Error(t, s.connector.Run(ctx, Here(s.hub, s.log), s.log), context.Canceled)
		after := check.Must(unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS))(t)
		check.Equal(t, "the state of the terminal afterwards", *after, *before)
	})
	t.Run("a screen that fails ends the run, and the log, which the terminal shows, says so", func(t *testing.T) {
		k := sit(t, Options{}, scripted(echo), func(s *session) { s.log = slog.New(slog.NewTextHandler(s.connector.Notes(), nil)) })
		k.shows(t, "half a line", "> half a line")
		k.connector.mode.(*editor).program.Send(tea.InterruptMsg{})
		k.leave(t, "")
		k.screen.wait(t, "terminal_ended")
	})
	t.Run("the arrow key brings back a line of an earlier session", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "history")
		k := sit(t, Options{History: file}, scripted(echo))
		k.shows(t, "remember me\r", "you said remember me")
		k.leave(t, "\x04")
		again := sit(t, Options{History: file}, scripted(echo))
		again.typed(t, "\x1b[A\r")
		again.screen.wait(t, "you said remember me")
		again.shows(t, "/forget me\r", "Type /forget me yes to confirm")
		check.Contains(t, "file", string(check.Must(os.ReadFile(file))(t)), "remember me")
		again.shows(t, "/forget me yes\r", "Deleted: ")
		check.Equal(t, "file after /forget me", string(check.Must(os.ReadFile(file))(t)), "")
		check.Equal(t, "the mode of the file", check.Must(os.Stat(file))(t).Mode().Perm(), 0o600)
	})
}

func TestWaitingTimeIsShownOnceItRuns(t *testing.T) {
	var waiting atomic.Int64
	s := newScreen(&history{}, make(chan entry, 1), &waiting)
	waiting.Store(1) // and the screen does not know yet since when
	check.Len(t, "rows", s.rowsAboveInput(), 0)
	s.Update(waitMsg{})
	check.EqualAll(t, "rows", s.rowsAboveInput(), []string{styled(dim, "· < 1 s")})
	s.since = s.since.Add(-3 * time.Second)
	s.Update(tickMsg{}) // while the status is not known
	check.EqualAll(t, "rows", s.rowsAboveInput(), []string{styled(dim, "· 3 s")})
	s.Update(statusMsg("thinking"))
	check.EqualAll(t, "rows", s.rowsAboveInput(), []string{styled(dim, "· 3 s · thinking")})
}
