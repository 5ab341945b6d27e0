package main

import (
	"strings"
	"testing"

	"cairn/internal/check"
)

// What a busy machine makes of speed and memory is nobody's business here: what must
// hold is that nothing is lost and nothing left behind.
func TestLoad(t *testing.T) {
	r := ranAs[load](t, "load", "--channels", "25", "--minutes", "0.05", "--rate", "25")
	if r.Lost != 0 || r.Unanswered != 0 || r.Twice != 0 || r.Failed != 0 || r.Broken != 0 || len(r.Findings) != 0 {
		t.Errorf("%d lost, %d unanswered, %d answered twice, %d failed (%s), doctor finds %q", r.Lost, r.Unanswered, r.Twice, r.Failed+r.Broken, r.Why, r.Findings)
	}
	if r.End.Goroutines > r.Start.Goroutines || r.End.Handles > r.Start.Handles {
		t.Errorf("it began with %+v and left %+v", r.Start, r.End)
	}
	if r.Answered == 0 || r.Compactions == 0 || r.Memories == 0 || len(r.Samples) < 3 || r.P99 <= 0 {
		t.Errorf("it shows nothing: %+v", r.counts)
	}
	for _, s := range r.Samples {
		check.That(t, s.Resident != 0 && s.Heap != 0 && s.Goroutines != 0, "a sample without numbers: %+v", s)
	}
}

// What a run says is only worth something if one that goes wrong is told.
func TestLoadIsJudged(t *testing.T) {
	good := func() load {
		l := load{Minutes: 1, Took: 1, P99: 10}
		for range 9 {
			l.Samples = append(l.Samples, sample{usage: usage{Resident: 100}, CPU: 1000, Answered: 1})
		}
		return l
	}
	l := good()
	if l.judge(); unmet(l.Targets) != nil {
		t.Fatalf("a good run: %v", unmet(l.Targets))
	}
	for what, spoil := range map[string]func(*load){
		"messages lost":            func(l *load) { l.Lost = 1 },
		"questions without":        func(l *load) { l.Unanswered = 1 },
		"questions answered twice": func(l *load) { l.Twice = 1 },
		"turns and compactions":    func(l *load) { l.Broken = 1 },
		"findings of doctor":       func(l *load) { l.Findings = []string{"x"} },
		"goroutines more":          func(l *load) { l.End.Goroutines = 1 },
		"files open more":          func(l *load) { l.End.Handles = 1 },
		"resident memory":          func(l *load) { l.Samples[8].Resident = 120 },
		"processor's time":         func(l *load) { l.Samples[8].CPU = 2000 },
		"minutes that it took":     func(l *load) { l.Took = 1.2 },
	} {
		l := good()
		spoil(&l)
		l.judge()
		if err := unmet(l.Targets); err == nil || !strings.HasPrefix(err.Error(), what) || strings.Contains(err.Error(), ";") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
