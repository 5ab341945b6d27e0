// When automatic work is tried again.

package compactor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"cairn/llm"
	"cairn/transcript"
)

// retries determines when automatic work may run: after failures, after the model declined or
// Before vetoed, and after compactions that freed nothing.
type retries struct {
	backoff
	extractiveRetryAt time.Time         // the extractive summarizer is not tried before this time
	useless           int               // consecutive applied compactions that freed next to nothing
	pausedUntil       time.Time         // no level below emergency starts anything before this time
	repairs           map[int64]backoff // of rows whose repair failed, by id
	declinedTo        int64             // the model declined to summarize messages up to this seq
	vetoes            map[Trigger]veto
}

// backoff counts consecutive failures.
type backoff struct {
	failures int       // in a row
	retryAt  time.Time // no model is tried before this time
}

// failed counts a failure. The first free ones in a row cause no pause.
func (b *backoff) failed(now time.Time, free int) {
	if b.failures >= free {
		b.retryAt = now.Add(min(time.Minute<<min(b.failures, 10), 30*time.Minute)) // 1, 2, 4, … minutes
	}
	b.failures++
}

func (r *retries) worked() {
	r.backoff = backoff{}
	r.extractiveRetryAt = time.Time{}
}

// freed records how many tokens an applied compaction freed of its span, and whether the window is still full though
// nothing more may leave. Two in a row that free less than a twentieth, or too little, pause the levels below
// emergency: then compaction cannot move what fills the window.
func (r *retries) freed(tokens, ofSpan int, stuck bool, now time.Time, cooldown time.Duration) (paused bool) {
	if tokens*20 >= ofSpan && !stuck {
		r.useless = 0
		return false
	}
	r.useless++
	if r.useless < 2 {
		return false
	}
	r.useless, r.pausedUntil = 0, now.Add(cooldown)
	return true
}

// after determines when the next attempt is made after a failed job; applied are the rows of the head. A row that
// cannot be repaired because of its content does not hold up other work; a model that does not answer does.
func (r *retries) after(j *job, err error, now time.Time, applied []Summary) {
	var provider *llm.Error
	down := errors.As(err, &provider) && provider.Temporary() || errors.Is(err, context.DeadlineExceeded)
	repair := j.repaired.ID != 0
	switch {
	case !repair && j.extractive():
		r.failed(now, 0) // it needs no model, so the disk failed, which must not be retried without pause
		r.extractiveRetryAt = r.retryAt
	case !j.extractive() && modelDeclines(err):
		return // declined spans have another backoff
	case !repair || down:
		r.failed(now, 0)
	}
	if repair {
		b := r.repairs[j.repaired.ID]
		b.failed(now, 0)
		r.repairs[j.repaired.ID] = b
		known := transcript.IDs(applied)
		maps.DeleteFunc(r.repairs, func(id int64, _ backoff) bool { return !slices.Contains(known, id) })
	}
}

// noteFreed records what j freed, and logs a pause.
func (c *Compactor) noteFreed(j *job) {
	next := c.planner(j.policy).ahead() // it may still wait for a fold
	full := levelOf(c.meter.used(next), c.o.Window(), c.meter.policy()) != levelNone
	stuck := full && len(planSpan(next, 1, j.policy.tailLimits(c.meter.budget())).messages) == 0
	switch paused := c.retries.freed(j.tokens-j.row.Tokens, j.tokens, stuck, c.o.Now(), time.Duration(j.policy.Cooldown)); {
	case paused:
		c.o.Log.Log(c.ctx, c.reports.paused.Begin(), "compaction_paused",
			"reason", reasonPaused, "until", c.retries.pausedUntil, "used", c.meter.used(next), "window", c.o.Window())
	case c.retries.useless == 0:
		c.reports.paused.End()
	}
}

// veto is Before's refusal of the jobs of one trigger.
type veto struct {
	reason string
	until  time.Time
}

// minVeto is the shortest duration of a veto, so that a hook is not called at each message.
const minVeto = time.Minute

// forbid notes a veto of a job. Except for OnManual it forbids the trigger for the cooldown.
func (r *retries) forbid(j *job, reason error, now time.Time) {
	if j.row.Trigger == OnManual { // people may ask again
		return
	}
	r.vetoes = maps.Clone(r.vetoes) // readers of a Status have the old map
	r.vetoes[j.row.Trigger] = veto{reason.Error(), now.Add(max(time.Duration(j.policy.Cooldown), minVeto))}
}

func (r *retries) forbids(t Trigger, now time.Time) bool { return now.Before(r.vetoes[t].until) }

// reason returns why jobs of a trigger are forbidden, in words for people.
func (r *retries) reason(t Trigger) string {
	return fmt.Sprintf("%s was vetoed: %s", t, r.vetoes[t].reason)
}

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
