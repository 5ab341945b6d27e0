package channel

import (
	"sync/atomic"

	"cairn/compactor"
)

// What a loop shows to other goroutines.

// Activity shows what an open conversation is doing, and how full it is.
type Activity struct {
	Used, Window int  // tokens; Used includes the reply's reserve
	Answering    bool // a turn is running
	Summarizing  bool // a compaction is running
	Paused       bool // automatic compaction is enabled but pauses; /context says why
}

// published is what any goroutine may read and write of a conversation.
type published struct {
	turn         atomic.Pointer[turn] // nil: no turn is running
	engineStatus atomic.Pointer[func() compactor.Status]
}

// interrupt stops the running turn, if there is one.
func (p *published) interrupt() {
	if turn := p.turn.Load(); turn != nil {
		turn.cancel(errStopped)
	}
}

// publish shows the fill of the window.
func (p *published) publish(e *compactor.Compactor) {
	status := e.StatusReader()
	p.engineStatus.Store(&status)
}

// turnSeq returns the seq of the running turn; 0: none.
func (p *published) turnSeq() int64 {
	if turn := p.turn.Load(); turn != nil {
		return turn.Seq
	}
	return 0
}

// status returns the fill of the window. The conversation must be open.
func (p *published) status() compactor.Status { return (*p.engineStatus.Load())() }

// activity returns what the conversation is doing; ok is false while it is being opened.
func (p *published) activity() (g Activity, ok bool) {
	if p.engineStatus.Load() == nil {
		return g, false
	}
	now := p.status()
	return Activity{
		Used: now.Used, Window: now.Window, Answering: p.turn.Load() != nil,
		Summarizing: now.Running != nil, Paused: now.Paused != "" && now.Policy.Enabled,
	}, true
}
