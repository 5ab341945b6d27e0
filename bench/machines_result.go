package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// fleetResult is the result.
type fleetResult struct {
	Processes     int        `json:"processes"`
	Conversations int        `json:"conversations"`
	Minutes       float64    `json:"minutes"`
	Asked         int        `json:"questions"`
	Answered      int        `json:"answered"`
	Lost          int        `json:"lost"`
	Twice         int        `json:"answered_twice"`
	Frozen        []string   `json:"answered_twice_after_a_freeze"` // see afterFreeze
	Disorder      int        `json:"out_of_order"`
	Deposed       int        `json:"rows_of_a_deposed_owner"` // and other things that the triggers have noted
	Notices       []string   `json:"notices"`                 // that people see beside answers, as while the database is away
	Speed         float64    `json:"turns_per_second"`
	CPU           float64    `json:"cpu_ms_per_turn"` // of all processes, without the database
	Gaps          []gap      `json:"gaps"`
	Channels      []waited   `json:"channels,omitempty"` // see listed
	Slowest       []string   `json:"slowest"`
	Faults        []injected `json:"faults"`
	Wrong         []string   `json:"wrong"`
	Folder        string     `json:"folder,omitempty"` // kept for debugging
	targets
}

// gap is the time from a question to its answer.
type gap struct {
	After     string  `json:"after"`
	Questions int     `json:"questions"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
	Max       float64 `json:"max_ms"`
}

// listed is how many channels are few enough that the result lists them.
const listed = 40

// waited is how long people of one channel waited for answers.
type waited struct {
	Channel   string  `json:"channel"`
	Questions int     `json:"questions"`
	P50       float64 `json:"p50_ms"`
	Max       float64 `json:"max_ms"`
	During    string  `json:"longest_during"` // the fault that the longest wait met
}

// failure is a broken promise.
func (r fleetResult) failure() error {
	if len(r.Wrong) == 0 {
		return nil
	}
	return fmt.Errorf("%d things are wrong, see %s; the first: %s", len(r.Wrong), r.Folder, r.Wrong[0])
}

// result compares everything, after the last process has ended.
func (r *fleetRun) result(ctx context.Context, took time.Duration) (f fleetResult, err error) {
	seen := r.seen()
	v := compareAnswers(r.asked, seen, r.injected)
	noted, err := r.guard.noted(ctx)
	if err != nil {
		return f, err
	}
	left, err := r.guard.left(ctx)
	if err != nil {
		return f, err
	}
	texts, err := r.guard.questions(ctx)
	if err != nil {
		return f, err
	}
	f = fleetResult{
		Processes: r.o.processes, Conversations: r.o.conversations, Minutes: took.Minutes(), Asked: len(r.asked), Answered: len(v.answered),
		Lost: len(v.lost), Twice: len(v.twice), Frozen: append([]string{}, v.frozen...), Disorder: len(v.disorder), Deposed: len(noted), Notices: v.notices, Faults: r.injected,
		Gaps: gapsOf(r.asked, v.answered, r.injected),
	}
	f.Wrong = append([]string{}, slices.Concat(r.wrong, v.lost, v.twice, v.disorder, v.strange, noted, left, unevenly(r.asked, texts))...)
	f.Wrong = append(f.Wrong, askDoctor(r.machines[0].calls(ctx, r.builds.now, "doctor", "--json"))...)
	var spent time.Duration
	for _, m := range r.machines {
		spent += m.cpu()
	}
	turns := 0
	for _, all := range seen {
		turns += len(all)
	}
	f.Speed = float64(turns) / took.Seconds()
	f.CPU = ms(spent) / float64(max(turns, 1))
	f.judge()
	if r.o.conversations <= listed {
		f.Channels = waitedOf(r.asked, v.answered, r.injected)
	}
	for _, q := range slowestOf(r.asked, v.answered) {
		f.Slowest = append(f.Slowest, fmt.Sprintf("%s q%d in %s:%s waited %v", clockTime(q.at), q.n, q.on, q.place, v.answered[q.n].Sub(q.at).Round(time.Millisecond)))
		v.in[q.on+":"+q.place] = true
	}
	if len(f.Wrong) > 0 || unmet(f.Targets) != nil {
		f.Folder = r.dir
		err = r.keep(ctx, f, v, seen)
	}
	return f, err
}

// gapTargets are the longest gaps that may follow faults, by kind.
var gapTargets = map[string]struct {
	fault string // with its article
	most  time.Duration
}{"kill": {"a kill", killGap}, "drain": {"a drain", drainGap}, "upgrade": {"an upgrade", drainGap}}

// judge compares the result with the targets; what must not happen is an error of its own.
func (f *fleetResult) judge() {
	for _, g := range f.Gaps {
		t := gapTargets[g.After]
		if t.most != 0 {
			f.Targets = append(f.Targets, atMost("longest gap after "+t.fault+", in ms", g.Max, ms(t.most)))
		}
	}
}

// keep writes what the database and people have of the conversations in which something is wrong.
func (r *fleetRun) keep(ctx context.Context, f fleetResult, v verdict, seen map[string][]shown) error {
	var b strings.Builder
	fmt.Fprintln(&b, strings.Join(f.Wrong, "\n"))
	for _, one := range f.Faults {
		fmt.Fprintf(&b, "%+v\n", one)
	}
	for place := range v.in {
		rows, err := r.guard.rows(ctx, place)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "\n%s\n%s\n", place, rows)
		for _, m := range seen[place] {
			edited := ""
			if m.edited != nil {
				edited = " edited " + clockTime(*m.edited)
			}
			if m.deleted {
				edited += " deleted"
			}
			fmt.Fprintf(&b, "%s%s %s %s\n", clockTime(m.at), edited, m.id, m.text)
		}
	}
	return os.WriteFile(filepath.Join(r.dir, "wrong"), []byte(b.String()), 0o600)
}

// aftermath is how long after its end a fault still delays answers.
const aftermath = 10 * time.Second

// gapsOf returns how long answers took, of all questions and of those that met each kind of fault.
func gapsOf(asked []question, answered map[int]time.Time, faults []injected) (gaps []gap) {
	took := map[string][]time.Duration{}
	for _, q := range asked {
		at, there := answered[q.n]
		if !there {
			continue
		}
		for _, name := range []string{"", metBy(q, at, faults)} {
			took[name] = append(took[name], at.Sub(q.at))
		}
	}
	for name, all := range took {
		gaps = append(gaps, gap{cmp.Or(name, "all"), len(all), quantile(all, 0.5), quantile(all, 0.99), ms(slices.Max(all))})
	}
	slices.SortFunc(gaps, func(a, b gap) int {
		return cmp.Or(cmp.Compare(b.Questions, a.Questions), cmp.Compare(a.After, b.After))
	})
	return gaps
}

// metBy returns the latest fault during which a question waited for its answer.
func metBy(q question, answered time.Time, faults []injected) string {
	met := "nothing"
	for _, f := range faults {
		if answered.After(f.began) && q.at.Before(f.ended.Add(aftermath)) {
			met = f.name()
		}
	}
	return met
}

// waitedOf returns how long people waited in each channel.
func waitedOf(asked []question, answered map[int]time.Time, faults []injected) (all []waited) {
	took := map[string][]time.Duration{}
	during := map[string]string{}
	for _, q := range asked {
		at, there := answered[q.n]
		if !there {
			continue
		}
		place := q.on + ":" + q.place
		wait := at.Sub(q.at)
		if len(took[place]) == 0 || wait > slices.Max(took[place]) {
			during[place] = metBy(q, at, faults)
		}
		took[place] = append(took[place], wait)
	}
	for _, place := range slices.Sorted(maps.Keys(took)) {
		of := took[place]
		all = append(all, waited{place, len(of), quantile(of, 0.5), ms(slices.Max(of)), during[place]})
	}
	return all
}

// slowestOf returns the questions that waited longest for their answer.
func slowestOf(asked []question, answered map[int]time.Time) []question {
	waited := func(q question) time.Duration { return answered[q.n].Sub(q.at) } // negative if there is no answer
	all := slices.SortedFunc(slices.Values(asked), func(a, b question) int { return cmp.Compare(waited(b), waited(a)) })
	return slices.DeleteFunc(all[:min(len(all), 10)], func(q question) bool { return waited(q) < 0 })
}
