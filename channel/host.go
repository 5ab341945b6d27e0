package channel

import (
	"context"
	"time"

	"cairn/channel/sentences"
	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/observe"
	"cairn/llm"
	"cairn/store"
)

// What a conversation does for its parts: a turn, and the sender.

// host is what a turn needs of the conversation that it is in.
type host interface {
	owner
	check()

	// Whether and by whom it is answered.
	paused(ctx context.Context) bool
	cannotWrite() (why string)
	explain(why string, asked []chat.Message)
	taskEnds(ctx context.Context) (at time.Time, open bool)
	named(agent string) (Agent, bool)
	awaitTools(ctx context.Context) error
	override(settings compactor.Patch)
	countAttempt(ctx context.Context, turn *store.Turn) (open bool, err error)

	// What people learn of it.
	speaker() sentences.Speaker
	tryNotify(ctx context.Context, id, text string)
	ended(outcome string)
	unsaved(err error, to []string)
	replied(ctx context.Context, turn store.Turn, text string, failure bool)
	partDone(ctx context.Context)
	keepLearned(answering *llm.Learned)
}

// newTurn returns a turn that has not started.
func (c *conversation) newTurn(row store.Turn) *turn {
	return &turn{
		Turn: row, site: c.site, answerer: &c.answerer, host: c,
		life: c.hub.ctx, failures: &c.failures, sender: &c.sender, usage: &c.usage, calls: c.calls,
		shown: &c.published, outcome: observe.Passed,
	}
}

// answer runs a turn: the model and its tools until there is a reply, then one transaction that
// writes everything, then the reply goes out. own are settings for this turn and the check after it.
func (c *conversation) answer(ctx context.Context, row store.Turn, own compactor.Patch) (err error) {
	ctx, step := observe.Begin(ctx, observe.Turn)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t := c.newTurn(row)
	t.step = step
	t.cancel = cancel
	c.turn.Store(t)
	defer func() { // after a panic, too
		c.turn.Store(nil)
		t.observed(err)
	}()
	return t.run(ctx, own)
}

// putOff closes a turn of people who have no turns left in this minute, and notifies them, once.
func (c *conversation) putOff(ctx context.Context, row store.Turn, tell bool) error {
	t := c.newTurn(row)
	if !tell || row.Optional || c.paused(ctx) || c.cannotWrite() != "" {
		return t.pass(ctx)
	}
	t.attempt = t.newAttempt()
	return t.fail(ctx, c.speaker().Sayf("One moment, please: I answer each person at most %d times a minute. Your message is saved; ask again in a minute.", c.hub.access.Rules().TurnsPerMinute))
}

// ended counts a turn that was answered or failed.
func (c *conversation) ended(outcome string) {
	c.hub.locked(func() {
		if outcome == observe.Failed {
			c.hub.stats.Failed = c.hub.stats.Failed + 1
			c.hub.stats.Failing = c.hub.stats.Failing + 1
			return
		}
		c.hub.stats.Turns = c.hub.stats.Turns + 1
		c.hub.stats.Failing = 0
	})
}

// unsaved notifies people that an answer to them cannot be stored.
func (c *conversation) unsaved(err error, to []string) {
	c.hub.tellOnce(c.hub.ctx, c.name, err, "I cannot save my answer to disk, so I am holding it back and trying again. Your message is saved.", to...)
}

// replied notifies whoever follows the replies that one is stored.
func (c *conversation) replied(ctx context.Context, row store.Turn, text string, failure bool) {
	c.warnOwner(ctx, row)
	if replied := c.hub.o.Replied; replied != nil {
		replied(c.name, row.To, text, failure)
	}
}

// partDone notifies observers of what a task has done so far.
func (c *conversation) partDone(ctx context.Context) {
	if task, err := c.records.Tasks().Self(ctx); err == nil {
		c.hub.reportTask(task)
	}
}

func (c *conversation) background(f func()) { c.hub.owners.Go(f) }

// allSent wakes those who wait until everything is sent, such as the next part of a task.
func (c *conversation) allSent() {
	c.inbox.post(func() { c.runs.again = c.runs.again || c.isTask() })
}

func (c *conversation) dropped() {
	c.hub.locked(func() { c.hub.stats.Dropped++ })
}
