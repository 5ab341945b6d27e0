package compactor

import (
	"cmp"
	"context"
	"slices"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/llm"
)

// inMemoryJob is the job of one row.
type inMemoryJob struct {
	r   *InMemory
	row Compaction
}

// ID returns the row's id.
func (j *inMemoryJob) ID() int64 { return j.row.ID }

// Messages returns at most limit messages of a span.
func (j *inMemoryJob) Messages(ctx context.Context, from, to int64, limit int) ([]chat.Message, error) {
	found, err := j.r.Span(ctx, from, to)
	return found[:min(max(limit, 0), len(found))], err
}

// Children returns the rows that a rollup folded, or those that the job's own row is folding.
func (j *inMemoryJob) Children(_ context.Context, rollup int64) (found []Compaction, err error) {
	of := j.r.rows[rollup]
	if of == nil {
		return nil, nil
	}
	for _, id := range of.Children {
		if child := j.r.rows[id]; child != nil && (rollup == j.row.ID || child.State == RolledUp) {
			found = append(found, child.Compaction)
		}
	}
	slices.SortFunc(found, func(a, b Compaction) int { return cmp.Compare(a.From, b.From) })
	return found, nil
}

// Tools returns nil: InMemory saves no memories.
func (j *inMemoryJob) Tools(int) []llm.Tool { return nil }

// Mark returns a function that does nothing.
func (j *inMemoryJob) Mark() func() { return func() {} }

// Kept returns 0.
func (j *inMemoryJob) Kept() int { return 0 }

// Store makes the row prepared.
func (j *inMemoryJob) Store(_ context.Context, s summarize.Summary) ([]summarize.MemoryDraft, error) {
	sum := j.row
	sum.Text, sum.Tokens, sum.Sources = s.Text, s.Tokens, s.Sources
	c, err := j.r.state.Prepare(sum)
	if err != nil {
		return nil, err
	}
	j.r.commit(c)
	return nil, nil
}

// Fail makes the row failed.
func (j *inMemoryJob) Fail(_ context.Context, cause string) error {
	j.r.commit(j.r.state.Fail(j.row.ID, cause))
	return nil
}
