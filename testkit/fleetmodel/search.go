// The search: breadth first, so that the first broken rule has the shortest trace.

package fleetmodel

import (
	"context"
	"fmt"
	"slices"
)

// Result is what a search has found.
type Result struct {
	States      int
	Transitions int
	Depth       int      // steps to the state that is farthest away
	Bytes       int64    // of memory, for the states
	Twice       int      // states in which the platform shows a reply twice, as it may
	Broken      Rule     // 0: none
	Trace       []string // the shortest way to break it
}

// Search visits all states within bounds, until a rule is broken, or ctx ends. It calls report, unless it is nil, now and then
// with the result so far, and how many states are known that it has not visited.
func Search(ctx context.Context, b Bounds, report func(sofar Result, ahead int)) (Result, error) {
	m, err := newModel(b, none)
	if err != nil {
		return Result{}, err
	}
	return m.search(ctx, report)
}

func (m *model) search(ctx context.Context, report func(sofar Result, ahead int)) (r Result, err error) {
	seen := newVisited()
	first := m.first()
	seen.add(first.pack(), 0)
	level := 1 // the first state that is one step farther away than those before it
	for place := 0; place < seen.n && r.Broken == 0; place++ {
		if place == level {
			level = seen.n
			r.Depth++
		}
		if place%4096 == 0 {
			if err := ctx.Err(); err != nil {
				return r, err
			}
			if report != nil {
				r.States = seen.n
				report(r, seen.n-place)
			}
		}
		m.expand(seen, place, &r)
	}
	r.States = seen.n
	r.Bytes = seen.bytes()
	return r, nil
}

// expand visits one state.
func (m *model) expand(seen *visited, place int, r *Result) {
	k := seen.at(place).key
	s := k.unpack()
	if slices.ContainsFunc(s.messages[:], func(of message) bool { return of.shown > 1 }) {
		r.Twice++
	}
	goesOn := false
	m.each(&s, func(t step, next *state) {
		r.Transitions++
		to := next.pack()
		goesOn = goesOn || t.class == work && to != k
		seen.add(to, place)
		if next.broken != 0 && r.Broken == 0 {
			r.Broken = next.broken
			r.Trace = m.trace(seen, place, to, next.broken)
		}
	})
	if !goesOn && !m.done(&s) && r.Broken == 0 {
		r.Broken = Answered
		r.Trace = append(m.trace(seen, int(seen.at(place).parent), k, 0), "nothing more happens")
	}
}

// trace returns the way to a state in words. It takes the steps once more, so that each process keeps its name.
func (m *model) trace(seen *visited, place int, last key, broken Rule) (words []string) {
	way := []key{last}
	for place != 0 {
		way = append(way, seen.at(place).key)
		place = int(seen.at(place).parent)
	}
	slices.Reverse(way)
	s := m.first()
	for i, k := range way {
		ends := Rule(0)
		if i == len(way)-1 {
			ends = broken
		}
		var text string
		var after state
		m.each(&s, func(t step, next *state) {
			if text == "" && next.pack() == k && next.broken == ends {
				text = t.String()
				after = *next
			}
		})
		if after.owner != s.owner || after.epoch != s.epoch {
			text += fmt.Sprintf(" (owner: %v, epoch %d)", after.owner, after.epoch)
		}
		words = append(words, text)
		s = after
	}
	return words
}

func (o owner) String() string {
	switch o {
	case nobody:
		return "none"
	case killed:
		return "a killed process"
	case ended:
		return "an ended process"
	}
	return name(int(o - running))
}
