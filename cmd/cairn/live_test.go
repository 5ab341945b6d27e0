package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"cairn/internal/check"
)

// live is a running program whose lines are read as they come.
type live struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	errs  *check.Buffer
	ended chan struct{}
}

// start starts the program. It is killed when the test ends.
func (p folder) start(args ...string) *live {
	p.t.Helper()
	l := &live{t: p.t, cmd: p.command(args...), lines: make(chan string, 1000), errs: &check.Buffer{}, ended: make(chan struct{})}
	l.cmd.Stderr = l.errs
	in, errIn := l.cmd.StdinPipe()
	out, errOut := l.cmd.StdoutPipe()
	check.NoError(p.t, errors.Join(errIn, errOut, l.cmd.Start()))
	l.in = in
	go func() {
		defer close(l.ended)
		defer close(l.lines)
		text := json.NewDecoder(out)
		for line := (json.RawMessage{}); text.Decode(&line) == nil; line = nil {
			l.lines <- string(line)
		}
		_ = l.cmd.Wait() // the exit code shows it
	}()
	p.t.Cleanup(func() {
		_ = l.cmd.Process.Kill() // it may have ended
		_, _ = l.rest()
	})
	return l
}

func (l *live) say(line string) {
	l.t.Helper()
	check.Must(io.WriteString(l.in, line+"\n"))(l.t)
}

// until returns the lines up to the first that contains text.
func (l *live) until(text string) (lines []string) {
	l.t.Helper()
	patience := time.After(30 * time.Second)
	for {
		select {
		case line, ok := <-l.lines:
			check.Require(l.t, ok, "the output ended before %s; got %q", text, lines)
			lines = append(lines, line)
			if strings.Contains(line, text) {
				return lines
			}
		case <-patience:
			l.t.Fatalf("timed out waiting for %s; got %q", text, lines)
		}
	}
}

// rest returns the remaining output until the program ends, and its exit code.
func (l *live) rest() (lines []string, code int) {
	for line := range l.lines {
		lines = append(lines, line)
	}
	<-l.ended
	return lines, l.cmd.ProcessState.ExitCode()
}

// end ends the input, checks that the program exits with code 0, and returns the remaining output.
func (l *live) end() (lines []string) {
	l.t.Helper()
	_ = l.in.Close()
	lines, code := l.rest()
	check.Equal(l.t, "exit code", code, 0)
	return lines
}

// killed closes the input, waits for the end, which must be by SIGKILL, and returns the output.
func (l *live) killed() (lines []string) {
	l.t.Helper()
	_ = l.in.Close() // a program that is not killed ends normally
	lines, _ = l.rest()
	if status := l.cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGKILL {
		l.t.Fatalf("the step was not reached: %v; output %q\n%s", l.cmd.ProcessState, lines, l.errs)
	}
	return lines
}

func (l *live) signal(s syscall.Signal) {
	l.t.Helper()
	check.NoError(l.t, l.cmd.Process.Signal(s))
}

// stop sends SIGTERM, and wants the program to end with its number.
func (l *live) stop() {
	l.t.Helper()
	l.signal(syscall.SIGTERM)
	l.exits(143)
}

// exits waits for the end, and wants an exit code.
func (l *live) exits(want int) {
	l.t.Helper()
	select {
	case <-l.ended:
	case <-time.After(time.Minute):
		l.t.Fatalf("the program does not end; output:\n%s", l.errs)
	}
	if code := l.cmd.ProcessState.ExitCode(); code != want {
		l.t.Errorf("got exit code %d, want %d\n%s", code, want, l.errs)
	}
}
