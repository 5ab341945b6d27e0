package main

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// typing runs the program at a pseudo-terminal on which somebody types a line.
func (p folder) typing(line string, args ...string) result {
	p.t.Helper()
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		p.t.Skip("no pseudo-terminals here: ", err)
	}
	defer pty.Close()
	number, err := unix.IoctlGetInt(int(pty.Fd()), unix.TIOCGPTN)
	if err = errors.Join(err, unix.IoctlSetPointerInt(int(pty.Fd()), unix.TIOCSPTLCK, 0)); err != nil {
		p.t.Fatal(err)
	}
	tty, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	defer tty.Close()
	if _, err := pty.WriteString(line + "\n"); err != nil {
		p.t.Fatal(err)
	}
	cmd := p.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, &out, &errs
	_ = cmd.Run() // its exit code is looked at
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

func TestPurgeAsks(t *testing.T) {
	t.Parallel()
	p := newFolder(t)
	p.community()
	r := p.typing("y", "purge", "--channel", "discord:2/20")
	if r.code != exitFailed || !strings.Contains(r.err, "To be deleted: 2 messages and 1 memory\n  discord:2/20") || !strings.Contains(r.err, "Type yes") || !strings.HasSuffix(r.err, "nothing was deleted\n") {
		t.Errorf("exit code %d, %q", r.code, r.err)
	}
	if p.holds("weather of 3") == 0 {
		t.Error("it is gone without a yes")
	}
	r = p.typing("yes", "purge", "--channel", "discord:2/20")
	if r.code != 0 || !strings.HasPrefix(r.out, "Deleted: 2 messages and 1 memory\n") {
		t.Errorf("exit code %d, %q, %q", r.code, r.out, r.err)
	}
	expect(t, "how often it is left", p.holds("weather of 3"), 0)
}
