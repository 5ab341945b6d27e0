package compactor_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cairn/compactor"
	"cairn/compactor/worker"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/pgtest"

	"pgregory.net/rapid"
)

var (
	histories = flag.Int("histories", perFile, "how many histories TestInvariants makes, rounded up to whole files")
	seed      = flag.Uint64("seed", 1, "where TestInvariants begins: the same histories each time; 0: others each time")
)

const (
	// perFile histories share one file, each as its own conversation. By default only one file's worth runs: the race
	// detector makes a history several times as slow. .ci/run runs six files' worth without it.
	perFile  = 25
	minSteps = 50 // of a history
)

// TestInvariants runs random histories, policies, failures, edits, deletions, sessions, crashes and interleavings through
// the engine on real files, and compares disk and view with the inputs after every step. Its oracle knows only the inputs.
func TestInvariants(t *testing.T) {
	all := &tally{counts: map[string]int{}}
	started := time.Now()
	t.Run("histories", func(t *testing.T) {
		for i := range (*histories + perFile - 1) / perFile {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				f := newFile(t)
				started := begin(t, uint64(i))
				rapid.Check(t, func(rt *rapid.T) {
					started()
					makeHistory(t, rt, f, all)
				})
			})
		}
	})
	t.Logf("in %s\n%s", time.Since(started).Round(time.Second), check.Must(json.MarshalIndent(all.counts, "", " "))(t))
}

var beginning sync.Mutex // guards rapid's seed until it was read

// begin sets the seed of the next property to that of a file, until the returned function is
// called. A seed from the command line takes precedence.
func begin(t *testing.T, file uint64) (started func()) {
	if *seed == 0 || flag.Lookup("rapid.seed").Value.String() != "0" && !seeded.Load() {
		return func() {}
	}
	beginning.Lock()
	seeded.Store(true)
	check.NoError(t, flag.Set("rapid.seed", fmt.Sprint(*seed+file<<32)))
	return sync.OnceFunc(beginning.Unlock)
}

var seeded atomic.Bool // by begin

func makeHistory(t *testing.T, rt *rapid.T, f *file, all *tally) {
	m := newMachine(t, rt, f, all)
	defer m.end()
	steps := minSteps + below(rt, 16, "steps beyond those")
	for i := range steps {
		m.step(rt)
		m.checkAfterStep(rt, i%15 == 14)
	}
	m.checkRecovers(rt)
	m.checkExpand(rt)
	m.checkMemoriesSavedOnce(rt)
	m.count()
}

// below draws a number from 0 to n-1 with equal probability: rapid's own are mostly small. It shrinks to 0.
func below(rt *rapid.T, n int, what string) int {
	return rapid.Map(anyNumber, func(v int) int { return v % n }).Draw(rt, what)
}

var anyNumber = rapid.Custom(func(t *rapid.T) (n int) {
	for range 12 {
		n <<= 1
		if rapid.Bool().Draw(t, "") {
			n |= 1
		}
	}
	return n
})

// one draws an element of a list with equal probability. It shrinks to the first.
func one[T any](rt *rapid.T, what string, of ...T) T {
	return rapid.Map(anyNumber, func(v int) T { return of[v%len(of)] }).Draw(rt, what)
}

// chance is true once in n times. It shrinks to false.
func chance(rt *rapid.T, in int, what string) bool {
	return rapid.Map(anyNumber, func(v int) bool { return v%in == in-1 }).Draw(rt, what)
}

func share(rt *rapid.T, low, high float64, what string) float64 {
	return low + (high-low)*float64(below(rt, 33, what))/32
}

// rapidAdapter is the rig's testing.TB: a failure ends the history, and rapid shrinks it.
type rapidAdapter struct {
	testing.TB
	rt *rapid.T
}

func (o rapidAdapter) Fatal(args ...any)                 { o.rt.Fatal(args...) }
func (o rapidAdapter) Fatalf(format string, args ...any) { o.rt.Fatalf(format, args...) }
func (o rapidAdapter) Error(args ...any)                 { o.rt.Error(args...) }
func (o rapidAdapter) Errorf(format string, args ...any) { o.rt.Errorf(format, args...) }

func newMachine(t *testing.T, rt *rapid.T, f *file, all *tally) *machine {
	m := &machine{f: f, tally: all, clock: clock{start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}}
	m.parked = make(chan struct{}, 100)
	f.histories++
	m.r = &rig{
		t: rapidAdapter{t, rt}, folder: f.borrow(),
		name: fmt.Sprintf("terminal:test%d", f.histories), policy: drawPolicy(rt),
		window: one(rt, "window", 2500, 3000, 4000),
	}
	m.r.size = one(rt, "real tokens for one estimated", 0, 0, 0, 0.6, 0.9, 1.2, 1.7)
	m.r.tune = []func(*compactor.Options){m.configure}
	m.r.hold = m.runWork
	m.r.listen = m.onEvents
	m.loose = chance(rt, 4, "nobody waits for the worker")
	m.hooked = chance(rt, 4, "a hook")
	m.silent = chance(rt, 8, "nobody ever speaks to the bot")
	if !chance(rt, 8, "no model") {
		m.r.worker = &llmtest.Model{Tokens: 4000, Func: m.work}
	}
	m.r.quiet = m.silent
	if chance(rt, 6, "a thread") {
		m.becomeThread(rt)
	}
	m.r.open()
	if m.r.name != m.channel+"/a9" {
		m.importHistory(rt)
	}
	return m
}

