package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"cairn/testkit/loopback"
)

// machine is a folder in which one process after another runs the bot.
type machine struct {
	program
	number      int
	environment []string
	network     loopback.Network                 // between the processes and the platforms
	report      func(format string, args ...any) // of what must not happen

	mu       sync.Mutex // guards everything below
	runs     string     // the path of the program
	process  *exec.Cmd
	ended    chan struct{} // closed when the process has ended
	expected bool          // somebody has ended it
	closing  bool          // no other one follows
	spent    time.Duration // by all that have ended, on processors
}

// run starts a process, and another one whenever one has ended, until the machine is stopped.
func (m *machine) run(ctx context.Context) error {
	log, err := os.OpenFile(filepath.Join(m.dir, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	for ctx.Err() == nil {
		if err := m.start(ctx, log); err != nil {
			return err
		}
		_ = m.process.Wait() // how it ended is in its state
		if m.hasEnded(ctx) {
			return nil
		}
	}
	return nil
}

func (m *machine) start(ctx context.Context, log *os.File) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	cmd := m.calls(ctx, m.runs, "run", "--log-level", "debug")
	cmd.Stderr = log
	m.process = cmd
	m.ended = make(chan struct{})
	m.expected = false
	return cmd.Start()
}

// calls returns a command of one of the builds in the folder.
func (m *machine) calls(ctx context.Context, build string, args ...string) *exec.Cmd {
	cmd := m.command(ctx, args...)
	cmd.Path = build
	cmd.Env = append(cmd.Env, m.environment...)
	return cmd
}

// change sets the build that the next process runs.
func (m *machine) change(build string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runs = build
}

// hasEnded notes the end of a process, and reports whether it was the last one.
func (m *machine) hasEnded(ctx context.Context) bool {
	m.mu.Lock()
	state := m.process.ProcessState
	m.spent += state.UserTime() + state.SystemTime()
	surprising := !m.expected && ctx.Err() == nil
	closing := m.closing
	close(m.ended)
	m.mu.Unlock()
	if surprising {
		m.report("%s the process %d of machine %d ended by itself: %v", clockTime(time.Now()), state.Pid(), m.number, state)
		return sleep(ctx, time.Second) != nil
	}
	return closing
}

// pid returns the number of the process that runs, or has run last.
func (m *machine) pid() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.process == nil || m.process.Process == nil {
		return 0
	}
	return m.process.Process.Pid
}

// end sends a signal that ends the process, and waits until it has ended.
func (m *machine) end(ctx context.Context, signal syscall.Signal, within time.Duration) error {
	m.mu.Lock()
	process := m.process
	ended := m.ended
	m.expected = true
	m.mu.Unlock()
	if err := process.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-ended:
		if code := process.ProcessState.ExitCode(); signal == syscall.SIGTERM && code != stoppedBySignal {
			m.report("%s the process %d of machine %d ended with %d after SIGTERM", clockTime(time.Now()), process.Process.Pid, m.number, code)
		}
		return nil
	case <-time.After(within):
		m.report("%s the process %d of machine %d did not end within %v", clockTime(time.Now()), process.Process.Pid, m.number, within)
		return process.Process.Kill()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stop ends the last process.
func (m *machine) stop(ctx context.Context) error {
	m.mu.Lock()
	m.closing = true
	m.mu.Unlock()
	return m.end(ctx, syscall.SIGTERM, 2*shutdown)
}

// signal sends a signal that does not end the process.
func (m *machine) signal(signal syscall.Signal) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.process.Process.Signal(signal)
}

func (m *machine) cpu() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.spent
}

// clockTime is a moment as the logs have it.
func clockTime(t time.Time) string { return t.UTC().Format("15:04:05.000") }

// throughNetwork returns settings whose platforms are reached through a network.
func (r *fleetRun) throughNetwork(n *loopback.Network, settings string) (string, error) {
	for _, v := range r.venues {
		address, err := n.Carry(v.address())
		if err != nil {
			return "", err
		}
		settings = strings.Replace(settings, v.address(), address, 1)
	}
	return settings, nil
}

// newMachines makes n folders for processes with the same settings.
func (r *fleetRun) newMachines(ctx context.Context, n int, settings string, environment []string) error {
	for i := range n {
		dir := filepath.Join(r.dir, fmt.Sprint("machine", i))
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		m := &machine{program: program{dir}, number: i, environment: environment, report: r.report}
		own, err := r.throughNetwork(&m.network, settings)
		switch {
		case err != nil:
		case i == 0:
			m.program, err = buildCairn(ctx, dir, own)
		default:
			err = errors.Join(os.Link(filepath.Join(r.dir, "machine0", "cairn"), filepath.Join(dir, "cairn")),
				os.WriteFile(filepath.Join(dir, "config.toml"), []byte(own), 0o600))
		}
		if err != nil {
			return err
		}
		m.runs = filepath.Join(dir, "cairn")
		r.machines = append(r.machines, m)
	}
	return nil
}
