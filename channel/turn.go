package channel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/observe"
	"cairn/llm"
	"cairn/memory"
)

const (
	maxCalls    = 16 // of the model in one turn; in the last no tool is offered
	maxAttempts = 2  // of a turn; then a plain sentence closes it
	finishTries = 3  // to write an answer to disk
)

// errStopped is the cause with which somebody's /stop cancels a turn.
var errStopped = errors.New("stopped by /stop")

// reply is one answer in the making.
type reply struct {
	turn     memory.Turn
	first    int64 // seq of the first row the bot and its tools add
	writer   Writer
	messages []chat.Message  // what bot and tools said, in order
	said     []string        // the texts people see, one for each call of the model
	current  strings.Builder // the text of the running call
	shown    int             // bytes of it when it was shown last
	spend    func() error    // asked before each call of a model
	learnt   *llm.Learnt     // of the model that answers
}

// text is all that people see of the reply so far.
func (r *reply) text() string {
	said := r.said
	if current := strings.TrimSpace(r.current.String()); current != "" {
		said = append(said[:len(said):len(said)], current)
	}
	return strings.Join(said, "\n\n")
}

// answer runs a turn: the model and its tools until there is a reply, then one
// transaction that writes everything, then the reply goes out.
func (c *conversation) answer(ctx context.Context, turn memory.Turn) (err error) {
	ctx, step := observe.Begin(ctx, observe.Turn)
	defer func() { c.observed(step, turn, err) }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.turn.Store(&runningTurn{seq: turn.Seq, stop: cancel, step: step})
	defer c.turn.Store(nil)
	if c.paused(c.hub.ctx) || c.taskEnded(ctx) { // as below: /stop ends the turn, and is no failure of the disk
		return c.pass(c.hub.ctx, turn)
	}
	c.useSettings(turn.To)
	defer c.useSettings(nil)
	other, err := c.handedOver(c.hub.ctx, turn)
	if err != nil {
		return err
	}
	c.notifyShortened(c.hub.ctx, turn)
	made := c.turnContext(ctx, turn, other)
	c.do(func(e *compactor.Compactor) { e.History().Begin(made) })

	calls, learnt := 0, c.learntFor(other)
	for {
		r := &reply{turn: turn, first: c.next(), writer: c.writer(turn.To), spend: c.spending(&calls), learnt: learnt}
		if turn.Attempts > maxAttempts {
			step.Fail(errInterrupted)
			c.log.Info("turn_failed", "error", errInterrupted, "turn", turn.Seq)
			return c.finish(ctx, r, r.failed(c.spell(sentence(errInterrupted))))
		}
		resp, err := c.respond(ctx, r, other)
		if err != nil && c.hub.ctx.Err() != nil { // shutting down: the turn waits for the next start
			r.writer.Cancel()
			return c.hub.ctx.Err()
		}
		if err == nil && r.empty(resp) {
			err = errEmpty
		}
		if err == nil {
			c.hub.metrics.answered()
			step.Add(answered)
			if c.failures.end(learnt) {
				c.log.Info("turns_recovered")
			}
			return c.finish(ctx, r, r.answered(c.next(), resp))
		}
		if c.isTask() && (errors.Is(err, errPart) || errors.Is(context.Cause(ctx), errStopped)) {
			step.Add(answered)
			return c.finishPart(ctx, r)
		}
		if errors.Is(context.Cause(ctx), errStopped) {
			step.Add(stopped)
			return c.finish(ctx, r, r.stopped(c.next()))
		}
		var provider *llm.Error
		if errors.As(err, &provider) && provider.Passes() && turn.Attempts < maxAttempts {
			c.log.Debug("turn_retry", "turn", turn.Seq, "error", err)
			if gone, err := c.tryAgain(r, &turn); gone || err != nil {
				return err
			}
			continue
		}
		return c.giveUp(ctx, r, step, err)
	}
}

// giveUp closes a turn that failed with a sentence that says why.
func (c *conversation) giveUp(ctx context.Context, r *reply, step *observe.Step, failed error) error {
	step.Fail(failed)
	c.hub.metrics.failure()
	c.log.Log(ctx, max(slog.LevelInfo, c.failures.level(failed, r.learnt)), "turn_failed", append(llm.LogAttrs(failed), "turn", r.turn.Seq)...)
	if r.turn.Optional && c.failures.told { // nobody asked for an answer, and people know already
		c.truncate(r.first)
		r.writer.Cancel()
		return c.pass(ctx, r.turn)
	}
	c.failures.told = true
	return c.finish(ctx, r, r.failed(c.spell(sentence(failed))))
}

// tryAgain forgets what a failed attempt added. gone: the question was deleted, which closed the turn.
func (c *conversation) tryAgain(r *reply, turn *memory.Turn) (gone bool, err error) {
	r.writer.Cancel()
	c.truncate(r.first)
	turn.Attempts, err = c.records.Turns().Retry(c.hub.ctx, turn.Seq)
	if gone = errors.Is(err, memory.ErrNotFound); gone {
		c.do(func(e *compactor.Compactor) { e.History().Answered() })
		return true, nil
	}
	return false, err
}

