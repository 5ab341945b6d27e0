package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const crashHelp = `Crash builds cairn and simulates people in several channels, with a scripted model server: a small
window forces constant compaction; there are tools, commands, server failures, and a person who
deletes her messages. It kills the program at random moments, restarts it on the same folder, and
resends messages that were not accepted. After each kill and at the end it checks that:
  every accepted message is in the transcript, once
  every message to the bot has one answer
  the database is sound (as cairn doctor checks it)
If a check fails, the run stops and keeps its folder.

With --on discord or --on slack the shipped program runs against a double of that platform, where people
also edit and delete messages, while it runs and while it is dead. At the end, and every %d kills, nothing
may differ from what the platform has: every message is in the transcript, in order and in its last words,
unless it was deleted, and every message of the bot is an answer that it knows.`

func newCrash() *benchmark {
	var kills int
	var seed uint64
	var on string
	help := fmt.Sprintf(crashHelp, restEvery)
	b := newBenchmark("crash", "Check that nothing is lost when the program is killed", help, func(ctx context.Context, s *screen, _ []string) (result, error) {
		return measureCrash(ctx, s, on, kills, seed)
	})
	b.Flags().StringVar(&on, "on", "terminal", "where people talk: `PLATFORM` is terminal, discord or slack")
	b.checks = append(b.checks, func() error {
		if on == "terminal" || sides[on] != nil {
			return nil
		}
		return wrongFlag(b.Command, "on", on, "terminal, discord or slack")
	})
	b.integer(&kills, "kills", 500, 1, 1_000_000, "kill it `N` times")
	b.Flags().Uint64Var(&seed, "seed", 1, "random seed `N`, for moments and messages")
	return b
}

func measureCrash(ctx context.Context, s *screen, on string, kills int, seed uint64) (r crashes, err error) {
	h, err := newHavoc(ctx, on, seed)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	started := time.Now()
	for n := range kills {
		s.progress("kill %d of %d, %d messages so far, %d things wrong", n+1, kills, len(h.clients.said), len(h.clients.violations))
		if err := h.kill(ctx); err != nil {
			return r, err
		}
		if h.people != nil && h.kills%restEvery == 0 {
			s.progress("%d kills, and a process that comes to rest", h.kills)
			if err := h.compare(ctx); err != nil {
				return r, err
			}
		}
		if len(h.clients.violations) > 0 {
			break
		}
	}
	if len(h.clients.violations) == 0 {
		s.progress("waiting for the last process to finish its work")
		if err := h.rest(ctx); err != nil {
			return r, err
		}
	}
	return h.result(time.Since(started)), nil
}

// crashRun is a program that is killed repeatedly, with the clients that talk to it.
type crashRun struct {
	program
	random   *rand.Rand
	clients  *clients
	people   *people // on a platform; nil: the clients talk
	oracle   *oracle
	examiner examiner
	kills    int
	at       map[string]int // kills by what was going on
}

const crashSettings = `
catch_up = "24h"
calls_per_hour = 0
[llm]
base_url = %q
model = "scripted"
[defaults.compaction]
stack_budget = 0.2
rollup_fan_in = 3
tail_tokens = 800
span_tokens = 700
cache_ttl = "1s"
cooldown = "1s"
[[agents]]
id = "ahead"
context_window = 6000
max_output_tokens = 300
[[agents]]
id = "at-once"
context_window = 5000
max_output_tokens = 300
[agents.compaction]
prepare_threshold = 0
[[bindings]]
connector = %q
channel = %q
agent = "at-once"
`

