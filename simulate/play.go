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

// replay returns the result of a variant; o has its policy and window.
func replay(ctx context.Context, rec Recording, v Variant, o Options, asked *searched, progress func(done int)) (Result, error) {
	p, err := newPlayer(ctx, &rec, o)
	if err != nil {
		return Result{}, err
	}
	p.progress = progress
	if err := p.play(ctx); err != nil {
		return Result{}, err
	}
	p.finishResult(v)
	if asked != nil {
		p.result.Found, err = p.ask(ctx, asked)
	}
	return p.result, err
}

// play replays the whole conversation: first imported messages, in an import's batches, then the
// rest turn by turn.
func (p *player) play(ctx context.Context) error {
	n := 0
	for n < len(p.rec.Messages) && p.rec.Messages[n].Seq <= p.rec.Imported {
		n++
	}
	p.importing = n > 0
	if err := p.replayImport(ctx, p.rec.Messages[:n]); err != nil {
		return err
	}
	p.importing = false
	for n < len(p.rec.Messages) {
		if err := ctx.Err(); err != nil {
			return err
		}
		first := p.rec.Messages[n]
		end := n + 1 // of a turn with an answer, or of a message without one
		for end < len(p.rec.Messages) && p.rec.Messages[end].Turn == first.Turn {
			end++
		}
		if err := p.take(ctx, p.rec.Messages[n:end]); err != nil {
			return fmt.Errorf("message %d: %w", first.Seq, err)
		}
		n = end
		p.progress(n)
	}
	if n > 0 {
		if err := p.act(ctx, p.rec.Messages[n-1].Saved.Add(actionsAfter), p.rec.Messages[n-1].Seq); err != nil {
			return err
		}
	}
	return p.settle(ctx)
}

// actionsAfter is how long after the last message actions are still replayed.
const actionsAfter = 1000 * time.Hour

// replayImport adds messages as an import does. Virtual time does not advance.
func (p *player) replayImport(ctx context.Context, past []Message) error {
	var done int
	feed := compactor.Feed[Message]{
		Engine: p.engine, Window: p.o.Engine.Window,
		Write: func(batch []Message) ([]chat.Message, error) {
			p.progress(done)
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
		done++
	}
	if len(past) == 0 {
		return nil
	}
	return feed.Flush()
}

// take replays a turn, or a message without an answer.
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
		p.advanceTo(at)
		list, err := p.store(question)
		if err != nil {
			return err
		}
		p.engine.History().Append(list...)
		p.engine.History().Stored()
	}
	if !slices.ContainsFunc(question, func(m Message) bool { return m.Addressed }) && asked == len(burst) {
		p.engine.Check(ctx)
		p.recordUsage()
		return nil
	}
	return p.answer(ctx, question, burst[asked:])
}

// answer replays the requests of a turn: one before each message of the bot.
func (p *player) answer(ctx context.Context, question, said []Message) error {
	history := p.engine.History()
	if len(question) > 0 {
		history.Begin(p.contextOf(question, said))
	}
	for i, m := range said {
		last := i == len(said)-1
		if m.Role == llm.RoleAssistant {
			estimate, err := p.request(ctx, m)
			if err != nil {
				return err
			}
			if then, known := p.rec.Requests[said[len(said)-1].Seq]; known && !slices.ContainsFunc(said[i+1:], isAnswer) {
				p.counted(then, estimate)
			}
		}
		at := m.Time
		if last || at.Before(p.now) {
			at = m.Saved
		}
		p.advanceTo(at)
		if last {
			_, _ = history.Context() // as it is stored with the answer
		}
		if err := p.records.Append(m.Message); err != nil {
			return err
		}
		history.Append(m.Message)
		p.said = m.Message
	}
	if !slices.ContainsFunc(said, isAnswer) { // it failed or was skipped: the question is context
		p.advanceTo(p.now)
	}
	history.Answered()
	p.engine.Check(ctx)
	p.recordUsage()
	return nil
}

func isAnswer(m Message) bool { return m.Role == llm.RoleAssistant }

// counted reports the recorded count for the request just made, scaled by the ratio of the
// estimates, because other settings show other content.
func (p *player) counted(then compactor.Sent, estimate int) {
	if then.Counted > 0 {
		p.engine.Reported(llm.Usage{Prompt: int(math.Round(float64(then.Counted) * float64(estimate) / float64(then.Estimated)))})
	}
	p.knows(p.learnt.Scale(), then.Factor)
}

// knows sets the model's factor to the recorded one.
func (p *player) knows(scale int, factor float64) {
	facts := p.learnt.Facts()
	facts.Scale, facts.Factor = scale, factor
	p.learnt = remembering(facts)
}

// remembering returns facts about a model for this simulation alone.
func remembering(facts llm.Facts) *llm.Learnt {
	var n llm.Notebook
	n.Open(map[string]llm.Facts{"": facts}, nil)
	return n.Page("")
}

// contextOf returns the turn context of a question: the stored one; if it ended with its head, one
// of the recorded length; else one with only time and usage.
func (p *player) contextOf(question, said []Message) compactor.Context {
	for _, m := range question {
		if m.Context != "" {
			return compactor.Context{Text: m.Context}
		}
	}
	if len(said) > 0 {
		if then, known := p.rec.Requests[said[len(said)-1].Seq]; known {
			return compactor.Context{Text: p.filler(then.Context)}
		}
	}
	return compactor.Context{Text: p.filler(usualContext)}
}

// usualContext is the number of tokens of a turn context with only time and usage.
const usualContext = 34

// request makes the request that m answered, and returns its estimated tokens.
func (p *player) request(ctx context.Context, m Message) (estimate int, err error) {
	prompt, err := p.engine.Request(ctx)
	if err != nil {
		return 0, err
	}
	req := llm.Request{Messages: prompt.Messages, Tools: p.o.Engine.Tools, Head: prompt.Head}
	p.result.Turns.add(p.cache.Price(req, p.now, true), m.Tokens)
	return prompt.Estimate, nil
}
