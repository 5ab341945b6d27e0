// What is learnt about a model by using it.

package llm

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
)

// Facts are what was learnt about one model on one server.
type Facts struct {
	Window        int     // the smallest limit an overflow named, in tokens; 0: none did
	Factor        float64 // real tokens for one estimated, 0.5 to 2.5; 0: not measured, read it as 1
	Scale         int     // the factor in percent and coarse steps, see scaleOf; 0: read it as 100
	RefusesTools  bool
	RefusesImages bool

	Wire           string // the wire its server demanded, one of the Wire constants; empty: none was demanded
	WantsReasoning bool   // its server demands the reasoning of earlier turns with tool calls back
	RefusesForced  bool   // it cannot be made to call one tool by name
}

// Learnt is what is known of one model on one server, for all who use it. The zero
// value knows nothing and forgets at the end. It is safe for concurrent use.
type Learnt struct {
	Down  Incident // its server fails for every conversation
	Speed Speed    // measured by the worker; not kept

	WorkPlain atomic.Bool // the worker offers it no tools: it takes none, or cannot be made to call one; not kept

	keep func(ctx context.Context, f Facts) error // nil: nothing is kept

	mu    sync.Mutex // guards the fields below
	facts Facts
	kept  Facts // as last given to keep
}

// Learner is a Model that remembers what is learnt about it.
type Learner interface {
	Learnt() *Learnt
}

// LearntOf returns what is known of m: what it remembers itself, else own.
func LearntOf(m Model, own *Learnt) *Learnt {
	if l, ok := m.(Learner); ok {
		return l.Learnt()
	}
	return own
}

// Facts returns what is known by now.
func (l *Learnt) Facts() Facts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.facts
}

// Factor is how many real tokens one estimated token is worth, 0.5 to 2.5.
func (l *Learnt) Factor() float64 {
	if f := l.Facts().Factor; f > 0 {
		return min(max(f, leastFactor), mostFactor)
	}
	return 1
}

// How the factor is learnt: each measurement counts for factorWeight of it, and no
// odd one leads it out of its bounds.
const (
	factorWeight = 0.3
	leastFactor  = 0.5
	mostFactor   = 2.5
)

// Counted learns from a text that was estimated at so many tokens and counted by
// the provider.
func (l *Learnt) Counted(estimated, counted int) {
	if estimated <= 0 || counted <= 0 {
		return
	}
	old := l.Factor()
	l.learn(func(f *Facts) {
		next := old + factorWeight*(float64(counted)/float64(estimated)-old)
		f.Factor = min(max(next, leastFactor), mostFactor)
		f.Scale = scaleOf(f.Scale, f.Factor)
	})
}

// Scale is the factor in percent and in coarse steps: 100, 150, 225. What shapes a
// prompt hangs on this one, for each change of it throws away the provider's cache.
func (l *Learnt) Scale() int { return scaleOf(l.Facts().Scale, l.Factor()) }

// scaleOf leaves a step only when the factor is well outside of it.
func scaleOf(scale int, factor float64) int {
	scale = min(max(scale, 100), 225)
	for 100*factor > 1.25*float64(scale) {
		scale = scale * 3 / 2
	}
	for scale > 100 && 100*factor < float64(scale)/1.5 {
		scale = scale * 2 / 3
	}
	return scale
}

// Limit learns a window that an overflow named, in tokens. It only ever shrinks.
func (l *Learnt) Limit(tokens int) {
	if tokens <= 0 {
		return
	}
	l.learn(func(f *Facts) {
		if f.Window == 0 || tokens < f.Window {
			f.Window = tokens
		}
	})
}

// NoTools learns that the model, or its server, takes no tools.
func (l *Learnt) NoTools() { l.learn(func(f *Facts) { f.RefusesTools = true }) }

// NoImages learns that the model, or its server, takes no pictures.
func (l *Learnt) NoImages() { l.learn(func(f *Facts) { f.RefusesImages = true }) }

// NoForced learns that the model, or its server, cannot be made to call one tool by name.
func (l *Learnt) NoForced() { l.learn(func(f *Facts) { f.RefusesForced = true }) }

// NeedReasoning learns that the server demands the reasoning of earlier turns with tool
// calls back.
func (l *Learnt) NeedReasoning() { l.learn(func(f *Facts) { f.WantsReasoning = true }) }

// Demand learns the wire that the server demands, one of the Wire constants.
func (l *Learnt) Demand(wire string) { l.learn(func(f *Facts) { f.Wire = wire }) }

func (l *Learnt) learn(f func(*Facts)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(&l.facts)
}

// worthKeeping is by how much the factor must have moved to be written again.
const worthKeeping = 0.03

// Keep writes what was learnt since it was last written, if it matters.
func (l *Learnt) Keep(ctx context.Context) error {
	l.mu.Lock()
	facts, kept := l.facts, l.kept
	l.mu.Unlock()
	if math.Abs(facts.Factor-kept.Factor) < worthKeeping {
		facts.Factor = kept.Factor
	}
	if l.keep == nil || facts == kept {
		return nil
	}
	if err := l.keep(ctx, facts); err != nil {
		return fmt.Errorf("keep what was learnt of the model: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = facts
	return nil
}

// Notebook has a page for each model of which something may be learnt. The zero
// value is empty, and what is learnt is forgotten at the end. It is safe for
// concurrent use.
type Notebook struct {
	mu    sync.Mutex // guards the fields below
	known map[string]Facts
	keep  func(ctx context.Context, model string, f Facts) error
	pages map[string]*Learnt
}

// Open fills the notebook with what is known already, by the models' names. What is
// learnt goes to keep, which may be nil. Pages that were asked for before stay empty.
func (n *Notebook) Open(known map[string]Facts, keep func(ctx context.Context, model string, f Facts) error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.known, n.keep = known, keep
}

// Page returns what is known of a model, the same for all who ask. Two servers'
// models of one name need two names.
func (n *Notebook) Page(model string) *Learnt {
	n.mu.Lock()
	defer n.mu.Unlock()
	page := n.pages[model]
	if page == nil {
		page = &Learnt{facts: n.known[model], kept: n.known[model]}
		if keep := n.keep; keep != nil {
			page.keep = func(ctx context.Context, f Facts) error { return keep(ctx, model, f) }
		}
		if n.pages == nil {
			n.pages = make(map[string]*Learnt)
		}
		n.pages[model] = page
	}
	return page
}
