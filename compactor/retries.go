package compactor

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// retries determines when automatic work may run: after failures, after the model declined or
// Before vetoed, and after compactions that freed nothing.
type retries struct {
	backoff
	extractiveRetryAt time.Time         // the extractive summarizer is not tried before this time
	useless           int               // consecutive applied compactions that freed next to nothing
	pausedUntil       time.Time         // no level below emergency starts anything before this time
	repairs           map[int64]backoff // of rows whose repair failed, by id
	declines          int               // consecutive times that the model declined
	declinedTo        int64             // the model declined to summarize messages up to this seq
	vetoes            map[Trigger]veto
}

// backoff counts consecutive failures.
type backoff struct {
	failures int       // in a row
	retryAt  time.Time // no model is tried before this time
}

func (b *backoff) failed(now time.Time) {
	b.retryAt = now.Add(min(time.Minute<<min(b.failures, 10), 30*time.Minute)) // 1, 2, 4, … minutes
	b.failures++
}

// extractiveFailed records a failure of the extractive summarizer. It needs no model, so the disk failed,
// which must not be retried without pause.
func (r *retries) extractiveFailed(now time.Time) {
	r.failed(now)
	r.extractiveRetryAt = r.retryAt
}

func (r *retries) worked() {
	r.backoff, r.extractiveRetryAt, r.declines = backoff{}, time.Time{}, 0
}

// declined records that the model declined something. After limit times in a row it seems to
// decline everything.
func (r *retries) declined(now time.Time, limit int) {
	r.declines++
	if r.declines >= limit {
		r.failures = max(r.failures, r.declines-1)
		r.failed(now)
	}
}

// repairFailed sets the backoff for the repair of a row. Entries of rows that are not in stack are
// removed.
func (r *retries) repairFailed(id int64, now time.Time, stack []Compaction) {
	b := r.repairs[id]
	b.failed(now)
	kept := map[int64]backoff{id: b}
	for _, row := range stack {
		if other, ok := r.repairs[row.ID]; ok && row.ID != id {
			kept[row.ID] = other
		}
	}
	r.repairs = kept
}

// freed records how many tokens an applied compaction freed of its span, and whether the window is
// still full. Two in a row that free less than a twentieth, or too little, pause the levels below
// emergency: then compaction cannot move what fills the window.
func (r *retries) freed(tokens, ofSpan int, full bool, now time.Time, cooldown time.Duration) {
	if tokens*20 >= ofSpan && !full {
		r.useless = 0
		return
	}
	r.useless++
	if r.useless >= 2 {
		r.useless, r.pausedUntil = 0, now.Add(cooldown)
	}
}

// veto is Before's refusal of the jobs of one trigger.
type veto struct {
	reason string
	until  time.Time
}

// minVeto is the shortest duration of a veto, so that a hook is not called at each message.
const minVeto = time.Minute

func (r *retries) forbid(t Trigger, reason string, until time.Time) {
	if r.vetoes == nil {
		r.vetoes = make(map[Trigger]veto)
	}
	r.vetoes[t] = veto{reason, until}
}

// forbids reports whether jobs of a trigger wait because of a veto.
func (r *retries) forbids(t Trigger, now time.Time) bool { return now.Before(r.vetoes[t].until) }

// reason returns why jobs of a trigger are forbidden, in words for people.
func (r *retries) reason(t Trigger) string {
	return fmt.Sprintf("%s was forbidden: %s", t, r.vetoes[t].reason)
}

// why returns why automatic work waits; "" if it does not.
func (r *retries) why(now time.Time) string {
	switch {
	case now.Before(r.pausedUntil):
		return reasonPaused
	case now.Before(r.retryAt):
		return reasonBackoff
	}
	for _, t := range slices.Sorted(maps.Keys(r.vetoes)) {
		if r.forbids(t, now) {
			return r.reason(t)
		}
	}
	return ""
}
