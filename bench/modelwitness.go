package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"cairn/channel"
	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/memory"
)

// modelDoor notes how often the head has changed, and what summaries failed.
type modelDoor struct {
	*door
	heads changes  // guarded by door.mu, as is fails
	fails []string // why summaries failed
}

// changes counts what changes the head.
type changes struct {
	applied int // summaries
	others  int // edits, deletions, another model, what was learned of the model
}

func newModelDoor() *modelDoor {
	d := &modelDoor{door: newDoor()}
	d.compacted = func(_ string, e channel.Event) { d.note(func() { d.noteLocked(e) }) }
	return d
}

// noteLocked notes what a compaction does. One that a restart cuts short is no failure.
func (d *modelDoor) noteLocked(e channel.Event) {
	switch e.State {
	case compactor.EventLanded, compactor.EventUndone:
		d.heads.applied++
	case compactor.EventFailed:
		if !strings.HasPrefix(e.Error, "stopped before") {
			d.fails = append(d.fails, e.Error)
		}
	}
}

func (d *modelDoor) headChanged() { d.note(func() { d.heads.others++ }) }

func (d *modelDoor) changes() changes {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.heads
}

func (d *modelDoor) failed() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.fails
}

// witness plays the servers of a trial and checks the requests that come.
type witness struct {
	bout *bout

	mu   sync.Mutex // guards the fields below
	mind mind
	// seen are the changes of the head, by model, before the last request of a turn but one,
	// and before the last. A summary is applied at any time: the last request may have been
	// written before and have come after it.
	seen      map[string][2]changes
	lessons   map[string]int // by model: refusals that taught something
	broken    []string
	extended  int       // requests of turns that extend the one before
	drift     []float64 // of the gauge
	summaries int
	requests  int
	due       []func() error // to be done in the middle of the next turn
	errs      []error
	hub       *channel.Hub
	conv      *memory.Conversation
	now       channel.Agent
}

func newWitness(b *bout) *witness {
	return &witness{bout: b, mind: mind{words: rand.New(rand.NewPCG(5, 5))}, seen: map[string][2]changes{}, lessons: map[string]int{}}
}

func (w *witness) agent() channel.Agent {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// look has the witness look at this conversation.
func (w *witness) look(hub *channel.Hub, conv *memory.Conversation, agent channel.Agent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hub, w.conv, w.now = hub, conv, agent
}

// change makes another agent answer.
func (w *witness) change(renew func(), agent channel.Agent) {
	w.mu.Lock()
	w.now = agent
	w.mu.Unlock()
	w.bout.door.headChanged()
	renew()
}

// meddle does what changes the head.
func (w *witness) meddle(f func() error) error {
	w.bout.door.headChanged()
	return f()
}

// soon has something done after the first request of the next turn.
func (w *witness) soon(do []func() error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.due = append(w.due, do...)
}

// play answers a request once it is checked.
func (w *witness) play(x *llmtest.Exchange) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if isWorker(x.Request) {
		w.summaries++
		w.mind.play(x)
		return
	}
	w.requests++
	w.compare(x)
	if opensTurn(x.Request) {
		w.weigh(x)
	}
	for _, f := range w.due {
		if err := w.meddle(f); err != nil {
			w.errs = append(w.errs, fmt.Errorf("in the middle of a turn: %w", err))
		}
	}
	w.due = nil
	w.mind.play(x)
}

// tellsTakes is how long the news of a change may take that a request shows already.
const tellsTakes = time.Second

// compare notes whether a request extends the one before, unless the head has changed.
func (w *witness) compare(x *llmtest.Exchange) {
	door, model := w.bout.door, x.Request.Model
	if learned := w.learned(model); learned > w.lessons[model] { // what it learned may be another form of all before
		w.lessons[model] = learned
		door.headChanged()
	}
	seen := w.seen[model]
	explained := func(now changes) bool { return now.others > seen[1].others || now.applied > seen[0].applied }
	why := x.Differs()
	if why == "" {
		w.extended++
	} else if !explained(door.changes()) {
		ctx, cancel := context.WithTimeout(context.Background(), tellsTakes)
		defer cancel()
		if door.until(ctx, func() bool { return explained(door.heads) }) != nil {
			w.broken = append(w.broken, fmt.Sprintf("request %d of %s: %s", x.N, model, why))
		}
	}
	w.seen[model] = [2]changes{seen[1], door.changes()}
}

// learned returns how many lessons a model has taught.
func (w *witness) learned(model string) (n int) {
	for _, why := range w.bout.servers[model].Refusals() {
		if lesson(why) != "" {
			n++
		}
	}
	return n
}

// weigh compares the gauge with what the server counts.
func (w *witness) weigh(x *llmtest.Exchange) {
	shown, err := channel.Gauge(context.Background(), w.conv, w.now)
	if err != nil {
		w.errs = append(w.errs, fmt.Errorf("read the gauge: %w", err))
		return
	}
	if !showsStack(x.Request, shown.Stack) { // a summary was applied since the request was written
		return
	}
	var own llm.Learnt
	last := x.Request.Last().Text()
	context := 0 // of the turn, which the gauge shows once it is stored
	if at := strings.LastIndex(last, "<now>"); at >= 0 {
		context = int(float64(compactor.Estimate(last[at:])) * llm.LearntOf(w.now.Model, &own).Factor())
	}
	counted := x.Usage().Prompt
	w.drift = append(w.drift, 100*math.Abs(float64(shown.Used-shown.Parts.Reserve+context-counted))/float64(counted))
}

// showsStack reports whether a request shows these summaries.
func showsStack(r llmtest.Request, stack []channel.Stone) bool {
	var head strings.Builder
	for _, m := range r.Messages[:min(3, len(r.Messages))] { // where the head is
		head.WriteString(m.Text())
	}
	return !slices.ContainsFunc(stack, func(s channel.Stone) bool {
		return !strings.Contains(head.String(), fmt.Sprintf("#%d to #%d", s.From, s.To))
	})
}

// tell adds what was seen to the result.
func (w *witness) tell(t *tried) {
	w.mu.Lock()
	defer w.mu.Unlock()
	heads := w.bout.door.changes()
	t.Requests, t.Summaries, t.Changes, t.Extended, t.Broken = w.requests, w.summaries, heads.applied+heads.others, w.extended, w.broken
	for _, err := range w.errs {
		t.fail(err)
	}
	t.Gauge.Compared = len(w.drift)
	for _, d := range w.drift {
		t.Gauge.Mean += d / float64(len(w.drift))
		t.Gauge.Worst = max(t.Gauge.Worst, d)
	}
}
