package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// program is cairn, built into a folder that also contains its settings.
type program struct{ dir string }

// compileCairn builds cairn as file, linked like a release. The tests build it once for all.
var compileCairn = func(ctx context.Context, file string) error {
	if said, err := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", file, "cairn/cmd/cairn").CombinedOutput(); err != nil {
		return fmt.Errorf("build cairn: %w\n%s", err, said)
	}
	return nil
}

func buildCairn(ctx context.Context, dir, settings string) (program, error) {
	p := program{dir}
	if err := compileCairn(ctx, filepath.Join(dir, "cairn")); err != nil {
		return p, err
	}
	return p, os.WriteFile(filepath.Join(dir, "config.toml"), []byte(settings), 0o600)
}

// withCairn calls do with a program in a new folder below parent, which is removed afterwards.
func withCairn(ctx context.Context, s *screen, parent string, do func(program) error) error {
	dir, err := os.MkdirTemp(parent, "cairn-bench-")
	if err != nil {
		return err
	}
	s.progress("cairn is being built")
	p, err := buildCairn(ctx, dir, "")
	if err == nil {
		err = do(p)
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// command returns a command that runs in the program's folder, without environment variables for
// models and connectors.
func (p program) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(p.dir, "cairn"), args...)
	cmd.Dir = p.dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "_")
		return slices.Contains([]string{"OPENAI", "ANTHROPIC", "DISCORD", "SLACK"}, name)
	})
	return cmd
}

// process is one run of "cairn chat --json".
type process struct {
	*exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer // complete after the process has ended
}

// chatWith starts a command that speaks JSON Lines.
func chatWith(cmd *exec.Cmd) (*process, error) {
	p := &process{Cmd: cmd}
	cmd.Stderr = &p.stderr
	in, errIn := cmd.StdinPipe()
	out, errOut := cmd.StdoutPipe()
	if err := errors.Join(errIn, errOut, cmd.Start()); err != nil {
		return nil, fmt.Errorf("start cairn: %w", err)
	}
	p.in, p.out = in, bufio.NewReaderSize(out, 1<<20)
	return p, nil
}

// line is an input line.
type line struct {
	Channel string `json:"channel"`
	User    string `json:"user"`
	Text    string `json:"text"`
	ID      string `json:"id"`
	Mention bool   `json:"mention"`
}

func (l line) String() string {
	text, err := json.Marshal(l)
	if err != nil { // strings and booleans can always be encoded
		panic(err)
	}
	return string(text) + "\n"
}

// heard is an output line.
type heard struct {
	Type, Channel, Text string
	ID                  any // a number in some lines
	Seq                 int64
	To                  []string
}

func (p *process) say(l line) error {
	if _, err := io.WriteString(p.in, l.String()); err != nil {
		return fmt.Errorf("speak to cairn: %w", err)
	}
	return nil
}

// hear returns the next line. An incomplete line is an error.
func (p *process) hear() (h heard, err error) {
	text, err := p.out.ReadBytes('\n')
	if err != nil {
		return h, err
	}
	if err := json.Unmarshal(text, &h); err != nil {
		return h, fmt.Errorf("cairn says what is no JSON: %.80q: %w", text, err)
	}
	return h, nil
}

// leave closes the input and waits for the end of the process.
func (p *process) leave() error {
	err := p.in.Close()
	_, _ = io.Copy(io.Discard, p.out) // output during shutdown
	err = errors.Join(err, p.Wait())
	if err != nil {
		return fmt.Errorf("%w\n%s", err, p.stderr.String())
	}
	return nil
}

// kill kills the process, as in a power cut, and waits for it.
func (p *process) kill() error {
	err := errors.Join(p.Process.Kill(), p.in.Close())
	_, _ = io.Copy(io.Discard, p.out)
	_ = p.Wait() // it reports the kill
	return err
}
