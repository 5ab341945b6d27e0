package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"cairn/chat"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/prompts"
)

// The strategies of other bots, each in its cheapest form.

// list is a conversation that is kept as a list of messages.
type list struct {
	clock *clock
	tools []llm.Tool
	frame int // tokens of the system prompt and the tools
	lines []chat.Message
	cost  int   // tokens of lines
	turn  int64 // seq of the first line of the current turn
	seq   int64
	now   string
	stays bool // now remains a part of the conversation

	summary string // of the dropped lines; "": there is none
	spent   bill   // on summaries
}

func newList(c *clock, tools []llm.Tool, stays bool) *list {
	return &list{clock: c, stays: stays, tools: tools, frame: tokens.Estimate(flat(llm.Request{Tools: tools})) + tokens.Estimate(prompts.In(prompts.English).System)}
}

func (l *list) add(m chat.Message) {
	l.seq++
	m.Seq, m.Time = l.seq, l.clock.now()
	m.Tokens = chat.TokensOf(m)
	l.lines = append(l.lines, m)
	l.cost += m.Tokens
}

func (l *list) hear(_ context.Context, all []said) error {
	for _, m := range all {
		l.add(chat.Message{Role: llm.RoleUser, Author: m.author, Text: m.text})
	}
	return nil
}

func (l *list) ask(ctx context.Context, m said, now string) error {
	l.turn = l.seq + 1
	l.now = now
	if l.stays {
		m.text = m.text + "\n\n<now>\n" + now + "\n</now>"
		l.now = ""
	}
	return l.hear(ctx, []said{m})
}

func (l *list) look(_ context.Context, found string) error {
	for _, m := range lookedUp(l.turn, found) {
		l.add(m)
	}
	return nil
}

func (l *list) answer(_ context.Context, text string) error {
	l.add(chat.Message{Role: llm.RoleAssistant, Text: text})
	l.now = ""
	return nil
}

func (l *list) worker() bill { return l.spent }
func (l *list) close() error { return nil }

// used returns the tokens of the next request, including the reserve for the reply.
func (l *list) used() int {
	return l.frame + tokens.Estimate(l.summary) + l.cost + tokens.Estimate(l.now) + maxOutput
}

// forget drops the n oldest lines.
func (l *list) forget(n int) {
	for _, m := range l.lines[:n] {
		l.cost -= m.Tokens
	}
	l.lines = l.lines[n:]
}

// render builds the request, with messages in Cairn's format.
func (l *list) render() llm.Request {
	req := llm.Request{Tools: l.tools, Messages: []llm.Message{{Role: llm.RoleSystem, Text: prompts.In(prompts.English).System}}}
	if l.summary != "" {
		req.Messages = append(req.Messages, llm.Message{Role: llm.RoleUser, Text: "<kept>\n" + l.summary + "\n</kept>"})
	}
	for _, m := range l.lines {
		text := m.Text
		if m.Role == llm.RoleUser {
			text = fmt.Sprintf("[#%d %s %s] %s", m.Seq, m.Time.Format("2006-01-02 15:04"), m.Author, m.Text)
		}
		if l.now != "" && m.Seq == l.turn {
			text += "\n\n<now>\n" + l.now + "\n</now>"
		}
		last := &req.Messages[len(req.Messages)-1]
		if m.Role == llm.RoleUser && last.Role == llm.RoleUser && !l.stays {
			last.Text += "\n\n" + text
			continue
		}
		req.Messages = append(req.Messages, llm.Message{Role: m.Role, Text: text, Calls: m.Calls, CallID: m.CallID})
	}
	return req
}

// sliding drops the oldest messages when the window is full, as few as possible.
type sliding struct {
	*list
	window int
}

func (s sliding) request(context.Context) (view, error) {
	n := 0
	for over := s.used() - s.window; over > 0 && s.lines[n].Seq < s.turn; n++ {
		over -= s.lines[n].Tokens
	}
	s.forget(n)
	return view{s.render(), 0, s.cost}, nil
}

// everything summarizes all of the conversation when the request reaches at tokens, and continues
// with the summary and the current turn. It appends the request for the summary to the
// conversation, which is in the provider's cache.
type everything struct {
	*list
	at    int
	turns *meter
	words *rand.Rand
}

const (
	everythingAsks  = "Sum up the conversation so far, for yourself: your summary will stand in its place."
	everythingWords = 2000 // length of the summary, the same as Cairn's longest
)

func (e everything) request(context.Context) (view, error) {
	if e.used() >= e.at {
		e.sumUp()
	}
	return view{e.render(), tokens.Estimate(e.summary), e.cost}, nil
}

func (e everything) sumUp() {
	n := slices.IndexFunc(e.lines, func(m chat.Message) bool { return m.Seq >= e.turn })
	before := list{tools: e.tools, lines: e.lines[:n], summary: e.summary, stays: e.stays}
	summary := text(e.words, everythingWords)
	req := before.render()
	req.Messages = append(req.Messages, llm.Message{Role: llm.RoleUser, Text: everythingAsks})
	e.turns.add(req, summary, &e.spent, false)
	e.summary = "Summary of the conversation until now: " + summary
	e.forget(n)
}
