package simulate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/compactor/judge"
	"cairn/compactor/summarize"
	"cairn/compactor/worker"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/prompts"
	"cairn/transcript"
)

// What a player does: it replays messages, and answers for the strategy that would summarize them.

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
	imported := p.rec.said(0, p.rec.Imported)
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
	if err := p.act(ctx, p.now.Add(actionsAfter), p.said.Seq+1); err != nil {
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
	asked := slices.IndexFunc(burst, func(m Message) bool { return m.Role != llm.RoleUser })
	if asked < 0 {
		asked = len(burst)
	}
	question := burst[:asked]
	said := burst[asked:]
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
	if len(said) > 0 || slices.ContainsFunc(question, func(m Message) bool { return m.Addressed }) {
		if err := p.answer(ctx, question, said); err != nil {
			return err
		}
	}
	p.check(ctx)
	p.recordUsage()
	return nil
}

// answer replays the requests of a turn: one before each message of the bot.
func (p *player) answer(ctx context.Context, question, said []Message) error {
	end := len(said) - 1
	var then compactor.Sent
	known := false
	if end >= 0 {
		then, known = p.rec.Requests[said[end].Seq]
	}
	if len(question) > 0 {
		p.engine.BeginTurn(contextOf(question, then, known), compactor.AnyVersion)
	}
	for i, m := range said {
		if m.Role == llm.RoleAssistant {
			estimate, err := p.request(ctx, m)
			if err != nil {
				return err
			}
			if known && !slices.ContainsFunc(said[i+1:], isAnswer) {
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
		p.said = m.Message
	}
	if !slices.ContainsFunc(said, isAnswer) { // it failed or was skipped: the question is context
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

// recorded is a strategy that uses recorded summaries.
type recorded struct {
	worker.Strategy
	p *player
}

func (p *player) strategy(name string) worker.Strategy {
	s := worker.StrategyOf(name)
	if name == worker.StrategyWindow {
		return s // it makes them all again
	}
	return recorded{s, p}
}

// Summarize returns the recorded summary of the span, or an extract.
func (r recorded) Summarize(ctx context.Context, m worker.Material) (made summarize.Summary, err error) {
	p := r.p
	row := m.Row
	byModel := row.By == compactor.ByWorker
	if byModel {
		p.took = p.meanDuration
	}
	var s Summary // the recorded outcome of the next attempt
	left := p.known[attemptOf(row)]
	known := len(left) > 0
	if known {
		s = left[0]
		p.known[attemptOf(row)] = left[1:]
	}
	if !s.Ended.IsZero() {
		p.took = s.Ended.Sub(s.Began)
	}
	switch {
	case known && s.Text == "":
		words := strings.TrimSuffix(s.Error, "; nothing was lost")
		if strings.HasPrefix(words, "the model") {
			return made, judge.Refusal(words)
		}
		return made, errors.New(words)
	case known:
		made = summarize.Summary{Text: s.Text, Tokens: s.Tokens, Sources: s.Sources, Lines: s.Lines, Dropped: s.Dropped, DroppedLines: s.DroppedLines, Model: s.Model}
	case len(p.rec.Messages) > mostExtracted && len(p.o.Questions) == 0:
		made.Text = p.asLong(row, m.Target)
	default:
		made, err = m.Extract(ctx)
		if err != nil {
			return made, err
		}
	}
	if byModel {
		memories := 0
		if p.o.Policy.ExtractMemories {
			memories = min(p.o.Policy.MaxMemories, usualMemories)
		}
		frame := tokens.Estimate(prompts.In(p.o.Engine.Language).Worker) + tokens.Estimate(p.o.Engine.System)
		p.result.Worker.add(p.o.Worker, frame+p.material(row), 0, 0, tokens.Estimate(made.Text)+memories*tokensOfMemory)
	}
	return made, nil
}

// mostExtracted is the maximum number of messages in a recording for which extracts are made; an
// extract takes half a millisecond per message. For longer ones only the length of a summary is
// simulated: extracts fill 93 to 99 % of their target (measured).
const (
	mostExtracted = 5000
	filled        = 97 // percent of its target
)

// asLong returns a text about as long as an extract of row would be.
func (p *player) asLong(row compactor.Summary, target int) string {
	if row.Trigger == compactor.OnRepair && row.Kind == compactor.Leaf { // its target depends on what is read
		target = min(target, max(p.material(row)*p.o.Policy.TargetPct/100, transcript.MinSummary))
	}
	return filler(target*filled/100 + compactor.ContextTokens(""))
}

// material returns how many tokens a summary is made from.
func (p *player) material(row compactor.Summary) (n int) {
	if row.Kind != compactor.Rollup {
		for _, m := range p.rec.said(row.From, row.To) {
			n += m.Tokens
		}
		return n
	}
	for _, id := range row.Children {
		child, _ := p.records.Row(id)
		n += child.Tokens
	}
	return n
}

// What a worker usually writes in addition to a summary.
const usualMemories, tokensOfMemory = 6, 45
