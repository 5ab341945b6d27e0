package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"cairn/testkit/check"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC // as the program's default has it: what is rendered must not depend on the machine
	check.InMemory()
	goleak.VerifyTestMain(m, goleak.Cleanup(compileOnce()))
}

// compileOnce makes all benchmarks share one binary. end removes it and ends the process.
func compileOnce() (end func(exitCode int)) {
	dir, err := os.MkdirTemp("", "cairn-bench-")
	if err != nil {
		panic(err)
	}
	compile := compileCairn
	binary := filepath.Join(dir, "cairn")
	compiled := sync.OnceValue(func() error { return compile(context.Background(), binary) })
	compileCairn = func(_ context.Context, file string) error {
		if err := compiled(); err != nil {
			return err
		}
		return os.Link(binary, file)
	}
	return func(exitCode int) {
		_ = os.RemoveAll(dir)
		os.Exit(exitCode)
	}
}

func TestCommandLine(t *testing.T) {
	for _, args := range []string{
		"nothing", "cost more", "cost --turns 0", "cost --turns many", "latency --turns -1", "latency --slow",
		"latency --summary 0s", "faults --seeds 0", "recall", "recall testdata --rows 7", "recall testdata --rows many",
		"models --turns 0", "machines --faults none", "machines --on mars", "machines --on slack,slack", "machines --conversations 7", "machines --postgres x --faults outage", "machines --model --processes 4", "machines --model --messages 0", "machines --model --lost 8", "crash --kills 0", "crash --seed -1", "crash --on mars", "load --channels 1", "load --minutes NaN", "load --rate 0",
		"import --messages 9", "import --kills -1", "turn --turns 0", "turn --channels 0", "idle --channels 0", "start --messages 1", "retention",
		"retention testdata --window 100", "retention testdata --window many", "picture --turns 1",
		"prompts", "prompts testdata", "prompts testdata --model m --languages xx", "prompts testdata --model m --provider x",
		"prompts testdata --model m --key-env CAIRN_NO_SUCH_KEY", "prompts testdata --model m --span 1",
	} {
		_, err := ran(t, strings.Fields(args)...)
		check.Equal(t, args+": exit code", exitCode(err), exitUsage)
		check.ErrorContains(t, args, err, "--help")
	}
	for _, args := range []string{"", "--help"} {
		text, err := ran(t, strings.Fields(args)...)
		check.NoError(t, err)
		check.Contains(t, "the output", text, "latency", "cost", "Exit codes")
	}
	check.Equal(t, "exit code of a missed target", exitCode(errors.Join(missed("by far"))), exitMissed)
	check.Equal(t, "exit code of a failure", exitCode(errors.New("no disk")), exitFailed)
}

// TestLatency measures a few turns, in real time: what the figures are on a machine
// that runs tests is nobody's business.
func TestLatency(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	l, _ := ranAs[latencies](t, "latency", "--turns", "3", "--summary", "500ms")
	check.That(t, l.Without.Median >= ms(replyDelay) && l.With.Median >= ms(replyDelay) && l.Turns == 3 && len(l.Targets) == 1, "%+v", l)
}

func TestQuantile(t *testing.T) {
	all := []time.Duration{40 * time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond, 20 * time.Millisecond}
	for share, want := range map[float64]float64{0: 10, 0.5: 25, 1: 40} {
		check.Equal(t, fmt.Sprint("quantile ", share), quantile(all, share), want)
	}
	low, high := confidenceInterval(all, all)
	check.That(t, low < 1 && high > 1, "a ratio of 1 is between %v and %v", low, high)
}

var silent = screenOf(io.Discard, io.Discard)

