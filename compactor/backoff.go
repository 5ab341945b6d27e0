package compactor

import "time"

// pace is when the automatic jobs may run: it holds what failed and what was of no use.
type backoff struct {
	failures    int       // in a row
	retryAt     time.Time // before it no model is tried again
	standInAt   time.Time // before it nobody stands in for the model: that failed too
	useless     int       // applied compactions in a row that freed next to nothing
	pausedUntil time.Time
}

// backoff is how long the next try waits after so many failures: 1, 2, 4, … up to
// 30 minutes.
func retryPause(failures int) time.Duration {
	return min(time.Minute<<min(failures-1, 10), 30*time.Minute)
}

func (p *backoff) failed(now time.Time) {
	p.failures++
	p.retryAt = now.Add(retryPause(p.failures))
}

// stoodIn notes that the extractive summarizer failed, which needs no model: so it was
// the disk, and that must not be tried without end.
func (p *backoff) stoodIn(now time.Time) {
	p.failed(now)
	p.standInAt = p.retryAt
}

func (p *backoff) worked() { p.failures, p.retryAt, p.standInAt = 0, time.Time{}, time.Time{} }

// freed notes what an applied compaction freed of its span, and whether the window is full all
// the same. Two applied compactions in a row that free less than a twentieth, or too little,
// pause the levels below emergency: what fills the window is then not what they can move.
func (p *backoff) freed(tokens, ofSpan int, full bool, now time.Time, cooldown time.Duration) {
	if tokens*20 >= ofSpan && !full {
		p.useless = 0
		return
	}
	if p.useless++; p.useless >= 2 {
		p.useless, p.pausedUntil = 0, now.Add(cooldown)
	}
}

func (p *backoff) why(now time.Time) string {
	switch {
	case now.Before(p.pausedUntil):
		return reasonPaused
	case now.Before(p.retryAt):
		return reasonBackoff
	}
	return ""
}
