package llm

import (
	"sync"
	"time"
)

// Speed is how many tokens, prompt and answer together, a model works through in a
// second, as a moving average. The zero value knows nothing. It is safe for
// concurrent use.
type Speed struct {
	mu        sync.Mutex // guards perSecond
	perSecond float64
}

// speedWeight is how much the newest measurement counts.
const speedWeight = 0.5

// PerSecond is the average; 0 while nothing was measured.
func (s *Speed) PerSecond() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.perSecond
}

// Measured adds a measurement.
func (s *Speed) Measured(tokens int, took time.Duration) {
	if tokens <= 0 || took <= 0 {
		return
	}
	now := float64(tokens) / took.Seconds()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.perSecond == 0 {
		s.perSecond = now
		return
	}
	s.perSecond += speedWeight * (now - s.perSecond)
}

// AtMost corrects an average that a failure has shown to be too high.
func (s *Speed) AtMost(perSecond float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.perSecond == 0 || perSecond < s.perSecond {
		s.perSecond = perSecond
	}
}
