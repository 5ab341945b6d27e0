package main

import (
	"bytes"
	"strings"
	"testing"

	"cairn/internal/check"
)

// typing runs the program at a pseudo-terminal on which a person types a line.
func (p folder) typing(line string, args ...string) result {
	p.t.Helper()
	pty, tty := pseudoTerminal(p.t)
	check.Must(pty.WriteString(line + "\n"))(p.t)
	cmd := p.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, &out, &errs
	_ = cmd.Run() // the caller checks its exit code
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

func TestPurgeAsksForConfirmation(t *testing.T) {
	t.Parallel()
	p := newFolder(t)
	p.community()
	r := p.typing("y", "purge", "--channel", "discord:2/20")
	if r.code != exitFailed || !strings.Contains(r.err, "To be deleted: 2 messages and 1 memory\n  discord:2/20") || !strings.Contains(r.err, "Type yes") || !strings.HasSuffix(r.err, "nothing was deleted\n") {
		t.Errorf("exit code %d, %q", r.code, r.err)
	}
	check.That(t, p.holds("weather of 3") != 0, "copies without a confirmation")
	r = p.typing("yes", "purge", "--channel", "discord:2/20")
	if r.code != 0 || !strings.HasPrefix(r.out, "Deleted: 2 messages and 1 memory\n") {
		t.Errorf("exit code %d, %q, %q", r.code, r.out, r.err)
	}
	check.Equal(t, "copies left", p.holds("weather of 3"), 0)
}
