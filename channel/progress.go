package channel

import (
	"context"
	"fmt"
	"sync/atomic"

	"cairn/llm"
)

// What a running turn is doing, for people who wait for it.

// What it is doing, in English; sentences.In(SpokenIn(…)).Translate translates it.
const (
	textReads      = "reading"
	textThinks     = "thinking"
	textWrites     = "writing"
	textRuns       = "running %s"
	textAsks       = "waiting for permission"
	textSummarizes = "summarizing"
)

// progress is what a turn is doing. It is safe for concurrent use.
type progress struct{ now atomic.Pointer[string] }

func (p *progress) does(what string) {
	if now := p.now.Load(); now == nil || *now != what { // each piece of a text says so
		p.now.Store(&what)
	}
}

func (p *progress) get() string {
	if now := p.now.Load(); now != nil {
		return *now
	}
	return textReads
}

// shown returns the loop with what it does noted.
func (p *progress) shown(l llm.Loop) llm.Loop {
	request := l.Request
	l.Request = func(ctx context.Context, left int) (llm.Request, error) {
		p.does(textReads)
		req, err := request(ctx, left)
		p.does(textThinks)
		return req, err
	}
	show := l.Show
	l.Show = func(delta string) {
		p.does(textWrites)
		show(delta)
	}
	l.Using = func(tool string) { p.does(fmt.Sprintf(textRuns, tool)) }
	return l
}

// DoingIn returns what the bot is doing for people who wait for an answer in a conversation, in English; "" if nobody can know.
func DoingIn(h *Hub, conversation string) string {
	c, _ := h.find(conversation, nil)
	if c == nil {
		return ""
	}
	defer h.release(c)
	now, open := c.activity()
	turn := c.turn.Load()
	switch {
	case c.approvals.waiting.Load() != nil:
		return textAsks
	case turn != nil:
		return turn.progress.get()
	case open && now.Summarizing:
		return textSummarizes
	}
	return textReads // what arrived waits for a turn
}
