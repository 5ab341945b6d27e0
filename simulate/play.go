package simulate

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
)

// What a player does: it replays messages, and answers for the strategy that would summarize them.

// replay returns the result of a variant; o has its policy and window.
func replay(ctx context.Context, rec Recording, v Variant, o Options, questions *searched, progress func(done int)) (Result, error) {
	p, err := newPlayer(ctx, &rec, o)
	if err != nil {
		return Result{}, err
	}
	p.progress = progress
	if err := p.play(ctx); err != nil {
		return Result{}, err
	}
	p.finishResult(v)
	if questions != nil {
		p.result.Found, err = p.ask(ctx, questions)
	}
	return p.result, err
}

// play replays the full conversation: first imported messages, in an import's batches, then the
// rest turn by turn.
func (p *player) play(ctx context.Context) error {
	imported := p.rec.between(0, p.rec.Imported)
	if err := p.replayImport(ctx, imported); err != nil {
		return err
	}
	for left := p.rec.Messages[len(imported):]; len(left) > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		end := slices.IndexFunc(left, func(m Message) bool { return m.Turn != left[0].Turn })
		if end < 0 {
			end = len(left)
		}
		p.enter(left[end-1].Seq)
		if err := p.take(ctx, left[:end]); err != nil { // a turn with an answer, or a message without one
			return fmt.Errorf("message %d: %w", left[0].Seq, err)
		}
		left = left[end:]
		p.progress(len(p.rec.Messages) - len(left))
	}
	if err := p.act(ctx, p.now.Add(actionsAfter), p.newest.Seq+1); err != nil {
		return err
	}
	return p.settle(ctx)
}

// actionsAfter is how long after the last message actions are still replayed.
const actionsAfter = 1000 * time.Hour

// replayImport adds messages as an import does. Virtual time does not advance.
func (p *player) replayImport(ctx context.Context, past []Message) error {
	if len(past) == 0 {
		return nil
	}
	done := 0
	feed := compactor.Feed[Message]{
		Do: p.use, Window: p.o.Engine.Window,
		Write: func(batch []Message) ([]chat.Message, error) {
			done += len(batch)
			p.progress(done)
			p.enter(batch[len(batch)-1].Seq)
			return p.store(batch)
		},
		WaitIdle: func() error {
			err := p.settle(ctx)
			p.recordUsage()
			return err
		},
	}
	for _, m := range past {
		if err := feed.Add(m, m.Tokens+2); err != nil {
			return err
		}
	}
	return feed.Flush()
}

// take replays a turn, or a message without an answer.
func (p *player) take(ctx context.Context, burst []Message) error {
	answered := slices.IndexFunc(burst, func(m Message) bool { return m.Role != llm.RoleUser })
	if answered < 0 {
		answered = len(burst)
	}
	question := burst[:answered]
	answers := burst[answered:]
	if len(question) > 0 {
		at := question[len(question)-1].Saved
		if err := p.act(ctx, at, question[0].Seq); err != nil {
			return err
		}
		p.advanceTo(at)
		list, err := p.store(question)
		if err != nil {
			return err
		}
		p.engine.Received(list...)
	}
	if len(answers) > 0 || slices.ContainsFunc(question, func(m Message) bool { return m.Addressed }) {
		if err := p.answer(ctx, question, answers); err != nil {
			return err
		}
	}
	p.check(ctx)
	p.recordUsage()
	return nil
}

// answer replays the requests of a turn: one before each message of the bot.
func (p *player) answer(ctx context.Context, question, answers []Message) error {
	end := len(answers) - 1
	var then compactor.Sent
	known := false
	if end >= 0 {
		then, known = p.rec.Requests[answers[end].Seq]
	}
	if len(question) > 0 {
		p.engine.BeginTurn(contextOf(question, then, known), compactor.AnyVersion)
	}
	for i, m := range answers {
		if m.Role == llm.RoleAssistant {
			estimate, err := p.request(ctx, m)
			if err != nil {
				return err
			}
			if known && !slices.ContainsFunc(answers[i+1:], isAnswer) {
				p.counted(then, estimate)
			}
		}
		at := m.Time
		if i == end || at.Before(p.now) {
			at = m.Saved
		}
		p.advanceTo(at)
		if i == end {
			_, _ = p.engine.TurnContext() // as it is stored with the answer
		}
		if err := p.records.Append(m.Message); err != nil {
			return err
		}
		p.engine.Add(m.Message)
		p.newest = m.Message
	}
	if !slices.ContainsFunc(answers, isAnswer) { // it failed or was skipped: the question is context
		p.advanceTo(p.now)
	}
	p.engine.EndTurn()
	return nil
}

func isAnswer(m Message) bool { return m.Role == llm.RoleAssistant }

// request makes the request that m answered, and returns its estimated tokens.
func (p *player) request(ctx context.Context, m Message) (estimate int, err error) {
	prompt, err := p.engine.Request(ctx)
	p.attend()
	if err != nil {
		return 0, err
	}
	cached := p.cached(prompt)
	written := 0
	if p.o.Cache == llm.CacheBreakpoints {
		written = prompt.Estimate - cached
	}
	p.result.Turns.add(p.o.Turns, prompt.Estimate, cached, written, m.Tokens)
	p.last = sent{prompt.Revision, prompt.Estimate, m.Tokens, p.now}
	return prompt.Estimate, nil
}

// counted reports the recorded count for the request just made, scaled by the ratio of the
// estimates, because other settings show other content.
func (p *player) counted(sent compactor.Sent, estimate int) {
	if sent.Counted > 0 {
		p.engine.Reported(llm.Usage{Prompt: int(math.Round(float64(sent.Counted) * float64(estimate) / float64(sent.Estimated)))})
	}
	p.knows(p.learned.Scale(), sent.Factor)
}

// contextOf returns the turn context of a question: the stored one; if it ended with its head, one
// of the recorded length; else one with only time and usage.
func contextOf(question []Message, sent compactor.Sent, known bool) compactor.Context {
	i := slices.IndexFunc(question, func(m Message) bool { return m.Context != "" })
	switch {
	case i >= 0:
		return compactor.Context{Text: question[i].Context}
	case known:
		return compactor.Context{Text: filler(sent.Context)}
	}
	return compactor.Context{Text: filler(usualContext)}
}

// usualContext is the number of tokens of a turn context with only time and usage.
const usualContext = 34
