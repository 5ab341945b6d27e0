package summarize

import (
	"context"

	"cairn/chat"
	"cairn/llm"
	"cairn/transcript"
)

// Job is one compaction being made.
type Job interface {
	// ID returns the row's id.
	ID() int64
	// Messages returns the messages of [from, to], without deleted ones, at most limit of them,
	// oldest first.
	Messages(ctx context.Context, from, to int64, limit int) ([]chat.Message, error)
	// Children returns the rows that a rollup folded, oldest first, or those that the job's own row
	// is folding, in their current form.
	Children(ctx context.Context, rollup int64) ([]transcript.Summary, error)
	// Tools returns memory_save, bound to the job: it checks a draft at once and keeps at most
	// draftLimit drafts, which Store writes.
	Tools(draftLimit int) []llm.Tool
	// Mark returns a function that discards the drafts kept since, for work that is retried.
	Mark() (takeBack func())
	// Kept returns the number of drafts that Store would write.
	Kept() int
	// Store writes summary and memories and makes the row prepared, in one transaction. It returns
	// the memories that are new.
	Store(ctx context.Context, summary Summary) ([]MemoryDraft, error)
	// Fail makes the row failed, with the cause in words for people.
	Fail(ctx context.Context, cause string) error
}
