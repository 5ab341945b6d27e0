package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// process is one run of the program, and the goroutines that talk to it.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	errors bytes.Buffer // read when it has ended
	ended  chan struct{}
	talks  sync.WaitGroup
	pace   *rand.Rand
}

// command is one that the program is given, in its folder and without what the
// environment says of models and doors.
func (h *havoc) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, h.program, args...)
	cmd.Dir = h.dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return slices.ContainsFunc([]string{"OPENAI_", "DISCORD_", "SLACK_"}, func(prefix string) bool { return strings.HasPrefix(v, prefix) })
	})
	return cmd
}

// start starts the program; what it says reaches the clients.
func (h *havoc) start(ctx context.Context) (*process, error) {
	p := &process{cmd: h.command(ctx, "chat", "--json"), ended: make(chan struct{}), pace: rand.New(rand.NewPCG(h.random.Uint64(), 0))}
	in, errIn := p.cmd.StdinPipe()
	out, errOut := p.cmd.StdoutPipe()
	p.cmd.Stderr = &p.errors
	if err := errors.Join(errIn, errOut, p.cmd.Start()); err != nil {
		return nil, err
	}
	p.in = in
	go func() {
		defer close(p.ended)
		lines := bufio.NewReader(out)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil { // half a line was never said
				break
			}
			h.clients.hear(line)
		}
		_ = p.cmd.Wait() // killed, mostly
		p.log(h.dir)
	}()
	return p, nil
}

// log keeps what the process wrote on standard error, for whoever looks into a failure.
func (p *process) log(dir string) {
	file, err := os.OpenFile(filepath.Join(dir, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = file.Write(p.errors.Bytes())
	_ = file.Close()
}

// talk says these lines, and then, if next is not nil, what it returns, until the
// process is gone.
func (p *process) talk(lines []string, next func() string) {
	p.talks.Go(func() {
		for _, line := range lines {
			if _, err := io.WriteString(p.in, line); err != nil {
				return
			}
		}
		for next != nil {
			if _, err := io.WriteString(p.in, next()); err != nil {
				return
			}
			select {
			case <-p.ended:
				return
			case <-time.After(time.Duration(p.pace.IntN(90)) * time.Millisecond):
			}
		}
	})
}

// kill ends the process as a power cut does, and returns when all it said was heard.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
	p.talks.Wait()
}

// leave ends the input, and returns the exit code.
func (p *process) leave() int {
	p.talks.Wait()
	_ = p.in.Close()
	<-p.ended
	return p.cmd.ProcessState.ExitCode()
}

// said is the end of what the process wrote on standard error, once it has ended.
func (p *process) said() string {
	<-p.ended
	text := p.errors.String()
	return text[max(len(text)-500, 0):]
}
