package channel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/observe"
	"cairn/llm"
	"cairn/llm/clean"
	"cairn/store"
)

const (
	maxCalls    = 16 // model calls in one turn; the last offers no tools
	maxFailures = 2  // attempts at a turn that ended with an answer or a refusal; then a plain sentence closes it
	maxStarts   = 5  // of a turn, or of what else may kill the process; those that were killed count, too

	maxRequests = 3 * maxCalls // for one turn: maxCalls, plus twice that for retries when servers fail

	finishTimeout = 30 * time.Second // for writing the outcome once the hub closes
)

// The causes with which /stop, and the deletion of its question, cancel a turn.
var (
	errStopped = errors.New("stopped by /stop")
	errDeleted = errors.New("the question was deleted")
)

// reply is one answer in progress.
type reply struct {
	turn     *store.Turn
	first    int64           // seq of the first row that the bot and its tools add
	writer   Writer          // nil: nothing is shown
	messages []chat.Message  // messages of the bot and its tools, in order
	texts    []string        // the texts people see, one per model call
	current  strings.Builder // the text of the running call
	shown    int             // bytes of the text when it was last shown
	spend    func() error    // called before each model call; an error stops the call
	learnt   *llm.Learnt     // of the model that answers; nil: none was asked
	said     int             // index in messages of the row with the newest of texts
	stored   bool            // its outcome is on disk
}

func (c *conversation) newReply(turn *store.Turn) *reply {
	return &reply{turn: turn, first: c.next(), writer: c.connector.Reply(c.name, turn.To)}
}

// text returns everything that people see of the reply so far.
func (r *reply) text() string {
	return strings.TrimSpace(strings.Join(append(slices.Clip(r.texts), strings.TrimSpace(r.current.String())), "\n\n"))
}

// withdraw removes what was shown.
func (r *reply) withdraw() {
	if r.writer != nil {
		r.writer.Cancel()
	}
}

// answer runs a turn: the model and its tools until there is a reply, then one transaction that
// writes everything, then the reply goes out. own are settings for this turn and the check after it.
func (c *conversation) answer(ctx context.Context, turn store.Turn, own compactor.Patch) (err error) {
	ctx, step := observe.Begin(ctx, observe.Turn)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	running := &runningTurn{Turn: turn, stop: cancel, step: step, outcome: observe.Passed}
	c.turn.Store(running)
	defer func() {
		c.turn.Store(nil)
		c.observed(running, err)
	}()
	if c.paused(c.hub.ctx) { // not ctx: /stop cancels that, and this must be written all the same
		return c.pass(c.hub.ctx, turn)
	}
	if closed, err := c.unanswerable(c.hub.ctx, running); closed {
		return err
	}
	if c.isTask() {
		if _, open := c.openTask(ctx); !open {
			return c.pass(c.hub.ctx, turn)
		}
		defer time.AfterFunc(time.Until(c.taskEnds), func() { cancel(errStopped) }).Stop()
	}
	other := c.calledAgent(turn)
	if other == nil {
		if err := c.awaitTools(ctx); err != nil {
			return err
		}
	}
	c.do(func(*compactor.Compactor) { c.policy.set(c.policy.own, own) })
	defer c.do(func(*compactor.Compactor) { c.policy.set(c.policy.own, nil) })
	c.notifyShortened(c.hub.ctx, turn)
	for _, recall := range []int{c.agent.Recall, c.agent.Recall, 0} { // again if messages that it quotes may have changed
		made, version := c.turnContext(ctx, turn, other, recall)
		if ask(c, func(e *compactor.Compactor) bool { return e.History().Begin(made, version) }) {
			break
		}
	}

	spend := c.calls.ForTurn(maxRequests)
	learnt := c.window.learnt()
	if other != nil {
		learnt = llm.LearntOf(other.agent.Model, new(llm.Learnt))
	}
	again := true
	for again {
		r := c.newReply(&running.Turn)
		r.spend = spend
		r.learnt = learnt
		again, err = c.attempt(ctx, running, r, other)
	}
	return err
}