// pass closes a turn without an answer: it is context.
func (c *conversation) pass(ctx context.Context, turn memory.Turn) error {
	err := c.records.Turns().Finish(ctx, memory.Outcome{Turn: turn.Seq, Count: ask(c, (*compactor.Compactor).Count)})
	if err != nil && !errors.Is(err, memory.ErrNotFound) { // deleted, which closed it
		return err
	}
	c.do(func(e *compactor.Compactor) {
		e.History().Answered()
		e.Check(c.hub.ctx)
	})
	return nil
}

// truncate forgets what was added of a turn that begins again.
func (c *conversation) truncate(first int64) {
	c.do(func(e *compactor.Compactor) { e.History().Truncate(first) })
}

// putOff closes a turn of people who have had their share of this minute, and tells
// them so, once.
func (c *conversation) putOff(ctx context.Context, turn memory.Turn, tell bool) error {
	if !tell || turn.Optional || c.paused(ctx) {
		return c.pass(ctx, turn)
	}
	r := &reply{turn: turn, first: c.next(), writer: c.writer(turn.To)}
	return c.finish(ctx, r, r.outcome(fmt.Sprintf("notice-%d", turn.Seq), c.sayf(
		"One moment, please: I answer each person at most %d times a minute. Your message is saved; ask again in a minute.", c.hub.rules.Load().TurnsPerMinute), true))
}

// respond lets the agent answer, or the other one that is asked.
func (c *conversation) respond(ctx context.Context, r *reply, other *handover) (llm.Response, error) {
	if other != nil {
		return c.handOver(ctx, r, other)
	}
	return c.converse(ctx, r)
}

// recoverTurn converts a panic in a turn into an error.
func (c *conversation) recoverTurn(r *reply, err *error) {
	if p := recover(); p != nil {
		c.log.Error("turn_panicked", "turn", r.turn.Seq, "panic", p, "stack", string(debug.Stack()))
		*err = fmt.Errorf("the turn panicked: %v", p)
	}
}

// converse lets the model answer, with tools.
func (c *conversation) converse(ctx context.Context, r *reply) (resp llm.Response, err error) {
	defer c.recoverTurn(r, &err)
	t := talk{conversation: c, r: r}
	loop := llm.Loop{
		Model: c.agent.Model, MaxCalls: maxCalls, Request: t.request, Retry: t.retry,
		Count: func(u llm.Usage) { c.count(memory.ForTurn, c.agent.Model.Name(), u) },
		Record: func(calls llm.Message, results []llm.Message) {
			if text := spoken(calls.Text, false); text != "" {
				r.said = append(r.said, text)
			}
			r.current.Reset()
			c.add(r, calls, t.completion)
			for _, result := range results {
				c.add(r, result, 0)
			}
		},
		Report: func(u llm.Usage) {
			t.overflows, t.completion = 0, u.Completion
			if t.asUsual {
				c.do(func(e *compactor.Compactor) { e.Reported(u) })
			}
		},
		Show: func(delta string) {
			r.current.WriteString(delta)
			c.show(r)
		},
	}
	return loop.Run(ctx)
}

// show has people see what there is of the reply. Nothing is shown before the
// replies ahead of this one have been sent, or people would see them in another order.
//
// To show a text costs its length, so a long one is shown in larger steps.
func (c *conversation) show(r *reply) {
	n := r.current.Len()
	if n > r.shown && n-r.shown < n/256 {
		return
	}
	r.shown = n
	if text := spoken(r.text(), true); text != "" && c.sender.idle() {
		r.writer.Show(text)
	}
}

// add appends what the model or a tool said to the turn. completion is what the
// provider counted for it; 0: it did not.
func (c *conversation) add(r *reply, m llm.Message, completion int) {
	c.do(func(e *compactor.Compactor) {
		row := rowOf(m, e.History().Next(), r.turn.Seq)
		if len(row.Native) > 0 {
			row.Reasoning = e.ReasoningOf(row, completion)
		}
		r.messages = append(r.messages, row)
		e.History().Append(row)
	})
}

func rowOf(m llm.Message, seq, turn int64) chat.Message {
	row := chat.Message{
		Seq: seq, Turn: turn, Role: m.Role, Text: m.Text, Calls: m.Calls,
		CallID: m.CallID, Tool: m.Tool, Native: m.Native, Time: time.Now(),
	}
	row.Tokens = compactor.TokensOf(row)
	return row
}

// storable is what of a turn's messages is written: their reasoning only where the
// provider demands it with the calls of later requests too, and which calls have lost it. It is
// the loop's.
func (c *conversation) storable(messages []chat.Message) []chat.Message {
	wanted := c.window.learnt().Facts().WantsReasoning
	for i := range messages {
		if !wanted || len(messages[i].Calls) == 0 {
			messages[i].Native = nil
		}
		messages[i].Deprived = c.engine.History().Deprived(messages[i].Seq)
	}
	return messages
}

// turnSeq is the turn that runs; 0: none.
func (c *conversation) turnSeq() int64 {
	if turn := c.turn.Load(); turn != nil {
		return turn.seq
	}
	return 0
}
