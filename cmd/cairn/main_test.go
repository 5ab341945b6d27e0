package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// asProgram makes the test binary run as the program.
const asProgram = "CAIRN_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(asProgram) != "":
		armKill()
		main()
		return
	case os.Getenv(asToolServer) != "":
		if err := serveTools(); err != nil {
			panic(err)
		}
		return
	}
	for _, variable := range os.Environ() { // no test asks a real server
		name, _, _ := strings.Cut(variable, "=")
		if service, _, _ := strings.Cut(name, "_"); slices.Contains([]string{"OPENAI", "ANTHROPIC", "DISCORD", "SLACK", "OTEL"}, service) {
			_ = os.Unsetenv(name)
		}
	}
	_, _ = os.Setenv("USER", "Ada"), os.Setenv("GOGC", "400") // the programs live too short to save memory
	debug.SetGCPercent(400)
	plainEnviron = os.Environ()
	_ = flag.Set("test.parallel", "8") // most tests wait for processes, not for a core
	storetest.Main(m)
}

// checkout is the project's root, whatever the working folder is: see folder.run.
var checkout, _ = filepath.Abs("../..")

// plainEnviron is the environment of the tests, without the variables that the program reads.
var plainEnviron []string

// working is held by the command that works in the test's own process, which has one working
// folder and one environment.
var working sync.Mutex

// folder is an empty folder in which the program runs, without a key in its environment.
type folder struct {
	t   *testing.T
	dir string
	env []string

	bare  bool   // chat creates the database itself
	width uint16 // of the terminal of atScreen; 0: it knows none

	databaseEvery time.Duration // see app
	answerWithin  time.Duration // see app
}

// parallel are the tests with a folder, which run in parallel.
var parallel sync.Map

func newFolder(t *testing.T, env ...string) folder {
	if _, runs := parallel.LoadOrStore(t, true); !runs {
		t.Parallel()
	}
	return folder{t: t, dir: t.TempDir(), env: env}
}

// with writes the settings file.
func (p folder) with(settings string) folder {
	p.t.Helper()
	p.write("config.toml", settings)
	return p
}

// stock gives chat an empty database: to create one takes longer than all else it does.
func (p folder) stock(args []string) {
	if len(args) > 0 && args[0] == "chat" && !p.bare {
		storetest.CopyEmpty(p.t, filepath.Join(p.dir, "data"))
	}
}

func (p folder) command(args ...string) *exec.Cmd {
	p.stock(args)
	cmd := exec.CommandContext(p.t.Context(), check.Must(os.Executable())(p.t), args...)
	cmd.Dir = p.dir
	// The race detector would sleep for a second at every exit.
	cmd.Env = append(append(slices.Clone(plainEnviron), asProgram+"=1", "GORACE=atexit_sleep_ms=0"), p.env...)
	return cmd
}

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
	cmd.Stdin = strings.NewReader(input)
	cmd.Stdout = &out
	cmd.Stderr = &errs
	_ = cmd.Run() // the exit code shows it
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// needsProcess reports whether a command ends only by a signal, takes many seconds, or depends on the time zone, which
// a process has only once.
func (p folder) needsProcess(args []string) bool {
	settings, _ := os.ReadFile(filepath.Join(p.dir, "config.toml"))
	return len(args) == 0 || slices.Contains([]string{"run", "mcp"}, args[0]) || slices.Contains(args, "--live") ||
		strings.Contains(string(settings), "time_zone")
}

func (p folder) runHere(input string, args []string) result {
	p.t.Helper()
	p.stock(args)
	working.Lock()
	defer working.Unlock()
	home := check.Must(os.Getwd())(p.t)
	check.NoError(p.t, os.Chdir(p.dir))
	defer func() { check.NoError(p.t, os.Chdir(home)) }()
	for _, variable := range p.env {
		name, value, _ := strings.Cut(variable, "=")
		check.NoError(p.t, os.Setenv(name, value))
		defer os.Unsetenv(name)
	}
	var out, errs check.Buffer // the log and the terminal write side by side
	code := execute(p.t.Context(), &app{console: console{in: strings.NewReader(input), out: &out, err: &errs}, databaseEvery: p.databaseEvery, answerWithin: p.answerWithin}, args)
	return result{out.String(), errs.String(), code}
}

func (p folder) must(input string, args ...string) string {
	p.t.Helper()
	r := p.run(input, args...)
	check.Require(p.t, r.code == 0, "cairn %s: exit code %d, %s", strings.Join(args, " "), r.code, r.err)
	check.Lacks(p.t, "errors of cairn "+strings.Join(args, " "), r.err, "panicked")
	return r.out
}

