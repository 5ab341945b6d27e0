package main

import (
	"context"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// victim is one run of the program, and the goroutines that talk to it.
type victim struct {
	*process
	ended chan struct{}
	talks sync.WaitGroup
	pace  *rand.Rand
}

// start starts the program; what it says reaches the clients.
func (h *havoc) start(ctx context.Context) (*victim, error) {
	p, err := chatWith(h.command(ctx, "chat", "--json"))
	if err != nil {
		return nil, err
	}
	v := &victim{process: p, ended: make(chan struct{}), pace: rand.New(rand.NewPCG(h.random.Uint64(), 0))}
	go func() {
		defer close(v.ended)
		for {
			text, err := p.out.ReadBytes('\n')
			if err != nil { // half a line was never said
				break
			}
			h.clients.hear(text)
		}
		_ = p.Wait() // killed, mostly
		v.log(h.dir)
	}()
	return v, nil
}

// log keeps what the process wrote on standard error, for whoever looks into a failure.
func (v *victim) log(dir string) {
	file, err := os.OpenFile(filepath.Join(dir, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = file.Write(v.stderr.Bytes())
	_ = file.Close()
}

// talk says these lines, and then, if next is not nil, what it returns, until the
// process is gone.
func (v *victim) talk(lines []string, next func() string) {
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

// die ends the process as a power cut does, and returns when all it said was heard.
func (v *victim) die() {
	_ = v.Process.Kill() // it may have ended
	<-v.ended
	v.talks.Wait()
}

// finish ends the input, and returns the exit code.
func (v *victim) finish() int {
	v.talks.Wait()
	_ = v.in.Close()
	<-v.ended
	return v.ProcessState.ExitCode()
}

// said is the end of what the process wrote on standard error, once it has ended.
func (v *victim) said() string {
	<-v.ended
	text := v.stderr.String()
	return text[max(len(text)-500, 0):]
}
