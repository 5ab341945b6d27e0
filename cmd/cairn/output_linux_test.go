package main

import (
	"bytes"
	"strings"
	"testing"

	"cairn/internal/check"

	"charm.land/lipgloss/v2"
	"golang.org/x/sys/unix"
)

// onScreen runs the program with a pseudo-terminal as its output, and returns the screen.
func (p folder) onScreen(args ...string) string {
	p.t.Helper()
	return p.onScreenOf(&unix.Winsize{}, args...)
}

// onScreenOf is onScreen of a size.
func (p folder) onScreenOf(size *unix.Winsize, args ...string) string {
	p.t.Helper()
	pty, tty := pseudoTerminal(p.t)
	check.NoError(p.t, unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, size))
	var screen bytes.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = screen.ReadFrom(pty) // fails when the other end is closed
	}()
	cmd := p.command(args...)
	cmd.Stdout = tty
	err := cmd.Run()
	_ = tty.Close()
	<-read
	check.NoError(p.t, err)
	return strings.ReplaceAll(screen.String(), "\r\n", "\n")
}

func TestLongWorkShowsItsProgress(t *testing.T) {
	t.Parallel()
	p := newFolder(t)
	p.write("talk.jsonl", recorded(60))
	for _, args := range [][]string{{"import", "talk.jsonl"}, {"simulate", "talk.jsonl"}} {
		s := p.atScreen(args...)
		_ = s.cmd.Wait()
		<-s.done
		check.Contains(t, args[0], s.shown(), "\r100 %  60 of 60\r\x1b[K")
	}
}

func TestTablesFitTheTerminal(t *testing.T) {
	t.Parallel()
	p := fillGarden(t)
	for _, width := range []uint16{80, 100, 200} {
		for head, args := range map[string][]string{
			"ID KIND SAID BY": {"memories", "list", "--limit", "5"},
			"ID TIME TRIGG":   {"compactions", "--limit", "5"},
		} {
			lines := strings.Split(strings.TrimSpace(p.onScreenOf(&unix.Winsize{Row: 40, Col: width}, args...)), "\n")
			if len(lines) != 6 || !strings.HasPrefix(strings.Join(strings.Fields(lines[0]), " "), head) {
				t.Errorf("%d characters, %s: %q", width, args, lines)
			}
			for _, line := range lines {
				check.That(t, lipgloss.Width(line) <= int(width), "%d characters, %s: %q", width, args, line)
			}
			if cut := strings.Contains(strings.Join(lines, ""), "…"); cut != (width < 100 || width == 100 && args[0] == "memories") {
				t.Errorf("%d characters, %s: cut is %t\n%s", width, args, cut, strings.Join(lines, "\n"))
			}
		}
	}
}