func drawPolicy(rt *rapid.T) compactor.Policy {
	p := compactor.DefaultPolicy()
	if chance(rt, 2, "work ahead") {
		p.SpanTokens = 500 + 100*below(rt, 16, "span_tokens")
		p.CacheTTL = compactor.TTL(one(rt, "cache_ttl", 5*time.Minute, 0, time.Hour))
		p.Economy = chance(rt, 3, "economy")
	} else {
		p.PrepareThreshold = 0
	}
	p.KeepLastN = below(rt, 13, "keep_last_n")
	p.KeepFirst = below(rt, 4, "keep_first")
	p.BackgroundFraction = share(rt, 0.05, 0.9, "background_fraction")
	p.BackgroundThreshold = share(rt, 0.4, 0.82, "background_threshold")
	p.StackBudget = share(rt, 0.08, 0.4, "stack_budget")
	p.EarlierSessions = below(rt, 5, "earlier_sessions")
	p.RollupFanIn = 2 + below(rt, 5, "rollup_fan_in")
	p.FailureLimit = 1 + below(rt, 3, "failure_limit")
	drawVariant(rt, &p)
	return p
}

// drawVariant draws the settings that most policies leave at their defaults.
func drawVariant(rt *rapid.T, p *compactor.Policy) {
	switch {
	case !chance(rt, 4, "a rare policy"):
	case chance(rt, 2, "another strategy"):
		p.Strategy = one(rt, "strategy", worker.StrategyExtractive, worker.StrategyWindow)
	default:
		p.KeepFirstTurns, p.KeepLastTurns = below(rt, 4, "keep_first_turns"), below(rt, 8, "keep_last_turns")
		p.EarlierTokens = 100 * below(rt, 8, "earlier_sessions_tokens")
		switch { // without a draw of its own, which would change the steps of all histories
		case chance(rt, 2, "levels by headroom"):
			p.AggressiveThreshold = -1200
			p.EmergencyThreshold = -600
		case p.KeepLastTurns%2 == 0:
			p.CompactAtTokens = 2000 + 100*p.KeepLastN
		}
	}
}

func (m *machine) configure(o *compactor.Options) {
	m.disk = &disk{Records: o.Records}
	o.Records = m.disk
	o.Now = m.now
	m.limit(o, m.hooked)
}

func (m *machine) end() {
	m.repairDisk()
	m.release()
	m.r.close()
}

// checkAfterStep checks the invariants after each step; whole: also those that need the disk.
func (m *machine) checkAfterStep(rt *rapid.T, whole bool) {
	m.waitForWorker(rt)
	if m.disk.dead.Load() {
		m.reopen(rt)
		whole = true
	}
	if why := m.problem.Load(); why != nil {
		rt.Fatal(*why)
	}
	m.checkStatus(rt)
	m.checkRequestsEnd(rt)
	err := m.r.checkPublishedState()
	check.Require(rt, err == nil || m.disk.dead.Load(), "%v", err) // the worker may just have been killed after a commit
	if whole {
		check.NoError(rt, m.r.check())
	}
	check.Require(rt, !m.silent || m.r.worker == nil || len(m.r.worker.Requests()) <= 0, "got a model call for unaddressed talk")
}

func (m *machine) repairFaults(rt *rapid.T) {
	m.repairDisk()
	m.lift()
	m.disk.arm(0, false)
	m.release()
	check.NoError(rt, m.r.c.Wait(context.Background()))
	if m.disk.dead.Load() {
		m.reopen(rt)
	}
}

// TestMain gives a property as many random cases as a file has histories, and half of them under
// the race detector, which makes each ten times as slow; .ci/run runs more without it.
func TestMain(m *testing.M) {
	cases := perFile
	if check.UnderRace() {
		cases /= 2
	}
	_ = flag.Set("rapid.checks", strconv.Itoa(cases))
	check.InMemory()
	debug.SetGCPercent(400) // tests allocate much, and keep little
	code := m.Run()
	pgtest.Stop()
	os.Exit(code)
}

// FuzzHistory uses its bytes as the choices of TestInvariants: messages, edits, deletions, failures of workers and of the
// disk, and crashes. It checks the invariants of plan and view after every step.
func FuzzHistory(f *testing.F) {
	chance := rand.NewChaCha8([32]byte{1})
	for range 3 {
		choices := make([]byte, 8000)
		_, _ = chance.Read(choices)
		f.Add(choices)
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		file := newFile(t)
		rapid.MakeFuzz(func(rt *rapid.T) { makeHistory(t, rt, file, &tally{counts: map[string]int{}}) })(t, choices)
	})
}
