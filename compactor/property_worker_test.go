package compactor_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cairn/compactor"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"

	"pgregory.net/rapid"
)

// moods are how the worker behaves, until a step changes it; the last faultyMoods of them are
// failures, and the first is the usual one.
var moods = []func(ctx context.Context, n int, req llm.Request) (llm.Response, error){
	goodSummary,
	func(_ context.Context, n int, req llm.Request) (llm.Response, error) { // saves memories
		text := fmt.Sprintf("Summary %d of %s, %s.", n, spanOf(req), wordsOf(req))
		return llmtest.Use(append(saves(req), summary(text).Message.Calls...)...), nil
	},
	func(_ context.Context, n int, req llm.Request) (llm.Response, error) { // answers in text
		return llmtest.Say(fmt.Sprintf("Text %d of %s, %s. %s", n, spanOf(req), wordsOf(req), filler(n%60))), nil
	},
	fullSummary,
	func(_ context.Context, _ int, req llm.Request) (llm.Response, error) { // quotes
		heard := beginnings(namedIn(materialIn(req))) // it repeats nothing of what it is shown for reference
		return summary("They said: " + strings.Join(heard[:min(30, len(heard))], ", ") + " and so on."), nil
	},
	func(_ context.Context, n int, _ llm.Request) (llm.Response, error) { // too long
		return summary(fmt.Sprintf("Long %d. %s", n, strings.Repeat("One more sentence. ", 40+n*37%200))), nil
	},
	brokenSummaries,
	answers(llm.Response{}, &llm.Error{Kind: llm.KindBadRequest, Status: 400, Message: "content policy"}),
	answers(llm.Response{}, &llm.Error{Kind: llm.KindOverflow, Status: 400, Message: "too long"}),
	func(context.Context, int, llm.Request) (llm.Response, error) { panic("the worker breaks") },
	answers(llmtest.Say(""), nil),
	answers(llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Text: "A summary that ends in the mid"}, FinishReason: llm.FinishLength}, nil),
	answers(llm.Response{}, context.DeadlineExceeded),
	func(_ context.Context, _ int, req llm.Request) (llm.Response, error) { // saves memories, and then fails
		if calls := saves(req); len(calls) > 0 && len(req.Messages) == 2 {
			return llmtest.Use(calls...), nil
		}
		return llm.Response{}, &llm.Error{Kind: llm.KindOverloaded, Status: 503}
	},
}

const faultyMoods = 9

// fullSummary is a worker whose summaries are as long as they may be.
func fullSummary(_ context.Context, n int, req llm.Request) (llm.Response, error) {
	var most int
	_, err := fmt.Sscanf(req.Messages[1].Text[strings.LastIndex(req.Messages[1].Text, "in about "):], "in about %d", &most)
	text := fmt.Sprintf("Full %d of %s, %s. ", n, spanOf(req), wordsOf(req))
	return summary(text + filler(most-tokens.Estimate(text))), err
}

func (m *machine) work(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
	m.waitAtGate(ctx, atWork)
	if err := ctx.Err(); err != nil {
		return llm.Response{}, err
	}
	return moods[m.mood.Load()](ctx, n, req)
}

// saves returns memories of the first messages in a request, one each.
func saves(req llm.Request) (calls []llm.Call) {
	var from, to int64
	if _, err := fmt.Sscanf(spanOf(req), "messages #%d to #%d", &from, &to); err != nil || !savesMemories(req) {
		return nil
	}
	for seq := from; seq <= min(to, from+2); seq++ {
		note := map[string]any{"content": fact(seq), "kind": "fact", "messages": []int64{seq}}
		calls = append(calls, llmtest.Call(fmt.Sprint("m", seq), "memory_save", note))
	}
	return calls
}

// fact returns a memory of a message. It has no number, which would be another than the message's.
func fact(seq int64) string {
	return "Kept in mind: a note, question, word or edited text called " + inLetters(seq) + "."
}

func inLetters(n int64) string {
	return strings.Map(func(digit rune) rune { return digit - '0' + 'a' }, fmt.Sprint(n))
}

// beginnings returns how messages of people may begin, which shows that a view or a summary has them.
func beginnings(seqs []int64) (texts []string) {
	for _, seq := range seqs {
		texts = append(texts, fmt.Sprintf("note %d ", seq-1), fmt.Sprintf("question %d ", seq-1), fmt.Sprintf("edited %d ", seq-1))
	}
	return texts
}

