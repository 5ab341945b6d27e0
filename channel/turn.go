package channel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"cairn/channel/task"
	"cairn/compactor"
	"cairn/internal/observe"
	"cairn/llm"
	"cairn/llm/clean"
	"cairn/memory"
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

// turn is one turn, from the messages that it answers to the stored reply. The child that works runs it. Other goroutines may read
// Seq, To, step and progress, and call cancel; the rest of what reaches it from outside is in changes.
type turn struct {
	store.Turn
	*voice
	*answerer
	*loop // life ends when the hub closes; /stop does not end it

	sender   *sender
	usage    *usage
	failures *failures
	task     *task.Run    // that the conversation is; nil: none
	tasks    *task.Parent // that it starts
	arrivals *arrivals    // of the conversation

	cancel   context.CancelCauseFunc // of the context in which it runs
	changes  changes
	progress progress
	step     *observe.Step  // nil: no one observes the turn
	outcome  string         // one of observe.Outcomes, so far
	other    *task.Question // the agent that answers in place of the conversation's; nil: none
	payers   []string       // platform ids of the people whose budgets count it
	spend    func() error   // called before each model call; an error stops the call
	lineup   lineup
	saved    []memory.Memory // what its model has saved
	half     string          // what an attempt that failed had written; "": nothing
	held     time.Time       // since when a stopped answer waits to be written, see holdStop; zero: none does
	attempt  *attempt        // the one that runs, or the last; nil: none has started
}

// start makes the turn the running one, and returns the context in which it runs.
func (t *turn) start(ctx context.Context) context.Context {
	ctx, t.step = observe.Begin(ctx, observe.Turn)
	ctx, t.cancel = context.WithCancelCause(ctx)
	t.loop.turn.Store(t)
	return ctx
}

// end ends what start began; err is why the turn stays open, if it does.
func (t *turn) end(err error) {
	t.loop.turn.Store(nil)
	t.cancel(nil)
	if t.step == nil {
		return
	}
	if err != nil {
		t.step.Fail(err)
		t.outcome = observe.Interrupted
	}
	t.step.Add(slog.String("outcome", t.outcome), slog.Int64("turn", t.Seq),
		slog.String("agent", t.agent.ID), slog.String("model", t.agent.Model.Name()))
	if now, ok := t.activity(); ok {
		t.step.Add(slog.Int("used_tokens", now.Used), slog.Int("max_tokens", now.Window))
	}
	t.step.End()
}

// mayAnswer reports whether the bot may answer here. If it may not write, it explains that to the people who want an answer.
func (t *turn) mayAnswer() bool {
	if t.paused(t.life) {
		return false
	}
	why := t.cannotWrite()
	if why != "" && !t.Optional {
		t.explain(why, t.addressed(t.Seq))
	}
	return why == ""
}

// putOff closes a turn that a limit of its people forbids, with a sentence if tell is set.
func (t *turn) putOff(ctx context.Context, tell bool, sentence string) error {
	if !tell || t.Optional || t.paused(ctx) || t.cannotWrite() != "" {
		return t.pass(ctx)
	}
	t.attempt = t.newAttempt()
	return t.fail(ctx, sentence)
}

// countStart counts another start of the turn, and drops the tasks that an earlier one began. open is false if its question was
// deleted.
func (t *turn) countStart(ctx context.Context) (open bool, err error) {
	t.Starts, err = t.records.Turns().Retry(ctx, t.Seq)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err == nil {
		err = t.tasks.Drop(ctx, t.Seq)
	}
	return err == nil, err
}

// run has the model and its tools work until there is a reply, then one transaction writes everything, then the reply goes out.
func (t *turn) run(ctx context.Context, settings compactor.Patch) error {
	if t.task != nil {
		_, ends, open := t.task.Open(ctx)
		if !open {
			return t.pass(t.life)
		}
		defer time.AfterFunc(time.Until(ends), func() { t.cancel(errStopped) }).Stop()
	}
	t.policy.override(t.loop, settings)
	defer t.policy.override(t.loop, nil)
	t.notifyRefused(t.life)
	t.notifyShortened(t.life)
	t.addContext(ctx)
	return t.attempts(ctx)
}

// addContext adds the turn context to the prompt.
func (t *turn) addContext(ctx context.Context) {
	for range 2 { // again if what it quotes has changed
		if t.addContextWith(ctx, t.agent.Recall) {
			return
		}
	}
	t.addContextWith(ctx, 0) // without what it recalls, it is right in any case
}

// addContextWith adds a turn context with recalled messages and memories, within a budget of tokens. ok is false if what it quotes
// may have changed.
func (t *turn) addContextWith(ctx context.Context, recall int) (ok bool) {
	made := compactor.Context{}
	version := int64(compactor.AnyVersion)
	if t.other == nil { // another agent does not see it
		w := turnContext{loop: t.loop, site: t.site, turn: t.Turn}
		made, version = w.write(ctx, recall)
	}
	return ask(t.loop, func(e *compactor.Compactor) bool { return e.BeginTurn(made, version) })
}

// attempts has the model answer until that succeeds, or fails for good.
func (t *turn) attempts(ctx context.Context) error {
	t.spend = t.calls().ForTurn(maxRequests)
	t.lineUp()
	for {
		t.attempt = t.newAttempt()
		again, err := t.try(ctx)
		if !again {
			return err
		}
	}
}

