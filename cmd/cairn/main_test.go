package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/llm/llmtest"
)

// asProgram makes the test binary run as the program.
const asProgram = "CAIRN_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		if err := armKill(); err != nil {
			panic(err)
		}
		main()
		return
	}
	if os.Getenv(asToolServer) != "" {
		if err := serveTools(); err != nil {
			panic(err)
		}
		return
	}
	for _, variable := range os.Environ() { // no test asks a real server
		if name, _, _ := strings.Cut(variable, "="); isOurs(variable) {
			if err := os.Unsetenv(name); err != nil {
				panic(err)
			}
		}
	}
	if err := os.Setenv("USER", "Ada"); err != nil {
		panic(err)
	}
	time.Local = time.UTC                                  // the program's default: rendered text must not depend on the machine
	if err := flag.Set("test.parallel", "8"); err != nil { // most tests wait for processes, not for a core
		panic(err)
	}
	check.InMemory()
	os.Exit(m.Run())
}

// isOurs reports whether the program reads an environment variable.
func isOurs(variable string) bool {
	return slices.ContainsFunc([]string{"OPENAI_", "ANTHROPIC_", "DISCORD_", "SLACK_", "OTEL_"}, func(prefix string) bool { return strings.HasPrefix(variable, prefix) })
}

// checkout is the project's root, whatever the working folder is: see folder.run.
var checkout = func() string {
	path, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return path
}()

// working is held by the command that works in the test's own process, which has one working
// folder.
var working sync.Mutex

// folder is an empty folder in which the program runs, without a key in its environment.
type folder struct {
	t   *testing.T
	dir string
	env []string
}

func newFolder(t *testing.T, env ...string) folder {
	return folder{t: t, dir: t.TempDir(), env: env}
}

func (p folder) command(args ...string) *exec.Cmd {
	program := check.Must(os.Executable())(p.t)
	cmd := exec.CommandContext(p.t.Context(), program, args...)
	cmd.Dir = p.dir
	// The race detector would sleep for a second at every exit.
	cmd.Env = append(append(os.Environ(), asProgram+"=1", "GORACE=atexit_sleep_ms=0"), p.env...)
	return cmd
}

// isStartCheck reports whether a request only checks at the start that the model answers: on a slow
// machine it comes beside the first turn.
func isStartCheck(r llmtest.Request) bool { return strings.Contains(r.Last().Text(), "are you there?") }

// result is the result of a run.
type result struct {
	out, err string
	code     int
}

// run runs the program to its end: in the test's own process, which takes a tenth of the time,
// unless the command needs a process of its own.
func (p folder) run(input string, args ...string) result {
	p.t.Helper()
	if !p.needsProcess(args) {
		return p.runHere(input, args)
	}
	cmd := p.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// needsProcess reports whether a command ends only by a signal, or depends on what a process has
// only once: its environment, its time zone.
func (p folder) needsProcess(args []string) bool {
	settings, _ := os.ReadFile(filepath.Join(p.dir, "config.toml"))
	return len(args) == 0 || len(p.env) > 0 || slices.Contains([]string{"run", "mcp"}, args[0]) ||
		strings.Contains(string(settings), "time_zone")
}

func (p folder) runHere(input string, args []string) result {
	p.t.Helper()
	working.Lock()
	defer working.Unlock()
	home := check.Must(os.Getwd())(p.t)
	check.NoError(p.t, os.Chdir(p.dir))
	defer func() { check.NoError(p.t, os.Chdir(home)) }()
	var out, errs check.Buffer // the log and the terminal write side by side
	code := execute(p.t.Context(), &app{in: strings.NewReader(input), out: &out, err: &errs}, args)
	return result{out.String(), errs.String(), code}
}

// must runs the program and wants it to succeed.
func (p folder) must(input string, args ...string) string {
	p.t.Helper()
	r := p.run(input, args...)
	if r.code != 0 {
		p.t.Fatalf("cairn %s: exit code %d, %s", strings.Join(args, " "), r.code, r.err)
	}
	return r.out
}

// fails runs the program and wants it to fail with a code, and with words on standard error.
func (p folder) fails(code int, words string, args ...string) {
	p.t.Helper()
	r, command := p.run("", args...), "cairn "+strings.Join(args, " ")
	check.Equal(p.t, command+": exit code", r.code, code)
	check.Contains(p.t, command+": standard error", r.err, words)
}

// doctorSays runs the checks, and wants an exit code and these parts of what is printed.
func (p folder) doctorSays(code int, parts ...string) {
	p.t.Helper()
	r := p.run("", "doctor")
	check.Equal(p.t, "cairn doctor: exit code", r.code, code)
	check.Contains(p.t, "cairn doctor", r.out, parts...)
}

func (p folder) write(name, text string) string {
	p.t.Helper()
	check.NoError(p.t, os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600))
	return name
}

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
			if !ok {
				l.t.Fatalf("the output ended before %s; got %q", text, lines)
			}
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

// eventually waits until a condition holds. If it never does, the test ends and shows more.
func eventually(t *testing.T, what string, more func() string, holds func() bool) {
	t.Helper()
	if !check.Soon(holds) {
		t.Fatalf("timed out waiting until %s:\n%s", what, more())
	}
}

// parse reads lines of JSON.
func parse[T any](t *testing.T, text string) (list []T) {
	t.Helper()
	for line := range strings.Lines(text) {
		var v T
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		list = append(list, v)
	}
	return list
}