// attempt has the model answer once. again: it failed in a way that may pass.
func (c *conversation) attempt(ctx context.Context, turn *runningTurn, r *reply, other *handover) (again bool, err error) {
	if c.failures.of(turn.Seq) >= maxFailures || turn.Starts > maxStarts {
		return false, c.giveUp(ctx, turn, r, errInterrupted)
	}
	if w, ok := r.writer.(Indicator); ok {
		w.Working()
	}
	c.failures.begin(turn.Seq)
	resp, err := c.converse(ctx, r, other)
	if err == nil && r.empty(resp) {
		err = fmt.Errorf("%w, finish reason %q", errEmpty, resp.FinishReason)
	}
	switch cause := context.Cause(ctx); {
	case err != nil && c.hub.ctx.Err() != nil: // shutting down: the turn waits for the next start
		r.withdraw()
		return false, c.hub.ctx.Err()
	case errors.Is(cause, errDeleted):
		_, err := c.tryAgain(r) // finds that the turn was deleted, too
		return false, err
	case err == nil:
		return false, c.succeed(ctx, turn, r, resp)
	case c.isTask() && (errors.Is(err, errPart) || errors.Is(cause, errStopped)):
		turn.outcome = observe.Answered
		err := c.finish(ctx, r, store.Outcome{Turn: turn.Seq, Messages: r.messages})
		if t, failed := c.records.Tasks().Self(ctx); err == nil && failed == nil {
			c.hub.reportTask(t)
		}
		return false, err
	case errors.Is(cause, errStopped): // what people saw counts as the answer
		turn.outcome = observe.Stopped
		partial := llm.Message{Role: llm.RoleAssistant, Text: clean.WithoutNoReply(r.current.String(), true)}
		return false, c.finish(ctx, r, r.answered(c.next(), partial))
	}
	var provider *llm.Error
	stalled := errors.Is(err, llm.ErrStalled) && r.half(err) != "" // people have waited, and have something to read
	last := stalled || c.failures.of(turn.Seq) >= maxFailures || turn.Starts >= maxStarts
	if !errors.As(err, &provider) || !provider.Passes() || last {
		return false, c.giveUp(ctx, turn, r, err)
	}
	turn.rememberHalf(r, err)
	c.log.Debug("turn_retry", "turn", turn.Seq, "error", err)
	return c.tryAgain(r)
}

// succeed closes a turn with the model's answer.
func (c *conversation) succeed(ctx context.Context, turn *runningTurn, r *reply, resp llm.Response) error {
	if c.failures.end(r.learnt) {
		c.log.Info("turns_recovered")
	}
	err := c.finish(ctx, r, r.answered(c.next(), resp.Message))
	if r.stored { // otherwise its question was deleted, or it is answered again
		c.hub.locked(func() {
			c.hub.stats.Turns = c.hub.stats.Turns + 1
			c.hub.stats.Failing = 0
		})
		turn.outcome = observe.Answered
		c.notifyCutOff(c.hub.ctx, turn.Seq, resp.FinishReason) // the turn is over, and a change on disk may have canceled ctx since
	}
	return err
}

// giveUp closes a failed turn with what arrived of the answer, else with a sentence that says why there is none.
func (c *conversation) giveUp(ctx context.Context, turn *runningTurn, r *reply, failed error) error {
	turn.step.Fail(failed)
	turn.outcome = observe.Failed
	c.hub.locked(func() {
		c.hub.stats.Failed = c.hub.stats.Failed + 1
		c.hub.stats.Failing = c.hub.stats.Failing + 1
	})
	c.log.Log(ctx, max(slog.LevelInfo, c.failures.level(failed, r.learnt)), "turn_failed",
		append(llm.LogAttrs(failed), "turn", turn.Seq)...)
	if turn.Optional && c.failures.announced { // no one asked for an answer, and people already know
		c.discard(r)
		return c.pass(ctx, turn.Turn)
	}
	c.failures.announced = true
	if partial, ok := c.brokenOff(turn, r, failed); ok {
		return c.finish(ctx, r, r.answered(c.next(), partial))
	}
	_, sentence := failureOf(failed)
	return c.fail(ctx, r, c.spell(sentence))
}

