package llm

import (
	"sync"
	"time"
)

// Speed is a moving average of how many tokens, prompt and answer together, a model processes per
// second. The zero value has no measurement. It is safe for concurrent use.
type Speed struct {
	mu        sync.Mutex // guards perSecond
	perSecond float64
}

// speedWeight is the weight of the newest measurement.
const speedWeight = 0.5

// PerSecond returns the average; 0 if nothing was measured.
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

// AtMost lowers an average that a failure has shown to be too high.
func (s *Speed) AtMost(perSecond float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.perSecond == 0 || perSecond < s.perSecond {
		s.perSecond = perSecond
	}
}
