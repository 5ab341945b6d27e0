package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
	"cairn/memory"
	"cairn/prompts"
	"cairn/store"
)

// engine is the strategy of Cairn: the real compactor, with a real database in a temporary folder.
type engine struct {
	store      *tempStore
	conv       *store.Conversation
	c          *compactor.Compactor
	tools      []llm.Tool
	clock      *clock
	summarizer *actor
	gate       sync.RWMutex

	n    int // messages of people so far
	turn int64
	rows []chat.Message // rows of the bot in the current turn

	finished chan compactor.Result // of background work
	failure  error
	applied  int // compactions that have changed the view
}

var _ strategy = (*engine)(nil)

func newEngine(ctx context.Context, c *clock, window int, policy compactor.Policy, rule cacheRule) (e *engine, err error) {
	e = &engine{clock: c, finished: make(chan compactor.Result)}
	e.summarizer = &actor{window: llm.DefaultWindow, gate: &e.gate, meter: newMeter(c, rule), dice: rand.New(rand.NewPCG(0, 0))}
	e.store, err = openStore(ctx, "")
	if err != nil {
		return nil, err
	}
	err = e.open(ctx, window, policy)
	if err != nil {
		return nil, errors.Join(err, e.store.close())
	}
	e.gate.Lock()
	return e, nil
}

func (e *engine) open(ctx context.Context, window int, policy compactor.Policy) (err error) {
	e.conv, err = e.store.Conversation(ctx, "terminal:bench")
	if err != nil {
		return err
	}
	e.tools = memory.Of(e.conv).Tools(memory.ToolOptions{Turn: func() int64 { return e.turn }})
	e.c, err = compactor.Open(ctx, compactor.Options{
		Records: memory.Of(e.conv).Records(), Policy: func() compactor.Policy { return policy }, Window: func() int { return window },
		System: prompts.In(prompts.English).System, Tools: e.tools, MaxOutput: maxOutput, Worker: e.summarizer,
		Log: discardLog, Now: e.clock.now,
	})
	return err
}

// wait waits until no compaction is running.
func (e *engine) wait() {
	e.attend()
	for e.c.Busy() {
		e.c.Done(<-e.finished)
		e.attend()
	}
}

// attend starts background work that has become due. It follows each use of the compactor that may make some due.
func (e *engine) attend() {
	for _, event := range e.c.Events() {
		e.notify(event)
	}
	for _, work := range e.c.Work() {
		go func() { e.finished <- work.Run() }()
	}
}

// notify counts applied compactions, and records a failed one as an error because it would distort
// the results.
func (e *engine) notify(event compactor.Event) {
	switch event.State {
	case compactor.EventApplied:
		e.applied++
	case compactor.EventFailed:
		e.failure = fmt.Errorf("a compaction of messages %d to %d failed: %s", event.From, event.To, event.Error)
	}
}

// take delivers messages and appends them to the transcript.
func (e *engine) take(ctx context.Context, all []said, addressed bool) ([]chat.Message, error) {
	in := make([]store.Inbound, len(all))
	for i, m := range all {
		e.n++
		in[i] = store.Inbound{
			ID: fmt.Sprint("m", e.n), AuthorID: m.author, Author: m.author, Text: m.text,
			Time: e.clock.now(), Addressed: addressed,
		}
	}
	if _, err := e.conv.Inbox().Deliver(ctx, in...); err != nil {
		return nil, err
	}
	taken, err := e.conv.Inbox().Dequeue(ctx, store.All, compactor.BurstBudget(e.c.StatusReader()().Window), time.Time{})
	if err != nil {
		return nil, err
	}
	if len(taken) != len(all) {
		return nil, fmt.Errorf("%d of %d messages entered the window: texts are too long for it", len(taken), len(all))
	}
	e.c.Received(taken...)
	return taken, nil
}

func (e *engine) hear(ctx context.Context, all []said) error {
	if len(all) == 0 {
		return nil
	}
	if _, err := e.take(ctx, all, false); err != nil {
		return err
	}
	e.c.Check(ctx)
	e.attend()
	return nil
}

func (e *engine) ask(ctx context.Context, m said, now string) error {
	taken, err := e.take(ctx, []said{m}, true)
	if err != nil {
		return err
	}
	e.turn = taken[0].Seq
	e.rows = nil
	e.c.BeginTurn(compactor.Context{Text: now}, compactor.AnyVersion)
	return nil
}

func (e *engine) request(ctx context.Context) (view, error) {
	p, err := e.c.Request(ctx)
	e.attend()
	g := e.c.StatusReader()()
	return view{llm.Request{Messages: p.Messages, Tools: e.tools, MaxTokens: p.MaxTokens, Head: p.Head}, g.Head, g.Verbatim - g.Contexts}, err
}

func (e *engine) add(m chat.Message) {
	m.Seq = e.c.View().Next
	m.Turn = e.turn
	m.Time = e.clock.now()
	m.Tokens = chat.TokensOf(m)
	e.rows = append(e.rows, m)
	e.c.Add(m)
}

func (e *engine) look(_ context.Context, found string) error {
	for _, m := range lookedUp(e.turn, found) {
		e.add(m)
	}
	return nil
}

func (e *engine) answer(ctx context.Context, text string) error {
	e.add(chat.Message{Role: llm.RoleAssistant, Text: text})
	outcome := store.Outcome{Turn: e.turn, Messages: e.rows, Reply: fmt.Sprint("r", e.turn), Pieces: []string{text}}
	outcome.Context, outcome.Version = e.c.TurnContext()
	if _, err := e.conv.Turns().Finish(ctx, outcome); err != nil {
		return err
	}
	e.c.EndTurn()
	e.c.Check(ctx)
	e.gate.Unlock()
	e.wait()
	e.gate.Lock()
	return e.failure
}

func (e *engine) worker() bill {
	e.summarizer.mu.Lock()
	defer e.summarizer.mu.Unlock()
	return e.summarizer.meter.bill
}

func (e *engine) close() error {
	e.gate.Unlock()
	e.c.Close()
	e.wait()
	return e.store.close()
}
