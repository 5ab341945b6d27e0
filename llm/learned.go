// What is learned about a model by using it.

package llm

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"cairn/internal/observe"
)

// Facts are what was learned about one model on one server.
type Facts struct {
	Window        int     // the smallest limit in an overflow, or prompt that was too long, in tokens; 0: none
	Factor        float64 // real tokens per estimated token, 0.5 to 2.5; 0: not measured, read as 1
	Scale         int     // the factor in percent and coarse steps, see scaleOf; 0: read as 100
	RefusesTools  bool
	RefusesImages bool

	Wire           string // the wire its server demanded, one of the Wire constants; "": none
	WantsReasoning bool   // its server demands the reasoning of earlier turns with tool calls
	RefusesForced  bool   // it cannot be forced to call a tool by name
}

// Learned is what is known about one model on one server. The zero value knows and saves nothing. It is safe for
// concurrent use.
type Learned struct {
	Down  observe.Incident // its server fails for every conversation
	Rest  Rest             // after a failure, if there is a fallback
	Speed Speed            // measured by the worker; not saved

	WorkPlain atomic.Bool // the worker offers it no tools, because it accepts none or cannot be forced to call one; not saved

	keep func(ctx context.Context, f Facts) error // nil: nothing is saved

	mu      sync.Mutex // guards the fields below
	facts   Facts
	guessed time.Time // since when facts.Window is a guess, or a limit of an earlier start; zero: the server stated it
	refused []int     // longer prompts that were too long, falling: what is guessed next if facts.Window turns out to be wrong
	kept    Facts     // as last passed to keep
}

// Learner is a Model that remembers what is learned about it.
type Learner interface {
	Learned() *Learned
}

// LearnedOf returns what is known about m: what m itself remembers, else fallback; if that is nil, a new page that nobody keeps.
func LearnedOf(m Model, fallback *Learned) *Learned {
	l, ok := m.(Learner)
	switch {
	case ok:
		return l.Learned()
	case fallback != nil:
		return fallback
	}
	return new(Learned)
}

// Facts returns what is known so far.
func (l *Learned) Facts() Facts {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.guessed.IsZero() && time.Since(l.guessed) > boundTTL {
		l.forgetWindow()
	}
	return l.facts
}

func (l *Learned) forgetWindow() {
	l.facts.Window = 0
	l.guessed = time.Time{}
	l.refused = nil
}

// Factor returns the number of real tokens per estimated token, 0.5 to 2.5.
func (l *Learned) Factor() float64 {
	if f := l.Facts().Factor; f > 0 {
		return min(max(f, minFactor), maxFactor)
	}
	return 1
}

// The factor is a moving average: each measurement has a weight of factorWeight, within limits.
const (
	factorWeight = 0.3
	minFactor    = 0.5
	maxFactor    = 2.5
)

// Counted updates the factor from a text of estimated tokens for which the provider counted counted.
func (l *Learned) Counted(estimated, counted int) {
	if estimated <= 0 || counted <= 0 {
		return
	}
	old := l.Factor()
	l.Learn(func(f *Facts) {
		next := old + factorWeight*(float64(counted)/float64(estimated)-old)
		f.Factor = min(max(next, minFactor), maxFactor)
		f.Scale = scaleOf(f.Scale, f.Factor)
	})
}

// Scale returns the factor in percent and in coarse steps: 100, 150, 225. The shape of a prompt
// depends on it rather than on Factor, because each change invalidates the provider's cache.
func (l *Learned) Scale() int { return scaleOf(l.Facts().Scale, l.Factor()) }

// scaleOf leaves a step only if the factor is well outside of it.
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

// Limit records a window stated in an overflow, in tokens. It never grows.
func (l *Learned) Limit(tokens int) { l.lower(tokens, time.Time{}) }

// Bound records the tokens of a prompt that was too long, if the server did not state its window. It is forgotten
// after boundTTL, and when a longer prompt fits: the estimate was too low, or the server failed for another reason. Then
// the next longer prompt that was too long is the limit.
func (l *Learned) Bound(tokens int) { l.lower(tokens, time.Now()) }

// boundTTL is how long a limit is trusted that no server has stated since the start. If it is right, one request shows it.
const boundTTL = 24 * time.Hour

func (l *Learned) lower(tokens int, guessed time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.facts.Window
	switch {
	case tokens <= 0 || known > 0 && tokens > known:
		return
	case tokens == known && !guessed.IsZero():
		return
	case guessed.IsZero():
		l.refused = nil
	case known > 0 && len(l.refused) < maxRefused:
		l.refused = append(l.refused, known)
	}
	l.facts.Window = tokens
	l.guessed = guessed
}

// maxRefused limits how many longer prompts that were too long are remembered: a search halves the prompt each time.
const maxRefused = 32

// Fits records that a prompt of so many tokens, as the server counted, was answered.
func (l *Learned) Fits(tokens int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.guessed.IsZero() && tokens > l.facts.Window {
		longer := len(l.refused) - 1
		if longer < 0 {
			l.forgetWindow()
			return
		}
		l.facts.Window = l.refused[longer]
		l.refused = l.refused[:longer]
	}
}

// NoTools records that the model, or its server, accepts no tools.
func (l *Learned) NoTools() { l.Learn(func(f *Facts) { f.RefusesTools = true }) }

// NoImages records that the model, or its server, accepts no pictures.
func (l *Learned) NoImages() { l.Learn(func(f *Facts) { f.RefusesImages = true }) }

// Learn records facts.
func (l *Learned) Learn(change func(*Facts)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(&l.facts)
}

// worthKeeping is the minimum change of the factor before it is written again.
const worthKeeping = 0.03

// Keep saves what was learned since the last save, if the change matters.
func (l *Learned) Keep(ctx context.Context) error {
	l.mu.Lock()
	facts := l.facts
	kept := l.kept
	l.mu.Unlock()
	if math.Abs(facts.Factor-kept.Factor) < worthKeeping {
		facts.Factor = kept.Factor
	}
	if l.keep == nil || facts == kept {
		return nil
	}
	if err := l.keep(ctx, facts); err != nil {
		return fmt.Errorf("save what was learned about the model: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = facts
	return nil
}

// Notebook has a page for each model. The zero value is empty and saves nothing. It is safe for concurrent use.
type Notebook struct {
	mu    sync.Mutex // guards the fields below
	known map[string]Facts
	keep  func(ctx context.Context, model string, f Facts) error
	pages map[string]*Learned
}

// Open fills the notebook with known facts, by the models' names. keep, if not nil, receives new ones.
func (n *Notebook) Open(known map[string]Facts, keep func(ctx context.Context, model string, f Facts) error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.known = known
	n.keep = keep
}

// Page returns what is known about a model, the same to all callers. One name on two servers needs two names.
func (n *Notebook) Page(model string) *Learned {
	n.mu.Lock()
	defer n.mu.Unlock()
	page := n.pages[model]
	if page == nil {
		page = &Learned{facts: n.known[model], kept: n.known[model], guessed: time.Now()}
		if keep := n.keep; keep != nil {
			page.keep = func(ctx context.Context, f Facts) error { return keep(ctx, model, f) }
		}
		if n.pages == nil {
			n.pages = make(map[string]*Learned)
		}
		n.pages[model] = page
	}
	return page
}

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