// learned returns what is known of the model that answers.
func (t *turn) learned() *llm.Learned {
	if t.other != nil {
		return t.other.Learned
	}
	return t.window.learned()
}

// try has the model answer once. again: it failed in a way that may pass.
func (t *turn) try(ctx context.Context) (again bool, err error) {
	if t.failures.of(t.Seq) >= max(maxFailures, len(t.lineup.models)) || t.Starts > maxStarts {
		return false, t.giveUp(ctx, errInterrupted)
	}
	if w, ok := t.attempt.writer.(Indicator); ok {
		w.Working()
	}
	t.failures.begin(t.Seq)
	resp, err := t.converse(ctx)
	if err == nil && t.attempt.isEmpty(resp, t.Optional) {
		err = fmt.Errorf("%w, finish reason %q", errEmpty, resp.FinishReason)
	}
	t.attempt.failed = err
	if t.attempt.half() != "" {
		t.half = t.attempt.text()
	}
	switch cause := context.Cause(ctx); {
	case err != nil && t.life.Err() != nil: // shutting down: the turn waits for the next start
		t.attempt.withdraw()
		return false, t.life.Err()
	case errors.Is(cause, errDeleted):
		_, err := t.tryAgain() // finds that the turn was deleted, too
		return false, err
	case err == nil:
		return false, t.succeed(ctx, resp)
	case t.task != nil && (errors.Is(err, errPart) || errors.Is(cause, errStopped)):
		return false, t.endPart(ctx)
	case errors.Is(cause, errStopped): // what people saw counts as the answer
		t.outcome = observe.Stopped
		return false, t.close(ctx, llm.Message{Role: llm.RoleAssistant, Text: clean.WithoutNoReply(t.attempt.current.String(), true)})
	case t.moves(err):
		return t.tryAgain()
	case !t.passes(err):
		return false, t.giveUp(ctx, t.lineup.reason(err))
	}
	t.log.Debug("turn_retry", "turn", t.Seq, "error", err)
	return t.tryAgain()
}

// passes reports whether to try again after a failure.
func (t *turn) passes(failed error) bool {
	provider, ok := errors.AsType[*llm.Error](failed)
	if !ok || !provider.Passes() {
		return false
	}
	stalled := errors.Is(failed, llm.ErrStalled) && t.attempt.half() != "" // people have waited, and have something to read
	return !stalled && t.failures.of(t.Seq) < maxFailures && t.Starts < maxStarts
}

// succeed closes a turn with the model's answer.
func (t *turn) succeed(ctx context.Context, resp llm.Response) error {
	if t.failures.end(t.learned()) {
		t.log.Info("turns_recovered")
	}
	t.worked()
	err := t.close(ctx, resp.Message)
	if t.attempt.stored { // otherwise its question was deleted, or it is answered again
		t.outcome = observe.Answered
		t.counters.ended(t.outcome)
		t.notifyCutOff(t.life, resp.FinishReason) // the turn is over, and a change on disk may have canceled ctx since
	}
	return err
}

// endPart closes a part of a task, whose next turn goes on.
func (t *turn) endPart(ctx context.Context) error {
	t.outcome = observe.Answered
	err := t.finish(ctx, store.Outcome{Turn: t.Seq, Messages: t.attempt.messages})
	if err == nil {
		t.task.Progress(ctx)
	}
	return err
}

// giveUp closes a failed turn with what arrived of the answer, else with a sentence that says why there is none.
func (t *turn) giveUp(ctx context.Context, failed error) error {
	t.step.Fail(failed)
	t.outcome = observe.Failed
	t.counters.ended(t.outcome)
	t.log.Log(ctx, max(slog.LevelInfo, t.failures.level(failed, t.learnedOf(0))), "turn_failed",
		append(llm.LogAttrs(failed), "turn", t.Seq)...)
	if t.Optional && t.failures.announced { // no one requested an answer, and people already know
		t.discard()
		return t.pass(ctx)
	}
	t.failures.announced = true
	if partial, ok := t.brokenOff(); ok {
		return t.close(ctx, partial)
	}
	_, sentence := failureOf(failed)
	return t.fail(ctx, t.speaker().Say(sentence))
}

// tryAgain discards what a failed attempt added. again is false if the question was deleted meanwhile.
func (t *turn) tryAgain() (again bool, err error) {
	t.discard()
	again, err = t.countStart(t.life)
	if err == nil && !again {
		t.do(func(e *compactor.Compactor) { e.EndTurn() })
	}
	return again, err
}

// discard drops what an attempt has added and shown.
func (t *turn) discard() {
	t.attempt.withdraw()
	t.do(func(e *compactor.Compactor) { e.Discard(t.attempt.first) })
}

// recoverPanic converts a panic in a turn into an error. After one of the loop the turn is repeated.
func (t *turn) recoverPanic(err *error) {
	switch p := recover(); p {
	case nil:
	case any(errPanicked):
		t.attempt.withdraw()
		panic(p)
	default:
		t.log.Error("turn_panicked", "turn", t.Seq, "panic", p, "stack", string(debug.Stack()))
		*err = fmt.Errorf("the turn panicked: %v", p)
	}
}