func (p folder) read(name string) string {
	p.t.Helper()
	return read(p.t, filepath.Join(p.dir, name))
}

func (p folder) untouched() {
	p.t.Helper()
	check.Error(p.t, check.ErrorOf(os.Stat(filepath.Join(p.dir, "data"))), fs.ErrNotExist)
}

// store opens the folder's database until the test ends, or closes it.
func (p folder) store() *store.Store {
	p.t.Helper()
	return storetest.OpenStore(p.t, filepath.Join(p.dir, "data"))
}

// database opens the database in a data folder as a tool does.
func database(t *testing.T, dir string) *sql.DB {
	t.Helper()
	db := check.Must(sql.Open("sqlite3", store.File(dir)+"?_busy_timeout=5000"))(t)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// execute changes the folder's database behind the program's back.
func (p folder) execute(statement string) {
	p.t.Helper()
	check.Must(database(p.t, filepath.Join(p.dir, "data")).Exec(statement))(p.t)
}

func (p folder) count(query string) (n int) {
	p.t.Helper()
	db := database(p.t, filepath.Join(p.dir, "data"))
	check.NoError(p.t, errors.Join(db.QueryRow(query).Scan(&n), db.Close()))
	return n
}

// waiting counts messages to dequeue, and replies to create and send.
func (p folder) waiting() int {
	p.t.Helper()
	return p.count("SELECT (SELECT count(*) FROM inbox) + (SELECT count(*) FROM messages WHERE answered = 0) + (SELECT count(*) FROM outbox WHERE state <> 'sent')")
}

// fails runs the program and wants it to fail with a code, and with words on standard error.
func (p folder) fails(code int, words string, args ...string) result {
	p.t.Helper()
	r := p.run("", args...)
	command := "cairn " + strings.Join(args, " ")
	check.Equal(p.t, command+": exit code", r.code, code)
	check.Contains(p.t, command+": standard error", r.err, words)
	return r
}

// prints runs a command with arguments, and wants output that contains these parts, lacks those behind
// a "!", and begins with those behind a "^".
func (p folder) prints(command string, want map[string][]string) {
	p.t.Helper()
	for args, parts := range want {
		out := p.must("", strings.Fields(command+" "+args)...)
		what := "cairn " + command + " " + args
		for _, part := range parts {
			if rest, lacks := strings.CutPrefix(part, "!"); lacks {
				check.Lacks(p.t, what, out, rest)
			} else if rest, begins := strings.CutPrefix(part, "^"); begins {
				check.HasPrefix(p.t, what, out, rest)
			} else {
				check.Contains(p.t, what, out, part)
			}
		}
	}
}

// refuses runs a command with arguments of which each is wrong, and wants a code, these words and no
// output.
func (p folder) refuses(code int, command string, wrong map[string]string) {
	p.t.Helper()
	for args, words := range wrong {
		r := p.fails(code, words, strings.Fields(command+" "+args)...)
		check.HasPrefix(p.t, command+" "+args, r.err, "cairn: ")
		check.Equal(p.t, command+" "+args+": output", r.out, "")
	}
}

// doctorSays runs the checks, and wants an exit code and these parts of what is printed.
func (p folder) doctorSays(code int, parts ...string) {
	p.t.Helper()
	r := p.run("", "doctor")
	check.Equal(p.t, "cairn doctor: exit code", r.code, code)
	check.Contains(p.t, "cairn doctor", r.out, parts...)
}

// hasSoundData runs cairn doctor, which finds nothing wrong with the data.
func (p folder) hasSoundData(args ...string) {
	p.t.Helper()
	out := p.run("", append([]string{"doctor"}, args...)...).out
	check.Contains(p.t, "cairn doctor", out, "every page can be read")
	check.Lacks(p.t, "cairn doctor", out, "WRONG  data")
}

func (p folder) write(name, text string) string {
	p.t.Helper()
	check.NoError(p.t, os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600))
	return name
}

// eventually waits until a condition holds. If it never does, the test ends and shows more.
func eventually(t *testing.T, what string, more func() string, holds func() bool) {
	t.Helper()
	if !check.Soon(holds) {
		t.Fatalf("timed out waiting until %s:\n%s", what, more())
	}
}

func parse[T any](t *testing.T, text string) (list []T) {
	t.Helper()
	for line := range strings.Lines(text) {
		var v T
		check.Require(t, json.Unmarshal([]byte(line), &v) == nil, "%q is not what was wanted", line)
		list = append(list, v)
	}
	return list
}

func skipIfShort(t *testing.T, why string) {
	if testing.Short() {
		t.Skip(why)
	}
}
