package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"cairn/testkit/llmtest"
	"cairn/testkit/pgtest"
)

// fleetRun is a run of several processes on one database.
type fleetRun struct {
	o        fleetOptions
	random   *rand.Rand // of the faults
	dir      string
	cluster  *pgtest.Cluster // nil: the database is somebody else's
	guard    guard
	model    *llmtest.Server
	venues   map[string]venue
	machines []*machine
	builds   builds

	mu       sync.Mutex // guards everything below
	asked    []question
	injected []injected
	now      string // the fault that happens
	wrong    []string
}

// question is a message to the bot, with a number that is its own: q1, q2 …
type question struct {
	n     int
	on    string // the platform
	place string
	at    time.Time
}

const fleetSettings = `
store = %q
schema = %q
catch_up = "24h"
turns_per_minute = 0
calls_per_hour = 0
recall_tokens = 0
[llm]
base_url = %q
model = "test-model"
`

func runFleet(ctx context.Context, s *screen, o fleetOptions) (result fleetResult, err error) {
	r := &fleetRun{o: o, random: rand.New(rand.NewPCG(o.seed, 3)), venues: map[string]venue{}}
	defer func() { err = errors.Join(err, r.close(result.Folder != "")) }()
	s.progress("cairn is being built, and the database started")
	if err := r.open(ctx); err != nil {
		return result, err
	}
	alive, stop := context.WithCancel(ctx)
	group, within := errgroup.WithContext(alive)
	defer func() {
		stop()
		err = errors.Join(err, group.Wait())
	}()
	for i, m := range r.machines {
		if i > 0 {
			s.progress("process %d starts", i+1)
		}
		group.Go(func() error { return m.run(within) })
		if err := r.await(within, i+1); err != nil {
			return result, err
		}
	}
	began := time.Now()
	if err := r.talk(within, s, began); err != nil {
		return result, err
	}
	took := time.Since(began)
	if err := r.settle(within, s); err != nil {
		return result, err
	}
	for _, m := range r.machines {
		if err := m.stop(within); err != nil {
			return result, err
		}
	}
	return r.result(ctx, took)
}

// open starts all but the processes.
func (r *fleetRun) open(ctx context.Context) (err error) {
	r.dir, err = os.MkdirTemp("", "cairn-machines-")
	if err != nil {
		return err
	}
	address := r.o.postgres
	if address == "" {
		r.cluster, err = pgtest.Start()
		if err != nil {
			return err
		}
		address = r.cluster.Address("postgres")
	}
	r.guard, err = newGuard(ctx, address)
	if err != nil {
		return err
	}
	random := rand.New(&lockedSource{source: rand.NewPCG(r.o.seed, 4)})
	r.model = llmtest.NewServer(func(x *llmtest.Exchange) { answerQuestions(x, random) })
	settings := fmt.Sprintf(fleetSettings, address, fleetSchema, r.model.URL)
	var environment []string
	for i, name := range r.o.on {
		v := venues[name]((r.o.conversations + i) / len(r.o.on))
		r.venues[name] = v
		settings += v.settings()
		if name == "slack" {
			settings += "reply_in = \"channel\"\n" // else each question begins a conversation
		}
		environment = append(environment, v.environment()...)
	}
	if err := r.newMachines(ctx, r.o.processes, settings, environment); err != nil {
		return err
	}
	if err := r.chooseBuilds(ctx, address); err != nil {
		return err
	}
	return r.guard.watch(ctx)
}

// close removes the folder, unless it contains evidence.
func (r *fleetRun) close(keep bool) (err error) {
	if r.model != nil {
		r.model.Close()
	}
	for _, m := range r.machines {
		m.network.Close()
	}
	for _, v := range r.venues {
		v.Close()
	}
	if r.guard.db != nil {
		if r.cluster == nil && !keep {
			err = r.guard.remove(context.Background())
		}
		err = errors.Join(err, r.guard.db.Close())
	}
	if r.cluster != nil {
		r.cluster.Stop()
	}
	if keep {
		return err
	}
	return errors.Join(err, os.RemoveAll(r.dir))
}

