package compactor

import (
	"slices"
	"time"
)

// fallbackWake is the interval to the next check if nothing else determines it.
const fallbackWake = 10 * time.Minute

// nextWake returns the time of the next check, when work that waits may start; zero: nothing waits.
func (pl *planner) nextWake() (at time.Time) {
	p := pl.policy
	now := pl.at
	times := []time.Time{pl.retries.retryAt, pl.retries.vetoes[OnRepair].until}
	waits := pl.models.has(p) && len(pl.repairable(pl.now)) > 0 || pl.meter.level(pl.now) != levelNone && now.Before(pl.retries.retryAt)
	for _, row := range pl.now.Head.Rows() {
		retryAt := pl.retries.repairs[row.ID].retryAt
		times = append(times, retryAt)
		waits = waits || row.Kind == Placeholder && (now.Before(retryAt) || pl.retries.forbids(OnRepair, now))
	}
	later := slices.DeleteFunc(times, func(t time.Time) bool { return !t.After(now) })
	switch {
	case pl.draining || !waits:
	case len(later) > 0:
		at = slices.MinFunc(later, time.Time.Compare)
	case pl.models.none(p):
		at = now.Add(fallbackWake)
	}
	return at
}