func ran(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	root := newRoot(&out, io.Discard)
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

// ranAs runs bench, and returns what it wrote as JSON and which targets it missed; on a busy machine
// some are.
func ranAs[T any](t *testing.T, args ...string) (result T, missing error) {
	t.Helper()
	out, err := ran(t, append(args, "--json")...)
	check.Require(t, err == nil || errors.As(err, new(missed)), "%q: %v\n%s", args, err, out)
	check.NoError(t, json.Unmarshal([]byte(out), &result))
	return result, err
}

func TestPicture(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	d := drawing{turns: 22, window: 6_000}
	picture := check.Must(d.draw(t.Context(), silent))(t)
	svg := picture.File()
	panel := picture.Panels[0]
	check.NoError(t, xml.Unmarshal([]byte(svg), new(struct{}))) // it is well-formed
	// The conversation outgrows the window, and no request does.
	last := panel.Points[len(panel.Points)-1]
	check.That(t, last.Said >= 2*d.window, "only %d tokens were said", last.Said)
	for _, p := range panel.Points {
		check.That(t, p.Used <= d.window && p.Head <= p.Used, "the next request is %+v", p)
	}
	// It shows each level, and each time that summaries replaced messages; one mark is in the legend.
	check.Require(t, len(panel.Marks) > 0, "no compactions")
	check.Equal(t, "marks", strings.Count(svg, "chart-mark-summaries applied")-1, len(panel.Marks))
	check.Contains(t, "the levels", svg, ">prepare 60 %", ">background 80 %", ">aggressive 85 %", ">emergency 95 %", ">window")
}

func TestTurnMeasuresTheProgram(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	if testing.Short() {
		t.Skip("it builds the program")
	}
	r, _ := ranAs[turnResult](t, "turn", "--channels", "2", "--turns", "3")
	check.That(t, r.Turns == 6 && r.CPU > 0 && r.Largest >= turnChars*5, "%+v", r)
}

func TestIdle(t *testing.T) {
	var i idle
	for range 3 { // what earlier tests have left may be freed during a measurement
		i, _ = ranAs[idle](t, "idle", "--channels", "50")
		if i.Open > 0 {
			break
		}
	}
	check.That(t, i.Open >= 2 && i.Open <= 60, "a silent channel takes %v KB", i.Open) // a goroutine alone has 2
}

func TestStart(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	starts = 1
	r, _ := ranAs[started](t, "start", "--messages", "300")
	check.That(t, len(r.Shapes) == 3 && r.Shapes[0].Median > 0 && r.Shapes[1].Median > 0 && r.Shapes[2].CPU > 0, "%+v", r)
}

func TestImport(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	r, _ := ranAs[imported](t, "import", "--messages", "200,400", "--kills", "1")
	check.Require(t, len(r.Imports) == 4 && len(r.Kills) == 2 && len(r.Targets) == 10, "%+v", r)
	for _, c := range r.Imports {
		check.That(t, c.Stored > 0 && c.All > c.Stored && c.Memories > 0 && c.Summaries > 0, "%+v", c)
	}
	for _, k := range r.Kills {
		check.That(t, k.Kills == 1 && k.Runs == 2 && k.Wrong == 0, "%+v", k)
	}
}

func TestTools(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	r, _ := ranAs[toolResult](t, "tools", "--steps", "14")
	check.Require(t, len(r.Runs) == 4, "%+v", r)
	for _, run := range r.Runs {
		check.That(t, run.State == "done" && run.Steps == 14 && run.Requests == 15 && run.Largest <= 32_000 && run.Hidden+run.Cleared > 0, "%+v", run)
	}
	check.That(t, r.Runs[0].Cleared != 0 && r.Runs[1].Cleared == 0, "cleared: %+v", r.Runs)
}

// Sentences of a conversation, each behind its speaker's name, are close to an echo: two
// more of them may be refused than the goal allows.
func TestJudgeOfOurOwnConversations(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	all := check.Must(readRecordings("testdata"))(t)
	for i, messages := range []int{40, 20, 20} {
		all[i].said = all[i].said[:messages]
	}
	got := check.Must(judgeRecordings(t.Context(), silent, all))(t)
	check.Len(t, "targets", got.Targets, 3) // they are for more texts
	texts := 0
	for _, k := range got.Kinds {
		texts += k.Texts
		check.That(t, k.Wrong <= 2, "%d of %d wrong, %s: %s", k.Wrong, k.Texts, k.Kind, k.Example)
	}
	check.That(t, len(got.Kinds) >= 7 && texts >= 1800 && got.share(false) <= 1, "%d texts of %d kinds, %.2f %% of the bad accepted", texts, len(got.Kinds), got.share(false))
}

// What a busy machine makes of speed and memory is nobody's business here: what must
// hold is that nothing is lost and nothing left behind.
func TestLoad(t *testing.T) {
	r := check.Must(loading{channels: 12, minutes: 0.03, rate: 24}.measure(t.Context(), silent))(t)
	wrong := fmt.Sprintf("%d lost, %d unanswered, %d answered twice, %d failed (%s), doctor finds %q", r.Lost, r.Unanswered, r.Twice, r.Failed+r.Broken, r.Why, r.Findings)
	check.Equal(t, "what is wrong", wrong, "0 lost, 0 unanswered, 0 answered twice, 0 failed (), doctor finds []")
	check.That(t, r.End.Goroutines <= r.Start.Goroutines && r.End.Handles <= r.Start.Handles, "it began with %+v and left %+v", r.Start, r.End)
	check.That(t, r.Answered > 0 && r.Compactions > 0 && r.Memories > 0 && len(r.Samples) >= 3 && r.P99 > 0, "it shows nothing: %+v", r.counts)
	for _, s := range r.Samples {
		check.That(t, s.Resident != 0 && s.Heap != 0 && s.Goroutines != 0, "a sample without numbers: %+v", s)
	}
}

// A failed run must be reported: otherwise what a run says is worth nothing.
func TestLoadIsJudged(t *testing.T) {
	for what, spoil := range map[string]func(*load){
		"":                         func(*load) {},
		"messages lost":            func(l *load) { l.Lost = 1 },
		"questions without":        func(l *load) { l.Unanswered = 1 },
		"questions answered twice": func(l *load) { l.Twice = 1 },
		"turns and compactions":    func(l *load) { l.Broken = 1 },
		"findings of doctor":       func(l *load) { l.Findings = []string{"x"} },
		"goroutines more":          func(l *load) { l.End.Goroutines = 1 },
		"files open more":          func(l *load) { l.End.Handles = 1 },
		"resident memory":          func(l *load) { l.Samples[8].Resident = 120 },
		"processor's time":         func(l *load) { l.Samples[8].CPU = 2000 },
		"minutes that it took":     func(l *load) { l.Took = 1.2 },
	} {
		l := load{Minutes: 1, Took: 1, P99: 10}
		for range 9 {
			l.Samples = append(l.Samples, sample{usage: usage{Resident: 100}, CPU: 1000, Answered: 1})
		}
		spoil(&l)
		l.judge()
		err := unmet(l.Targets)
		check.That(t, (err == nil) == (what == ""), "%s: %v", what, err)
		check.That(t, err == nil || strings.HasPrefix(err.Error(), what) && !strings.Contains(err.Error(), ";"), "%s: %v", what, err)
	}
}