func (r *fleetRun) note(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

// report records what must not happen.
func (r *fleetRun) report(format string, args ...any) {
	r.note(func() { r.wrong = append(r.wrong, fmt.Sprintf(format, args...)) })
}

// startLasts is how long a process may take to start.
const startLasts = time.Minute

// await waits until n processes run, and one is connected everywhere.
func (r *fleetRun) await(ctx context.Context, n int) error {
	for end := time.Now().Add(startLasts); ; {
		names, err := r.guard.running(ctx)
		if err != nil {
			return err
		}
		connected := true
		for _, v := range r.venues {
			connected = connected && v.connections() > 0
		}
		switch {
		case len(names) >= n && connected:
			return nil
		case time.Now().After(end):
			return fmt.Errorf("%d of %d processes run, see %s", len(names), n, filepath.Join(r.dir, "machine*", "log"))
		}
		if err := sleep(ctx, lookEvery/5); err != nil {
			return err
		}
	}
}

// talk has people write, and faults happen.
func (r *fleetRun) talk(ctx context.Context, s *screen, began time.Time) error {
	until := began.Add(time.Duration(r.o.minutes * float64(time.Minute)))
	group, within := errgroup.WithContext(ctx)
	group.Go(func() error { return r.fail(within, until) })
	dice := rand.New(rand.NewPCG(r.o.seed, 5))
	on, place := "", ""
	for n := 1; time.Now().Before(until); n++ {
		due := began.Add(time.Duration(float64(n) / r.o.rate * float64(time.Second)))
		if sleep(within, time.Until(due)) != nil {
			break // a fault failed
		}
		if place == "" || dice.IntN(4) > 0 { // else one more in the same place, which waits there
			on = r.o.on[dice.IntN(len(r.o.on))]
			all := r.venues[on].places()
			place = all[dice.IntN(len(all))]
		}
		r.ask(n, on, place, dice)
		r.note(func() {
			s.progress("%.0f s of %.0f: %d questions, %d faults; now: %s", time.Since(began).Seconds(), r.o.minutes*60, n, len(r.injected), r.now)
		})
	}
	return group.Wait()
}

func (r *fleetRun) ask(n int, on, place string, dice *rand.Rand) {
	q := question{n: n, on: on, place: place, at: time.Now()}
	r.note(func() { r.asked = append(r.asked, q) })
	r.venues[on].say(place, []string{"Ann", "Ben"}[dice.IntN(2)], fmt.Sprintf("q%d: what of the %s", n, text(dice, 4+dice.IntN(20))), true)
}

// seen returns what people see, by platform and place.
func (r *fleetRun) seen() map[string][]shown {
	all := map[string][]shown{}
	for on, v := range r.venues {
		for _, place := range v.places() {
			all[on+":"+place] = v.shown(place)
		}
	}
	return all
}

// restLasts is how long to wait for the next answer after the last question: some have to be taken over, and a platform redelivers. Where
// a platform serves fewer requests than people ask questions, many are left then.
const restLasts = 90 * time.Second

// settle waits until all is answered, or nobody answers any more.
func (r *fleetRun) settle(ctx context.Context, s *screen) error {
	answered := 0
	for end := time.Now().Add(restLasts); time.Now().Before(end); {
		v := compareAnswers(r.asked, r.seen(), nil)
		left, err := r.guard.left(ctx)
		if err != nil {
			return err
		}
		if len(v.answered) == len(r.asked) && len(left) == 0 {
			return nil
		}
		if len(v.answered) > answered {
			answered = len(v.answered)
			end = time.Now().Add(restLasts)
		}
		s.progress("the rest is answered: %d of %d", answered, len(r.asked))
		if err := sleep(ctx, lookEvery); err != nil {
			return err
		}
	}
	return nil
}
