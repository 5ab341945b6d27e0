package compactor

import "slices"

// A placeholder is filled by the extractive summarizer immediately, in parallel with a model's job:
// it needs milliseconds, while a model that hangs takes minutes. The model repairs the result
// later.

// planFill plans to fill the oldest placeholder. It skips spans whose summary was undone, and
// placeholders for whose summary there is no room.
func (pl *planner) planFill() *job {
	now := pl.at
	if pl.retries.forbids(OnRepair, now) {
		return nil
	}
	s := pl.now
	p := pl.policy
	used := pl.meter.used(s)
	for _, row := range s.Head.Rows() {
		filled := func(r Summary) bool { return row.Within(r.Span) } // a text from before the placeholder grew is too short
		waits := pl.isSpared(row.Span) || now.Before(pl.retries.repairs[row.ID].retryAt)
		if waits || row.ID == 0 || row.Kind != Placeholder || slices.ContainsFunc(pl.now.prepared(), filled) {
			continue
		}
		if j := pl.repairOf(row, s, used, true); j != nil {
			j.row.Declined = row.Declined
			j.row.AwaitsModel = j.row.AwaitsModel || row.AwaitsModel && pl.models.has(p)
			return j
		}
	}
	return nil
}
