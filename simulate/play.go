package simulate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
)

// play has the whole conversation: first what was imported, in batches as an import has it,
// then the rest, as it was taken up.
func (p *player) play(ctx context.Context) error {
	n := 0
	for n < len(p.rec.Messages) && p.rec.Messages[n].Seq <= p.rec.Imported {
		n++
	}
	p.importing = n > 0
	if err := p.imports(ctx, p.rec.Messages[:n]); err != nil {
		return err
	}
	p.importing = false
	for n < len(p.rec.Messages) {
		if err := ctx.Err(); err != nil {
			return err
		}
		burst := burstOf(p.rec.Messages[n:])
		if err := p.take(ctx, burst); err != nil {
			return fmt.Errorf("message %d: %w", burst[0].Seq, err)
		}
		n += len(burst)
		p.progress(n)
	}
	if n > 0 {
		last := p.rec.Messages[n-1].Saved
		if err := p.act(ctx, last.Add(actionsAfter), p.rec.Messages[n-1].Seq); err != nil {
			return err
		}
	}
	return p.settle(ctx)
}

// actionsAfter is how long after the last message somebody may have wanted something.
const actionsAfter = 1000 * time.Hour

// imports adds messages as an import does. An import takes no time that counts.
func (p *player) imports(ctx context.Context, past []Message) error {
	var done int
	feed := compactor.Feed[Message]{
		Engine: p.engine, Window: p.v.window,
		Most: func() int { return compactor.BurstBudget(p.v.window() * 100 / p.learnt().Scale()) },
		Write: func(batch []Message) ([]chat.Message, error) {
			list := make([]chat.Message, len(batch))
			for i, m := range batch {
				list[i] = m.Message
			}
			p.records.append(list)
			p.said = list[len(list)-1]
			p.progress(done)
			return list, nil
		},
		Settle: func() error {
			err := p.settle(ctx)
			p.look()
			return err
		},
	}
	for _, m := range past {
		if err := feed.Add(m, m.Tokens+2); err != nil {
			return err
		}
		done++
	}
	if len(past) == 0 {
		return nil
	}
	return feed.Flush()
}

func (p *player) learnt() *llm.Learnt {
	if p.o.Engine.Learnt == nil {
		return new(llm.Learnt)
	}
	return p.o.Engine.Learnt()
}

// burstOf are the messages that were taken up together: a turn that was answered, or a
// message nobody answered.
func burstOf(rest []Message) []Message {
	n := 1
	for n < len(rest) && rest[n].Turn == rest[0].Turn {
		n++
	}
	return rest[:n]
}

// take has a turn, or hears a message that nobody answers.
func (p *player) take(ctx context.Context, burst []Message) error {
	asked := slices.IndexFunc(burst, func(m Message) bool { return m.Role != llm.RoleUser })
	if asked < 0 {
		asked = len(burst)
	}
	question := burst[:asked]
	if len(question) > 0 {
		at := question[len(question)-1].Saved
		if err := p.act(ctx, at, question[0].Seq); err != nil {
			return err
		}
		p.until(at)
		p.appendAll(question)
	}
	if !slices.ContainsFunc(question, func(m Message) bool { return m.Addressed }) && asked == len(burst) {
		p.engine.Check(ctx)
		p.look()
		return nil
	}
	return p.answer(ctx, question, burst[asked:])
}

// answer has the requests of a turn: one before each message of the bot.
func (p *player) answer(ctx context.Context, question, said []Message) error {
	history := p.engine.History()
	if len(question) > 0 {
		history.Begin(contextOf(question))
	}
	requests := 0
	for i, m := range said {
		last := i == len(said)-1
		if m.Role == llm.RoleAssistant {
			if err := p.request(ctx, m); err != nil {
				return err
			}
			requests++
		}
		if at := m.Time; last || at.Before(p.now) {
			p.until(m.Saved)
		} else {
			p.until(at)
		}
		if last {
			_, _ = history.Context() // it is stored with the answer
		}
		p.records.append([]chat.Message{m.Message})
		history.Append(m.Message)
		p.said = m.Message
	}
	if requests == 0 { // it failed, or was passed over: what was asked is context
		p.until(p.now)
	}
	history.Answered()
	p.engine.Check(ctx)
	p.look()
	return nil
}

// contextOf is the turn context of a question, as it is stored. A context that has ended with
// its head is stored no more: one that says only the time stands for it.
func contextOf(question []Message) compactor.Context {
	for _, m := range question {
		if m.Context != "" {
			return compactor.Context{Text: m.Context}
		}
	}
	return compactor.Context{Text: filler(usualContext)}
}

// usualContext is the tokens of a turn context that says only the time and how full the window is.
const usualContext = 22

// request makes the request that m answered.
func (p *player) request(ctx context.Context, m Message) error {
	prompt, err := p.engine.Request(ctx)
	if err != nil {
		return err
	}
	req := llm.Request{Messages: prompt.Messages, Tools: p.o.Engine.Tools, Head: prompt.Head}
	p.sums.turns.add(p.cache.Price(req, p.now, true), m.Tokens)
	return nil
}