// Where the worker may be held until a later step releases it.
const (
	atStarted = iota + 1 // its row is running
	atWork               // the model is working
	atMade               // the summary is stored, and the engine does not know it yet
	atPlanned            // its row is not written yet
	atWritten            // its row is running, and the engine does not know it yet
)

type gate struct {
	place int
	open  chan struct{}
}

func (m *machine) holdWorkerAt(rt *rapid.T, place int) {
	m.releaseAndWait(rt)
	m.gate = &gate{place, make(chan struct{})}
	m.next.Store(m.gate)
}

func (m *machine) waitAtGate(ctx context.Context, place int) {
	g := m.next.Load()
	if g == nil || g.place != place || !m.next.CompareAndSwap(g, nil) {
		return
	}
	m.parked <- struct{}{}
	select {
	case <-g.open:
	case <-ctx.Done():
	}
}

func (m *machine) release() {
	m.next.Store(nil)
	if m.gate != nil {
		close(m.gate.open)
		m.gate = nil
	}
	for len(m.parked) > 0 {
		<-m.parked
	}
	m.held = false
}

func (m *machine) releaseAndWait(rt *rapid.T) {
	m.release()
	m.waitForWorker(rt)
}

// waitForWorker waits until the worker is done or held: so a history depends only on its draws, and
// rapid can shrink it. Some histories do not wait.
func (m *machine) waitForWorker(rt *rapid.T) {
	if m.loose || !m.r.c.Busy() {
		return
	}
	if m.held {
		m.r.c.Filled()
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second) // it should be done at once
	defer cancel()
	idle := make(chan error, 1)
	c := m.r.c
	go func() { idle <- c.Wait(ctx) }()
	select {
	case <-m.parked:
		m.held = true
		c.Filled()
	case err := <-idle:
		check.Require(rt, err == nil, "the worker does not finish: %v", err)
	}
}

// runWork runs a piece of work, and delays it. Filling a placeholder, with its folds, runs concurrently and is never held.
func (m *machine) runWork(work compactor.Work) compactor.Result {
	row, summarizes := work.Row()
	if row.By == compactor.ByExtractive && (row.Trigger == compactor.OnRepair || row.Trigger == compactor.OnRollup) {
		return work.Run()
	}
	before := atPlanned
	after := atWritten
	if summarizes {
		before = atStarted
		after = atMade
	}
	m.waitAtGate(context.Background(), before)
	r := work.Run()
	m.waitAtGate(context.Background(), after)
	return r
}

// onEvents receives what happened in a step of the owner: the numbers of what is applied follow from each other, and the last one
// equals a new count.
func (m *machine) onEvents(events []compactor.Event) {
	for _, e := range events {
		m.tally.add(1, "events:", e.State, e.Kind, e.By, e.Trigger)
		m.onEvent(e)
	}
	used := m.r.c.Compactor.StatusReader()().Used
	if m.preparedNow() && events[len(events)-1].State == compactor.EventApplied && m.lastly != used {
		m.fail("%d tokens are used after what was applied last, and it reports %d: %+v", used, m.lastly, events)
	}
}

func (m *machine) onEvent(e compactor.Event) {
	switch e.State {
	case compactor.EventPrepared:
		m.preparedIn = m.r.c.steps
		m.preparedBy = m.r.c
		m.before = e.BeforeTokens
		m.lastly = e.BeforeTokens
	case compactor.EventNoop: // a stale row goes, and the state is read anew
		if e.BeforeTokens == m.lastly && e.AfterTokens > 0 {
			m.lastly = e.AfterTokens
		}
	case compactor.EventApplied:
		m.applied.Add(1)
		if e.BeforeTokens == m.lastly { // a level's demand is applied in several steps
			m.before = m.lastly
		}
		m.lastly = e.AfterTokens
		if m.preparedNow() && e.BeforeTokens != m.before {
			m.fail("an applied summary reports %d tokens before it, and there were %d: %+v", e.BeforeTokens, m.before, e)
		}
	}
}

// preparedNow reports whether something was prepared in this step of the owner.
func (m *machine) preparedNow() bool { return m.preparedIn == m.r.c.steps && m.preparedBy == m.r.c }

// fail notes a problem, which is reported on the test's goroutine.
func (m *machine) fail(format string, args ...any) {
	why := fmt.Sprintf(format, args...)
	m.problem.CompareAndSwap(nil, &why)
}
