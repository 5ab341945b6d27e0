package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"cairn/channel"
	"cairn/channel/report"
	"cairn/compactor"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/testkit/llmtest"
)

// The servers of a trial: they check every request before they answer it.

// changes counts changes of the head.
type changes struct {
	applied int // applied summaries
	others  int // edits, deletions, switches of the model, facts learned about the model
}

// compacted counts applied compactions and records failed ones, except those that a restart
// interrupts.
func (b *trialRun) compacted(_ string, e channel.Event) {
	b.connector.note(func() {
		switch {
		case e.State == compactor.EventApplied || e.State == compactor.EventUndone:
			b.heads.applied++
		case e.State == compactor.EventFailed && !strings.HasPrefix(e.Error, "stopped before"):
			b.failed = append(b.failed, "a summary failed: "+e.Error)
		}
	})
}

func (b *trialRun) headChanged() { b.connector.note(func() { b.heads.others++ }) }

func (b *trialRun) changes() changes {
	b.connector.mu.Lock()
	defer b.connector.mu.Unlock()
	return b.heads
}

// play checks a request and answers it.
func (b *trialRun) play(x *llmtest.Exchange) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if isWorker(x.Request) {
		b.result.Summaries++
		b.mind.play(x)
		return
	}
	b.result.Requests++
	if b.deleted && opensTurn(x.Request) { // the reasoning of the turn before was not stored
		b.deleted = false
		b.headChanged()
	}
	b.compare(x)
	if opensTurn(x.Request) {
		b.weigh(x)
	}
	if err := b.deleteAll(context.Background(), b.due); err != nil {
		b.result.fail(fmt.Errorf("in the middle of a turn: %w", err))
	}
	b.deleted = b.deleted || len(b.due) > 0
	b.due = nil
	b.mind.play(x)
}

// tellsTakes is how long the event of a change may arrive after a request that already shows it.
const tellsTakes = time.Second

// compare checks that a request extends the previous one, unless the head has changed.
func (b *trialRun) compare(x *llmtest.Exchange) {
	model := x.Request.Model
	if learned := b.learned(model); learned > b.lessons[model] { // what was learned may change the form of the whole request
		b.lessons[model] = learned
		b.headChanged()
	}
	seen := b.seen[model]
	explained := func(now changes) bool { return now.others > seen[1].others || now.applied > seen[0].applied }
	why := x.Differs()
	if why == "" {
		b.result.Extended++
	} else if !explained(b.changes()) {
		ctx, cancel := context.WithTimeout(context.Background(), tellsTakes)
		defer cancel()
		if b.connector.until(ctx, func() bool { return explained(b.heads) }) != nil {
			b.result.Broken = append(b.result.Broken, fmt.Sprintf("request %d of %s: %s", x.N, model, why))
		}
	}
	b.seen[model] = [2]changes{seen[1], b.changes()}
}

// learned returns how many facts a model's refusals have taught.
func (b *trialRun) learned(model string) (n int) {
	for _, why := range b.servers[model].Refusals() {
		if lesson(why) != "" {
			n++
		}
	}
	return n
}

// weigh compares the estimated usage with the server's count.
func (b *trialRun) weigh(x *llmtest.Exchange) {
	shown, err := channel.ReadContext(context.Background(), b.conv, b.now)
	if err != nil {
		b.result.fail(fmt.Errorf("read the gauge: %w", err))
		return
	}
	if !showsStack(x.Request, shown.Stack) { // a summary was applied after the request was built
		return
	}
	var own llm.Learned
	last := x.Request.Last().Text()
	context := 0 // of the turn; usage includes it only after it is stored
	if at := strings.LastIndex(last, "<now>"); at >= 0 {
		context = int(float64(tokens.Estimate(last[at:])) * llm.LearnedOf(b.now.Model, &own).Factor())
	}
	counted := x.Usage().Prompt
	b.result.Gauge.add(100 * math.Abs(float64(shown.Used-shown.Parts.Reserve+context-counted)) / float64(counted))
}

// showsStack reports whether a request shows these summaries.
func showsStack(r llmtest.Request, stack []report.StackEntry) bool {
	var head strings.Builder
	for _, m := range r.Messages[:min(3, len(r.Messages))] { // the head is in the first messages
		head.WriteString(m.Text())
	}
	return !slices.ContainsFunc(stack, func(s report.StackEntry) bool {
		return !strings.Contains(head.String(), fmt.Sprintf("#%d to #%d", s.From, s.To))
	})
}
