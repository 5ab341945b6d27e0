package compactor

import "time"

// pace is when the automatic jobs may run: it holds what failed and what was of no use.
type pace struct {
	failures    int       // in a row
	retryAt     time.Time // before it no model is tried again
	useless     int       // landings in a row that freed next to nothing
	pausedUntil time.Time
}

// backoff is how long the next try waits after so many failures: 1, 2, 4, … up to
// 30 minutes.
func backoff(failures int) time.Duration {
	return min(time.Minute<<min(failures-1, 10), 30*time.Minute)
}

func (p *pace) failed(now time.Time) {
	p.failures++
	p.retryAt = now.Add(backoff(p.failures))
}

func (p *pace) worked() { p.failures, p.retryAt = 0, time.Time{} }

// freed notes what a landing freed of its span, and whether the window is full all
// the same. Two landings in a row that free less than a twentieth, or too little,
// pause the levels below emergency: what fills the window is then not what they can move.
func (p *pace) freed(tokens, ofSpan int, full bool, now time.Time, cooldown time.Duration) {
	if tokens*20 >= ofSpan && !full {
		p.useless = 0
		return
	}
	if p.useless++; p.useless >= 2 {
		p.useless, p.pausedUntil = 0, now.Add(cooldown)
	}
}

func (p *pace) why(now time.Time) string {
	switch {
	case now.Before(p.pausedUntil):
		return reasonPaused
	case now.Before(p.retryAt):
		return reasonBackoff
	}
	return ""
}
