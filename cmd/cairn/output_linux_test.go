package main

import (
	"strings"
	"testing"

	"cairn/internal/check"

	"charm.land/lipgloss/v2"
	"golang.org/x/sys/unix"
)

func TestTablesFitTheTerminal(t *testing.T) {
	t.Parallel()
	p := fillGarden(t)
	screen := func(width uint16, args ...string) []string {
		pty, tty := pseudoTerminal(t)
		check.NoError(t, unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: width}))
		cmd := p.command(args...)
		cmd.Stdout = tty
		check.NoError(t, cmd.Run())
		text := make([]byte, 1<<16)
		n := check.Must(pty.Read(text))(t)
		return strings.Split(strings.TrimSpace(strings.ReplaceAll(string(text[:n]), "\r", "")), "\n")
	}
	for _, width := range []uint16{80, 100, 200} {
		for head, args := range map[string][]string{
			"ID KIND SAID BY": {"memories", "list", "--limit", "5"},
			"ID TIME TRIGGER": {"compactions", "--limit", "5"},
		} {
			lines := screen(width, args...)
			if len(lines) != 6 || !strings.HasPrefix(strings.Join(strings.Fields(lines[0]), " "), head) {
				t.Errorf("%d characters, %s: %q", width, args, lines)
			}
			for _, line := range lines {
				if lipgloss.Width(line) > int(width) {
					t.Errorf("%d characters, %s: %q", width, args, line)
				}
			}
			if cut := strings.Contains(strings.Join(lines, ""), "…"); cut != (width < 100 || width == 100 && args[0] == "memories") {
				t.Errorf("%d characters, %s: cut is %t\n%s", width, args, cut, strings.Join(lines, "\n"))
			}
		}
	}
}
