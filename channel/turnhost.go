package channel

import (
	"context"
	"time"

	"cairn/channel/sentences"
	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
	"cairn/store"
)

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
	keepLearnt(answering *llm.Learnt)
}