func newHavoc(ctx context.Context, on string, seed uint64) (h *crashRun, err error) {
	h = &crashRun{random: rand.New(rand.NewPCG(seed, 0)), clients: newClients(seed), oracle: newOracle(seed), at: map[string]int{}}
	h.examiner = examiner{clients: h.clients, connector: on}
	settings := fmt.Sprintf(crashSettings, h.oracle.server.URL, on, "garden")
	if open := sides[on]; open != nil {
		h.people = newPeople(h.clients, open())
		h.oracle.pause = slowly
		settings = fmt.Sprintf(crashSettings, h.oracle.server.URL, on, h.people.garden()) + h.people.settings()
	}
	h.dir, err = os.MkdirTemp("", "cairn-crash-")
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	h.program, err = buildCairn(ctx, h.dir, settings)
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	if h.people != nil {
		err = h.begin(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

// close removes the folder, unless it contains evidence of a violation.
func (h *crashRun) close() error {
	h.oracle.server.Close()
	if h.people != nil {
		h.people.Close()
	}
	if len(h.clients.violations) > 0 {
		return nil
	}
	return os.RemoveAll(h.dir)
}

// kill starts a process, kills it, and examines what it leaves.
func (h *crashRun) kill(ctx context.Context) error {
	p, err := h.start(ctx)
	if err != nil {
		return err
	}
	h.talk(p)
	select {
	case <-time.After(h.lifetime()):
	case <-p.ended:
		h.clients.report("it ended by itself: %s", p.stderrTail())
	case <-ctx.Done():
	}
	answering := h.oracle.answering.Load()
	atWork := h.oracle.atWork.Load()
	up := h.up()
	p.crash()
	if err := ctx.Err(); err != nil {
		return err
	}
	h.kills++
	h.clients.mu.Lock()
	defer h.clients.mu.Unlock()
	found, err := h.examiner.examine(ctx, filepath.Join(h.dir, "data"), filepath.Join(h.dir, "copy"))
	if err != nil {
		return fmt.Errorf("after kill %d: %w", h.kills, err)
	}
	if h.people != nil {
		shown, err := h.afterKillLocked(ctx)
		if err != nil {
			return fmt.Errorf("after kill %d: %w", h.kills, err)
		}
		if shown {
			found = append(found, "an answer was shown in part, or sent and not noted")
		}
	}
	if !up {
		h.at[starting]++
		return nil
	}
	if answering > 0 {
		found = append(found, "the model was writing a reply")
	}
	if atWork > 0 {
		found = append(found, "the model was writing a summary")
	}
	for _, name := range found {
		h.at[name]++
	}
	if len(found) == 0 {
		h.at["nothing was going on"]++
	}
	return nil
}

// starting describes kills of processes that had not written anything yet.
const starting = "it was starting, or taking up what it found"

// restTimeout is how long the last process may take to answer everything and become idle.
const restTimeout = 3 * time.Minute

// rest runs a process until everything is done, and examines everything.
func (h *crashRun) rest(ctx context.Context) error {
	if h.people != nil {
		return h.compare(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, restTimeout)
	defer cancel()
	h.oracle.healthy.Store(true)
	p, err := h.start(ctx)
	if err != nil {
		return err
	}
	defer p.crash()
	p.sendAll(append(h.clients.unaccepted(), h.clients.last()...), nil)
	go func() {
		<-p.ended
		cancel()
	}()
	switch err := h.clients.settled(limited); {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		h.unanswered()
		return nil
	case err != nil:
		return fmt.Errorf("the last process ended by itself: %s", p.stderrTail())
	}
	if code := p.finish(); code != 0 {
		h.clients.report("the last process ended with %d: %s", code, p.stderrTail())
	}
	for _, wrong := range askDoctor(h.command(ctx, "doctor", "--json")) {
		h.clients.report("%s", wrong)
	}
	for _, channel := range crashChannels {
		if said, err := h.command(ctx, "context", "--channel", channel).CombinedOutput(); err != nil && h.clients.spokenIn(channel) {
			h.clients.report("cairn context says %s", said)
		}
	}
	h.clients.mu.Lock()
	defer h.clients.mu.Unlock()
	left, err := h.examiner.examine(ctx, filepath.Join(h.dir, "data"), filepath.Join(h.dir, "copy"))
	for _, name := range left {
		if !strings.Contains(name, "placeholder") && !strings.Contains(name, "ready") { // undone or prepared summaries may remain
			h.clients.violationLocked("at the end %s", name)
		}
	}
	for _, why := range h.oracle.server.Refusals() {
		if why != io.ErrUnexpectedEOF.Error() { // the client was killed during a request
			h.clients.violationLocked("a strict server refuses: %s", why)
		}
	}
	return err
}

// unanswered records messages without an answer.
func (h *crashRun) unanswered() {
	h.clients.mu.Lock()
	defer h.clients.mu.Unlock()
	for _, u := range h.clients.said {
		if u.open() {
			h.clients.violationLocked("%s in %s has no answer (accepted: %v)", u.id, u.channel, u.accepted)
		}
	}
}