// tryAgain discards what a failed attempt added. again is false if the question was deleted meanwhile.
func (c *conversation) tryAgain(r *reply) (again bool, err error) {
	c.discard(r)
	again, err = c.countAttempt(c.hub.ctx, r.turn)
	if err == nil && !again {
		c.do(func(e *compactor.Compactor) { e.History().Answered() })
	}
	return again, err
}

// pass closes a turn without an answer: its messages are only context.
func (c *conversation) pass(ctx context.Context, turn store.Turn) error {
	return c.finish(ctx, &reply{turn: &turn, first: c.next()}, store.Outcome{Turn: turn.Seq, Failure: true})
}

// discard drops what an attempt has added and shown.
func (c *conversation) discard(r *reply) {
	r.withdraw()
	c.do(func(e *compactor.Compactor) { e.History().Truncate(r.first) })
}

// recoverTurn converts a panic in a turn into an error. After one of the loop the turn is repeated.
func (c *conversation) recoverTurn(r *reply, err *error) {
	switch p := recover(); p {
	case nil:
	case any(errPanicked):
		r.withdraw()
		panic(p)
	default:
		c.log.Error("turn_panicked", "turn", r.turn.Seq, "panic", p, "stack", string(debug.Stack()))
		*err = fmt.Errorf("the turn panicked: %v", p)
	}
}

// converse lets the model answer, with tools, or the other agent that was called.
func (c *conversation) converse(ctx context.Context, r *reply, other *handover) (resp llm.Response, err error) {
	defer c.recoverTurn(r, &err)
	ctx = llm.WithCallKeys(ctx, fmt.Sprintf("%s#%d", c.name, r.turn.Seq))
	if other != nil {
		return c.handOver(ctx, r, other)
	}
	t := talk{conversation: c, r: r, most: maxCalls}
	if c.isTask() { // it may make the calls that its earlier parts left
		made, err := c.records.Tasks().Calls(ctx)
		if err != nil {
			return resp, err
		}
		t.most = c.agent.taskCalls() - made
	}
	loop := llm.Loop{
		Model: c.agent.Model, MaxCalls: maxCalls, Request: t.request, Retry: t.retry,
		Count: func(u llm.Usage) { c.usage.count(store.ForTurn, c.agent.Model.Name(), u) },
		Record: func(calls llm.Message, results []llm.Message) {
			t.accept()
			calls.Text = clean.WithoutNoReply(calls.Text, false)
			if calls.Text != "" {
				r.texts = append(r.texts, calls.Text)
				r.said = len(r.messages)
			}
			r.current.Reset()
			c.add(r, calls, t.completion)
			for _, result := range results {
				c.add(r, result, 0, c.storePictures(r, result)...)
			}
		},
		Report: func(u llm.Usage) {
			t.overflows = 0
			t.completion = u.Completion
			c.do(func(e *compactor.Compactor) {
				c.turn.Load().outdated = false
				if t.plainRequest {
					e.Reported(u)
				}
			})
		},
		Show: func(delta string) {
			r.current.WriteString(delta)
			c.show(r)
		},
	}
	resp, err = loop.Run(ctx)
	if err == nil && r.empty(resp) && t.left > 1 && !c.isTask() { // a second request often gets an answer; the calls of a task are counted
		loop.MaxCalls = t.left - 1
		resp, err = loop.Run(ctx)
	}
	if err == nil && resp.FinishReason != llm.FinishFilter {
		t.accept()
	}
	return resp, err
}

// add appends a message of the model or a tool; completion is the provider's count of it, 0: unknown.
func (c *conversation) add(r *reply, m llm.Message, completion int, pictures ...chat.Attachment) {
	c.do(func(e *compactor.Compactor) {
		if c.turn.Load().outdated && slices.Contains(handoverTools, m.Tool) {
			m.Text = "Error: what it found may have changed since. Call the tool again."
		}
		row := rowOf(m, e.History().Next(), r.turn.Seq, pictures...)
		if len(row.Native) > 0 {
			row.Reasoning = e.ReasoningOf(row, completion)
		}
		r.messages = append(r.messages, row)
		e.History().Append(row)
	})
}
