package main

import (
	"context"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// crashProcess is one run of the program, with the goroutines that talk to it.
type crashProcess struct {
	*process
	ended chan struct{}
	talks sync.WaitGroup
	pace  *rand.Rand
}

// start starts the program and passes its output to the clients.
func (h *crashRun) start(ctx context.Context) (*crashProcess, error) {
	cmd := h.command(ctx, "chat", "--json")
	if h.people != nil {
		cmd = h.command(ctx, "run")
		cmd.Env = append(cmd.Env, h.people.environment()...)
		h.people.connected = h.people.connections()
	}
	p, err := chatWith(cmd)
	if err != nil {
		return nil, err
	}
	v := &crashProcess{process: p, ended: make(chan struct{}), pace: rand.New(rand.NewPCG(h.random.Uint64(), 0))}
	go func() {
		defer close(v.ended)
		for {
			text, err := p.out.ReadBytes('\n')
			if err != nil { // an incomplete line does not count
				break
			}
			h.clients.hear(text)
		}
		_ = p.Wait() // usually killed
		v.log(h.dir)
	}()
	return v, nil
}

// lifetime returns how long a process may live. One in five dies while it is starting, some at
// once; the others are log-uniform from 0.03 to 2.5 s, on a platform from 0.1 to 8 s.
func (h *crashRun) lifetime() time.Duration {
	starts := 60 * time.Millisecond
	low := math.Log(0.03)
	high := math.Log(2.5)
	if h.people != nil {
		starts = 300 * time.Millisecond
		low = math.Log(0.1)
		high = math.Log(8)
	}
	if h.random.IntN(5) == 0 {
		return time.Duration(h.random.Int64N(int64(starts)))
	}
	return time.Duration(math.Exp(low+h.random.Float64()*(high-low)) * float64(time.Second))
}

// talk has people talk to a process until it ends.
func (h *crashRun) talk(p *crashProcess) {
	if h.people == nil {
		p.sendAll(h.clients.unaccepted(), h.clients.next)
		return
	}
	p.actAll(h.people.act)
}

// up reports whether the process has written a line, or has a connection to its platform.
func (h *crashRun) up() bool {
	if h.people != nil {
		return h.people.connections() > h.people.connected
	}
	h.clients.mu.Lock()
	defer h.clients.mu.Unlock()
	return h.clients.heard > 0
}

// log appends the process's standard error to a file, for debugging failures.
func (v *crashProcess) log(dir string) {
	file, err := os.OpenFile(filepath.Join(dir, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = file.Write(v.stderr.Bytes())
	_ = file.Close()
}

// sendAll writes lines, and then, if next is not nil, what next returns, until the process has
// ended.
func (v *crashProcess) sendAll(lines []string, next func() string) {
	v.talks.Go(func() {
		for _, said := range lines {
			if _, err := io.WriteString(v.in, said); err != nil {
				return
			}
		}
		for next != nil {
			if _, err := io.WriteString(v.in, next()); err != nil {
				return
			}
			select {
			case <-v.ended:
				return
			case <-time.After(time.Duration(v.pace.IntN(90)) * time.Millisecond):
			}
		}
	})
}

// actAll has people do something now and then until the process has ended.
func (v *crashProcess) actAll(act func()) {
	v.talks.Go(func() {
		for {
			select {
			case <-v.ended:
				return
			case <-time.After(time.Duration(v.pace.IntN(400)) * time.Millisecond):
				act()
			}
		}
	})
}

// crash kills the process, as in a power cut, and returns when all its output was read.
func (v *crashProcess) crash() {
	_ = v.Process.Kill() // it may already have ended
	<-v.ended
	v.talks.Wait()
}

// finish closes the input, and returns the exit code.
func (v *crashProcess) finish() int {
	v.talks.Wait()
	_ = v.in.Close()
	<-v.ended
	return v.ProcessState.ExitCode()
}

// stderrTail waits for the end of the process, and returns the end of its standard error.
func (v *crashProcess) stderrTail() string {
	<-v.ended
	text := v.stderr.String()
	return text[max(len(text)-500, 0):]
}
