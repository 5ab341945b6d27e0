package terminal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
)

func TestEditorShowsTheRest(t *testing.T) {
	t.Run("a compaction is a dim line, above what is being typed", func(t *testing.T) {
		k := sit(t, Options{}, scripted(echo))
		k.shows(t, "half a li", "> half a li")
		k.connector.Compaction("terminal:general", compactor.Event{State: compactor.EventStarted, From: 1, To: 9})
		k.screen.wait(t, "· compacting messages 1 to 9\n> half a li")
		check.Contains(t, fmt.Sprintf("not dim: %q", k.raw), k.raw.String(), "\x1b[2m· compacting messages 1 to 9\x1b[22m")
		k.shows(t, "ne\r", "you said half a line")
	})
	t.Run("what is pasted is one message, Tabs and newlines included", func(t *testing.T) {
		model := scripted(func(context.Context, int, llm.Request) (llm.Response, error) { return llmtest.Say("yes"), nil })
		k := sit(t, Options{}, model)
		k.raw.wait(t, "\x1b[?2004h") // asks the terminal to mark pasted text
		k.typed(t, "\x1b[200~one\r\ttwo\r"+strings.Repeat("x", 5000)+"\x1b[201~")
		k.screen.wait(t, "[pasted 1: 5009 characters, 3 lines]")
		k.shows(t, " three\r", "> [pasted 1: 5009 characters, 3 lines]\nthree\nyes")
		told := model.Requests()[0].Messages
		text := told[len(told)-1].Text
		check.Contains(t, "prompt", text, "one\n\ttwo\n"+strings.Repeat("x", 5000)+" three")
	})
	t.Run("Markdown is shown as what it means", func(t *testing.T) {
		k := sit(t, Options{}, scripted(func(context.Context, int, llm.Request) (llm.Response, error) {
			return llmtest.Say("# Tides\n\nThe **wall** is `high`.\n\n- one\n- two"), nil
		}))
		k.shows(t, "hello\r", "Tides\n\nThe wall is high.\n\n• one\n• two")
	})
	t.Run("what a stranger wrote cannot change the terminal", func(t *testing.T) {
		k := sit(t, Options{}, scripted(func(context.Context, int, llm.Request) (llm.Response, error) {
			return llmtest.Say("red \x1b[31malert\x07 \u009b2J"), nil
		}))
		k.shows(t, "hello\r", "red [31malert 2J\n")
	})
}

func TestEditorEnds(t *testing.T) {
	t.Run("an end from outside leaves the terminal as it was", func(t *testing.T) {
		pty, tty := pseudoTerminal(t)
		defer tty.Close()
		defer pty.Close()
		t.Setenv("TERM", "xterm")
		s := open(t, Options{In: tty, Out: tty, Err: tty}, echo)
		before := check.Must(unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS))(t)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		check.Error(t, s.connector.Run(ctx, s.hub, s.log), context.Canceled)
		after := check.Must(unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS))(t)
		check.Equal(t, "the state of the terminal afterwards", *after, *before)
	})
	t.Run("the arrow key brings back a line of an earlier session", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "history")
		k := sit(t, Options{History: file}, scripted(echo))
		k.shows(t, "remember me\r", "you said remember me")
		k.typed(t, "\x04")
		check.NoError(t, k.end(t))
		again := sit(t, Options{History: file}, scripted(echo))
		again.typed(t, "\x1b[A\r")
		again.screen.wait(t, "you said remember me")
		again.shows(t, "/forget me\r", "Say /forget me yes to confirm")
		check.Contains(t, "file", string(check.Must(os.ReadFile(file))(t)), "remember me")
		again.shows(t, "/forget me yes\r", "Deleted: ")
		check.Equal(t, "file after /forget me", string(check.Must(os.ReadFile(file))(t)), "")
		check.Equal(t, "the mode of the file", check.Must(os.Stat(file))(t).Mode().Perm(), 0o600)
	})
}

func TestWaitingTimeIsShownOnceItRuns(t *testing.T) {
	var waiting atomic.Int64
	s := newScreen(&history{}, make(chan entry, 1), &waiting, false)
	waiting.Store(1) // and the screen does not know yet since when
	check.Len(t, "rows", s.rowsBelow(), 0)
	s.Update(waitMsg{})
	check.EqualAll(t, "rows", s.rowsBelow(), []string{"· 0 s"})
}
