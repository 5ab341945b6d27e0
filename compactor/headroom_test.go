package compactor_test

import (
	"math"
	"testing"

	"cairn/compactor"
	"cairn/internal/check"
)

func TestLevelsByHeadroom(t *testing.T) {
	for name, c := range map[string]struct {
		b, a, e             float64 // as the settings have them
		window              int
		wantB, wantA, wantE float64
	}{
		"shares stay":                              {0.8, 0.85, 0.95, 100_000, 0.8, 0.85, 0.95},
		"tokens before the end":                    {-40_000, -30_000, -10_000, 200_000, 0.8, 0.85, 0.95},
		"at most half of the window stays free":    {-40_000, -30_000, -10_000, 16_000, 0.49, 0.495, 0.5},
		"in a very large window":                   {-20_000, -15_000, -5_000, 2_000_000, 0.985, 0.99 - 0.005, 0.99},
		"a higher level pulls the lower down":      {-5_000, 0.85, 0.95, 100_000, 0.845, 0.85, 0.95},
		"emergency by headroom below the others":   {0.8, 0.85, -30_000, 100_000, 0.69, 0.695, 0.7},
		"one in tokens below those that are given": {-40_000, 0.85, 0.95, 100_000, 0.6, 0.85, 0.95},
	} {
		t.Run(name, func(t *testing.T) {
			p := compactor.DefaultPolicy()
			p.BackgroundThreshold, p.AggressiveThreshold, p.EmergencyThreshold = c.b, c.a, c.e
			check.Len(t, "faults", p.Validate(), 0)
			p = p.At(c.window)
			near := func(a, b float64) bool { return math.Abs(a-b) < 0.0051 }
			check.That(t, near(p.BackgroundThreshold, c.wantB) && near(p.AggressiveThreshold, c.wantA) && near(p.EmergencyThreshold, c.wantE),
				"%g, %g, %g; want %g, %g, %g", p.BackgroundThreshold, p.AggressiveThreshold, p.EmergencyThreshold, c.wantB, c.wantA, c.wantE)
			check.That(t, p.Prepare() < p.BackgroundThreshold, "got prepare threshold %g and background level %g", p.Prepare(), p.BackgroundThreshold)
			check.Len(t, "faults in the window", p.Validate(), 0)
			check.Equal(t, "policy", p.At(c.window/3), p)
		})
	}
}

func TestImpossibleHeadroom(t *testing.T) {
	for name, edit := range map[string]func(*compactor.Policy){
		"too few tokens":     func(p *compactor.Policy) { p.EmergencyThreshold = -100 },
		"a part of a token":  func(p *compactor.Policy) { p.EmergencyThreshold = -1000.5 },
		"a negative share":   func(p *compactor.Policy) { p.BackgroundThreshold = -0.8 },
		"far too many":       func(p *compactor.Policy) { p.BackgroundThreshold = -2_000_000 },
		"in the wrong order": func(p *compactor.Policy) { p.BackgroundThreshold, p.AggressiveThreshold = -10_000, -20_000 },
		"shares, one apart": func(p *compactor.Policy) {
			p.BackgroundThreshold, p.EmergencyThreshold, p.AggressiveThreshold = 0.9, 0.8, -5000
		},
	} {
		p := compactor.DefaultPolicy()
		edit(&p)
		wrong := p.Validate()
		check.That(t, len(wrong) == 1 && wrong[0].Want != "", "%s: %v", name, wrong)
	}
}
