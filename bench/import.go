package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cairn/channel"
	"cairn/llm"
	"cairn/memory"
	"cairn/store"
)

const importHelp = `Import loads conversations of the given sizes, without a model, in the default window: in one kind, the
words follow Zipf's law, as in real talk, with names of days and numbers; in the other, all messages use
the same %d words, so that each message and each memory shares words with every other.

It measures the CPU time of the process, kernel included: until all messages are stored and can be
searched, and until all are summarized. Targets: %.0f minutes until %s are stored, at the rate of
each size; at most %.0f ms a message in all; and at most %.1f times as much per message at the
largest size as at the second largest, if both are at least %s.

Then it kills "cairn import" of %s messages at random, and repeats it until it completes: no message
may be lost or stored twice. The files are in /dev/shm if it exists, has room, and TMPDIR names no other folder.`

const (
	importGoal     = 3.0 // CPU time of a message, in ms
	importMinutes  = 2.0 // CPU time until importMany messages are stored
	importMany     = 100_000
	importGrowth   = 1.3
	importFilled   = 10_000 // messages from which on the window and the stack of summaries are full
	importKilled   = 2000   // messages of an import that is killed
	importPlace    = "bench:import/1"
	importWindow   = fullWindow
	perMinuteInMS  = 60_000.0
	messagesPerDay = 24 * 60
)

// importing has the flags of `import`.
type importing struct {
	sizes []int
	kills int
}

func newImport() *benchmark {
	var o importing
	help := fmt.Sprintf(importHelp, smallVocabulary, importMinutes, thousands(importMany), importGoal, importGrowth, thousands(importFilled), thousands(importKilled))
	b := newBenchmark("import", "Measure the cost of importing a message, at several sizes", help, func(ctx context.Context, s *screen, _ []string) (result, error) {
		return o.measure(ctx, s)
	})
	b.integers(&o.sizes, "messages", []int{1000, 10_000, importMany}, 100, 10_000_000, "sizes: `N` messages, separated by commas")
	b.integer(&o.kills, "kills", 10, 0, 1000, "`N` kills of each kind")
	return b
}

// imported is the result.
type imported struct {
	Imports []importCost  `json:"imports"`
	Kills   []importKills `json:"kills"`
	targets
}

// importCost is what one import cost.
type importCost struct {
	Kind      string  `json:"kind"`
	Messages  int     `json:"messages"`
	Stored    float64 `json:"stored_ms"` // CPU time of a message until all are stored
	All       float64 `json:"all_ms"`    // until all are summarized
	Seconds   float64 `json:"seconds"`   // that passed
	Summaries int     `json:"summaries"`
	Memories  int     `json:"memories"`
}

// kindsOfTalk are the kinds of messages.
var kindsOfTalk = []struct {
	name string
	text func(seed uint64) importText
}{{"like real talk", realLike}, {"few words", smallText}}

func (o importing) measure(ctx context.Context, s *screen) (r imported, err error) {
	sizes := slices.Sorted(slices.Values(o.sizes))
	for _, kind := range kindsOfTalk {
		var costs []importCost
		for _, size := range sizes {
			cost, err := measureImport(ctx, s, size, kind.text(1))
			if err != nil {
				return r, err
			}
			cost.Kind = kind.name
			costs = append(costs, cost)
		}
		r.Imports = append(r.Imports, costs...)
		r.judge(costs)
	}
	if o.kills == 0 {
		return r, nil
	}
	return r, withCairn(ctx, s, inMemory(), func(p program) error {
		for _, kind := range kindsOfTalk {
			k, err := killImports(ctx, s, p, kind.name, kind.text(2), o.kills)
			if err != nil {
				return err
			}
			r.Kills = append(r.Kills, k)
			r.Targets = append(r.Targets, zero("messages lost or stored twice, "+kind.name, k.Wrong))
		}
		return nil
	})
}

// judge adds the targets of one kind, in order of size.
func (r *imported) judge(costs []importCost) {
	for _, c := range costs {
		of := fmt.Sprintf(", %s, %s", c.Kind, thousands(c.Messages))
		r.Targets = append(r.Targets,
			atMost("minutes until "+thousands(importMany)+" are stored"+of, c.Stored*importMany/perMinuteInMS, importMinutes),
			atMost("ms a message"+of, c.All, importGoal))
	}
	if n := len(costs); n > 1 && costs[n-2].Messages >= importFilled {
		r.Targets = append(r.Targets, atMost(fmt.Sprintf("times as much a message with %s as with %s, %s",
			thousands(costs[n-1].Messages), thousands(costs[n-2].Messages), costs[n-1].Kind), costs[n-1].All/costs[n-2].All, importGrowth))
	}
}

// measureImport imports n messages into a new database.
func measureImport(ctx context.Context, s *screen, n int, text importText) (c importCost, err error) {
	agent := agentOf(llm.NewOffline(importWindow), nil)
	b, err := openBot(ctx, inMemory(), channel.Options{Agent: func(string) channel.Agent { return agent }})
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	said := past(n, time.Now().Add(-time.Duration(n+messagesPerDay)*time.Minute), text.message)
	start := time.Now()
	cpu := cpuTime()
	var stored time.Duration
	_, err = b.hub.Import(ctx, importPlace, said, func(now channel.ImportProgress) {
		if now.Stored == n && stored == 0 {
			stored = cpuTime() - cpu
		}
		s.progress("%s of %s messages are stored, %s are not summarized", thousands(now.Stored), thousands(n), thousands(now.Unread))
	})
	if err != nil {
		return c, err
	}
	each := func(d time.Duration) float64 { return ms(d) / float64(n) }
	c = importCost{Messages: n, Stored: each(stored), All: each(cpuTime() - cpu), Seconds: time.Since(start).Seconds()}
	statistics, err := memory.In(b.store.Store).Statistics(ctx, memory.Filter{State: "all"})
	if err != nil {
		return c, err
	}
	c.Memories = statistics.Total
	_, c.Summaries, err = b.store.Compactions(ctx, store.CompactionFilter{})
	return c, err
}
