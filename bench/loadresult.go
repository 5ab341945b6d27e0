package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"cairn/memory"
)

// load is the whole result.
type load struct {
	Channels int     `json:"channels"`
	Minutes  float64 `json:"minutes"`
	Took     float64 `json:"took_minutes"` // longer if the rate was not held
	Rate     float64 `json:"messages_per_second"`
	Said     int     `json:"messages"`
	doings
	Lost       int      `json:"messages_lost"`
	Unanswered int      `json:"unanswered"`
	Findings   []string `json:"findings"` // of the examination that doctor makes
	CPU        float64  `json:"cpu_us_per_turn"`
	P50        float64  `json:"p50_ms"`
	P99        float64  `json:"p99_ms"`
	Start      usage    `json:"start"`
	End        usage    `json:"end"`
	Machine    string   `json:"load,omitempty"`
	Samples    []sample `json:"samples"`
	targets
}

// audit looks for every message.
func (l *load) audit(ctx context.Context, c *crowd) (err error) {
	done, took := c.look(0)
	if l.doings = done; len(took) > 0 {
		l.P50, l.P99 = quantile(took, 0.5), quantile(took, 0.99)
	}
	c.count(func(*doings) { l.Unanswered = len(c.asked) })
	l.Said, l.Machine = c.said, busyMachine()
	db, err := sql.Open("sqlite3", memory.File(c.store.dir))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	kept := 0
	err = db.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM messages WHERE role = 'user') + (SELECT count(*) FROM inbox)").Scan(&kept)
	if err != nil {
		return err
	}
	l.Lost = c.past + c.said - kept
	found, err := c.store.Check(ctx)
	for _, f := range found {
		l.Findings = append(l.Findings, f.String())
	}
	return err
}

// thirds are the means of something over the last third of the samples, and over the second.
func (l load) thirds(of func(sample) float64) (second, last float64) {
	n := len(l.Samples)
	mean := func(part []sample) (sum float64) {
		for _, x := range part {
			sum += of(x) / float64(len(part))
		}
		return sum
	}
	return mean(l.Samples[n/3 : 2*n/3]), mean(l.Samples[2*n/3:])
}

// growth is by how much more of something there is in the last third than in the second.
func (l load) growth(of func(sample) float64) float64 {
	second, last := l.thirds(of)
	if second == 0 {
		return 1
	}
	return last / second
}

// judge compares the result with the targets.
func (l *load) judge() {
	spent, turns := 0.0, 0.0
	for _, x := range l.Samples {
		spent, turns = spent+x.CPU*float64(x.Answered), turns+float64(x.Answered)
	}
	l.CPU = spent / max(turns, 1)
	l.Targets = []goal{
		none("messages lost", l.Lost),
		none("questions without an answer", l.Unanswered),
		none("questions answered twice", l.Twice),
		none("turns and compactions that failed", l.Failed+l.Broken),
		none("findings of doctor", len(l.Findings)),
		none("goroutines more than at the start", max(l.End.Goroutines-l.Start.Goroutines, 0)),
		none("files open more than at the start", max(l.End.Handles-l.Start.Handles, 0)),
		atMost("resident memory, last third over second", l.growth(func(x sample) float64 { return float64(x.Resident) }), 1.05),
		atMost("processor's time of a turn, last third over second", l.growth(func(x sample) float64 { return x.CPU }), 1.15),
		atMost("minutes that it took, over those that it should", l.Took/l.Minutes, 1.05),
	}
}

// table is the result as people read it.
func (l load) table(s *screen) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s channels at once for %.3g minutes, %g messages a second\n\n", s.paint(bold, "load"), thousands(l.Channels), l.Minutes, l.Rate)
	fmt.Fprintf(&b, "%s messages, %s answered; %s compactions, %s of them of summaries; %s memories\n\n",
		thousands(l.Said), thousands(l.Answered), thousands(l.Compactions), thousands(l.Rollups), thousands(l.Memories))
	rows := newGrid("", "second third", "last third")
	for _, p := range []struct {
		name string
		of   func(sample) float64
	}{
		{"resident memory, MB", func(x sample) float64 { return float64(x.Resident) / 1e6 }},
		{"objects of Go, MB", func(x sample) float64 { return float64(x.Heap) / 1e6 }},
		{"goroutines", func(x sample) float64 { return float64(x.Goroutines) }},
		{"files open", func(x sample) float64 { return float64(x.Handles) }},
		{"processor, ms a turn", func(x sample) float64 { return x.CPU / 1000 }},
		{"beyond the model, p50 ms", func(x sample) float64 { return x.P50 }},
		{"beyond the model, p99 ms", func(x sample) float64 { return x.P99 }},
	} {
		second, last := l.thirds(p.of)
		rows.add(p.name, fmt.Sprintf("%.4g", second), fmt.Sprintf("%.4g", last))
	}
	b.WriteString(rows.text(s) + "\n" + l.verdicts(s))
	for _, f := range l.Findings[:min(len(l.Findings), 10)] {
		fmt.Fprintf(&b, "%s\n", f)
	}
	if l.Why != "" {
		fmt.Fprintf(&b, "the first failure: %s\n", l.Why)
	}
	return b.String()
}
