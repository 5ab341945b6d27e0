package main

import (
	"context"
	"database/sql"
	"errors"

	"cairn/store"
)

// load is the result.
type load struct {
	Channels int     `json:"channels"`
	Minutes  float64 `json:"minutes"`
	Took     float64 `json:"took_minutes"` // longer if the rate could not be sustained
	Rate     float64 `json:"messages_per_second"`
	Said     int     `json:"messages"`
	counts
	Lost       int      `json:"messages_lost"`
	Unanswered int      `json:"unanswered"`
	Findings   []string `json:"findings"` // of the checks of doctor
	CPU        float64  `json:"cpu_us_per_turn"`
	P50        float64  `json:"p50_ms"`
	P99        float64  `json:"p99_ms"`
	Start      usage    `json:"start"`
	End        usage    `json:"end"`
	Samples    []sample `json:"samples"`
	targets
}

// audit checks that every message is in the database.
func (l *load) audit(ctx context.Context, c *crowd) (err error) {
	done, took := c.snapshot(0)
	l.counts = done
	if len(took) > 0 {
		l.P50, l.P99 = quantile(took, 0.5), quantile(took, 0.99)
	}
	c.count(func(*counts) { l.Unanswered = len(c.asked) })
	l.Said = c.said
	db, err := sql.Open("sqlite3", store.File(c.store.dir))
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
	found, err := c.store.Upkeep().Check(ctx)
	for _, f := range found {
		l.Findings = append(l.Findings, f.String())
	}
	return err
}

// growth returns how much a value has grown from the second to the last third of the samples, as a
// share.
func (l load) growth(of func(sample) float64) float64 {
	n := len(l.Samples)
	mean := func(part []sample) (sum float64) {
		for _, x := range part {
			sum += of(x) / float64(len(part))
		}
		return sum
	}
	second := mean(l.Samples[n/3 : 2*n/3])
	last := mean(l.Samples[2*n/3:])
	if second == 0 {
		return 1
	}
	return last / second
}

// judge compares the result with the targets.
func (l *load) judge() {
	spent := 0.0
	turns := 0.0
	for _, x := range l.Samples {
		spent = spent + x.CPU*float64(x.Answered)
		turns = turns + float64(x.Answered)
	}
	l.CPU = spent / max(turns, 1)
	l.Targets = []goal{
		zero("messages lost", l.Lost),
		zero("questions without an answer", l.Unanswered),
		zero("questions answered twice", l.Twice),
		zero("turns and compactions that failed", l.Failed+l.Broken),
		zero("findings of doctor", len(l.Findings)),
		zero("goroutines more than at the start", max(l.End.Goroutines-l.Start.Goroutines, 0)),
		zero("files open more than at the start", max(l.End.Handles-l.Start.Handles, 0)),
		atMost("resident memory, last third over second", l.growth(func(x sample) float64 { return float64(x.Resident) }), 1.05),
		atMost("processor's time of a turn, last third over second", l.growth(func(x sample) float64 { return x.CPU }), 1.15),
		atMost("minutes that it took, over those that it should", l.Took/l.Minutes, 1.05),
	}
}
