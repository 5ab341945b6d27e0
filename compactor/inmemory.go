// Records without a disk: for simulations, examples and tests.

package compactor

import (
	"cmp"
	"context"
	"slices"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/llm"
	"cairn/transcript"
)

// InMemory implements Records in memory. Its messages are never edited or deleted, it saves no
// memories, it does not record what a model declines, and nothing in it can be undone. It has no lock: Work must run on
// the goroutine that owns the conversation.
type InMemory struct {
	state    *transcript.State
	messages []chat.Message
	rows     map[int64]Summary
}

var _ Records = (*InMemory)(nil)

// NewInMemory returns the records of an empty conversation.
func NewInMemory() *InMemory {
	return &InMemory{state: transcript.New(), rows: map[int64]Summary{}}
}

// Row returns a summary by its id, whatever its state; ok is false if there is none.
func (r *InMemory) Row(id int64) (row Summary, ok bool) {
	row, ok = r.rows[id]
	return row, ok
}

func (r *InMemory) commit(c transcript.Change) {
	r.state = r.state.With(c)
	for _, s := range c.Summaries {
		r.rows[s.ID] = s
	}
}

// Append adds messages at the end, by Seq; numbers may be skipped. The error is
// transcript.ErrOrder; then nothing was added.
func (r *InMemory) Append(messages ...chat.Message) error {
	added := make([]transcript.Message, len(messages))
	for i, m := range messages {
		added[i] = transcript.MessageOf(m)
	}
	change, err := r.state.Append(added...)
	if err != nil {
		return err
	}
	r.commit(change)
	r.messages = append(r.messages, messages...)
	return nil
}

func (r *InMemory) Load(ctx context.Context) (transcript.Snapshot, error) {
	for _, row := range r.state.Running {
		r.commit(r.state.Fail(row.ID, "its worker ended"))
	}
	head, first, err := r.Head(ctx)
	s := transcript.Snapshot{Head: head, First: first, Prepared: slices.Clone(r.state.Prepared), Next: r.state.NextSeq}
	for _, m := range r.state.Messages {
		s.Messages = append(s.Messages, r.said(m.Seq, m.Seq)...)
	}
	return s, err
}

// Reload returns that nothing has changed: only the compactor changes the head.
func (r *InMemory) Reload(_ context.Context, known int64, _ []chat.Message) (transcript.Snapshot, error) {
	return transcript.Snapshot{Head: Head{Version: known}, Prepared: r.state.Prepared}, nil
}

func (r *InMemory) Head(context.Context) (Head, []chat.Message, error) {
	var first []chat.Message
	for _, m := range r.said(r.state.SessionStart, r.state.NextSeq-1) {
		if transcript.IsFirst(first, m) {
			first = append(first, m)
		}
	}
	return r.state.Head(), first, nil
}

func (r *InMemory) said(from, to int64) []chat.Message {
	by := func(m chat.Message, seq int64) int { return cmp.Compare(m.Seq, seq) }
	i, _ := slices.BinarySearchFunc(r.messages, from, by)
	j, _ := slices.BinarySearchFunc(r.messages, to+1, by)
	return r.messages[i:max(i, j)]
}

func (r *InMemory) Span(_ context.Context, from, to int64) ([]chat.Message, error) {
	return slices.Clone(r.said(from, to)), nil
}

func (r *InMemory) Begin(_ context.Context, sum Summary) (Job, error) {
	c, err := r.state.Begin(sum)
	if err != nil {
		return nil, err
	}
	r.commit(c)
	return &inMemoryJob{r, r.state.Running[len(r.state.Running)-1]}, nil
}

func (r *InMemory) Commit(_ context.Context, s *transcript.State, c transcript.Change) (Head, error) {
	if s.HeadVersion != r.state.HeadVersion {
		return Head{}, transcript.ErrStale
	}
	given := map[int64]int64{}
	next := r.state.NextSummary
	c.Summaries = slices.Clone(c.Summaries)
	for i := range c.Summaries { // a new row comes before its rollup
		row := &c.Summaries[i]
		if row.ID >= transcript.Unstored {
			given[row.ID] = next
			row.ID = next
			next++
		}
		row.Children = slices.Clone(row.Children)
		for k, child := range row.Children {
			row.Children[k] = cmp.Or(given[child], child)
		}
	}
	c.Base = r.state.Version
	c.Marks.Version = r.state.Version + 1
	c.Marks.NextSummary = next
	r.commit(c)
	return r.state.Head(), nil
}

func (r *InMemory) Stretch(_ context.Context, sp Span) (n transcript.Stretch, err error) {
	if said := r.said(sp.From, sp.To); len(said) > 0 {
		n = transcript.Stretch{Messages: len(said), First: said[0].Time, Last: said[len(said)-1].Time}
	}
	return n, nil
}

// Latest returns why nothing can be undone.
func (r *InMemory) Latest(context.Context) (transcript.Undoable, error) {
	return transcript.Undoable{Version: r.state.HeadVersion, Why: "a summary that is only in memory cannot be undone"}, nil
}

// Declined does nothing: the compactor knows it until the head changes.
func (r *InMemory) Declined(context.Context, int64, Declined) error { return nil }

// Measured does nothing: the events contain the numbers too.
func (r *InMemory) Measured(context.Context, int64, int, int) error { return nil }

// inMemoryJob is the job of one row.
type inMemoryJob struct {
	r   *InMemory
	row Summary
}

func (j *inMemoryJob) ID() int64 { return j.row.ID }

func (j *inMemoryJob) Messages(_ context.Context, spans ...Span) (found []chat.Message, err error) {
	for _, sp := range spans {
		found = append(found, j.r.said(sp.From, sp.To)...)
	}
	return found, nil
}

// Children returns the rows that a rollup folded, or those that the job's own row is folding.
func (j *inMemoryJob) Children(_ context.Context, rollup int64) (found []Summary, err error) {
	for _, id := range j.r.rows[rollup].Children {
		if child, known := j.r.rows[id]; known && (rollup == j.row.ID || child.State == RolledUp) {
			found = append(found, child)
		}
	}
	slices.SortFunc(found, func(a, b Summary) int { return cmp.Compare(a.From, b.From) })
	return found, nil
}

func (j *inMemoryJob) Tools(int) []llm.Tool { return nil }

func (j *inMemoryJob) Kept() int { return 0 }

func (j *inMemoryJob) Store(_ context.Context, s summarize.Summary) ([]summarize.MemoryDraft, error) {
	c, err := j.r.state.Prepare(s.In(j.row))
	if err != nil {
		return nil, err
	}
	j.r.commit(c)
	return nil, nil
}

func (j *inMemoryJob) Fail(_ context.Context, cause string) ([]summarize.MemoryDraft, error) {
	j.r.commit(j.r.state.Fail(j.row.ID, cause))
	return nil, nil
}
