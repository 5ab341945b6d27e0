package simulate

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/compactor/summarize"
	"cairn/llm"
	"cairn/transcript"
)

// records are what an engine keeps of a conversation, in memory: the state of package
// transcript, and every row there ever was.
type records struct {
	rec   *Recording
	now   func() time.Time
	state *transcript.State
	rows  map[int64]*row
}

// row is a summary and what became of it.
type row struct {
	compactor.Compaction
	version int64 // with which it was applied; 0: it was not
	at      time.Time
	newest  int64 // the message that was the newest one
}

var _ compactor.Records = (*records)(nil)

func newRecords(rec *Recording, now func() time.Time) *records {
	return &records{rec: rec, now: now, state: transcript.New(), rows: map[int64]*row{}}
}

// commit takes a change, and notes what it makes of each row.
func (r *records) commit(c transcript.Change) {
	was := r.state
	for i := range c.Summaries {
		s := &c.Summaries[i]
		if s.Kind == compactor.Placeholder {
			s.Tokens = compactor.TokensOfCompaction(*s)
		}
	}
	r.state = was.With(c)
	for _, s := range c.Summaries {
		old := r.rows[s.ID]
		if old == nil {
			old = &row{}
			r.rows[s.ID] = old
		}
		fresh := old.version == 0 && (s.State == compactor.Applied || s.State == compactor.RolledUp && old.State == compactor.Prepared)
		old.Compaction = s
		if fresh {
			old.version, old.at, old.newest = c.Marks.HeadVersion, r.now(), c.Marks.NextSeq-1
		}
	}
}

// append adds messages as they were recorded: numbers of deleted ones are left out.
func (r *records) append(messages []chat.Message) error {
	added := make([]transcript.Message, len(messages))
	for i, m := range messages {
		added[i] = transcript.Message{Seq: m.Seq, Turn: m.Turn, Time: m.Time, Tokens: m.Tokens}
	}
	change, err := r.state.Append(added...)
	if err != nil {
		return err
	}
	r.commit(change)
	return nil
}

// Load returns the state of an empty conversation.
func (r *records) Load(context.Context) (compactor.State, error) {
	return compactor.State{Head: r.head(), Next: 1}, nil
}

func (r *records) head() compactor.Head {
	s := r.state
	h := compactor.Head{Version: s.HeadVersion, ClearedTo: s.ClearedTo, Start: s.SessionStart, SparedFrom: s.Spared.From, SparedTo: s.Spared.To}
	for _, span := range s.Sessions {
		session := compactor.Session{From: span.From, To: span.To}
		for _, row := range s.Summaries {
			if row.Within(span) {
				session.Rows = append(session.Rows, row)
			}
		}
		h.Earlier = append(h.Earlier, session)
	}
	for _, row := range s.Summaries {
		if row.From >= s.SessionStart {
			h.Stack = append(h.Stack, row)
		}
	}
	return h
}

// Head returns the head as committed, and the first addressed messages of the session.
func (r *records) Head(context.Context) (compactor.Head, []chat.Message, error) {
	var first []chat.Message
	for _, m := range r.said(r.state.SessionStart, r.state.NextSeq-1) {
		if m.Addressed && len(first) < compactor.MaxKeepFirst {
			first = append(first, m.Message)
		}
	}
	return r.head(), first, nil
}

// said are the recorded messages of a span.
func (r *records) said(from, to int64) []Message {
	by := func(m Message, seq int64) int { return cmp.Compare(m.Seq, seq) }
	i, _ := slices.BinarySearchFunc(r.rec.Messages, from, by)
	j, _ := slices.BinarySearchFunc(r.rec.Messages, to+1, by)
	return r.rec.Messages[i:max(i, j)]
}

// Span returns the messages of a span.
func (r *records) Span(_ context.Context, from, to int64) (found []chat.Message, err error) {
	for _, m := range r.said(from, to) {
		found = append(found, m.Message)
	}
	return found, nil
}

// Begin enters a row.
func (r *records) Begin(_ context.Context, sum compactor.Compaction) (compactor.Job, error) {
	c, err := r.state.Begin(sum)
	if err != nil {
		return nil, err
	}
	r.commit(c)
	return &job{r, r.state.Running[len(r.state.Running)-1]}, nil
}

// Commit takes a change of s, and gives new rows their ids.
func (r *records) Commit(_ context.Context, s *transcript.State, c transcript.Change) (compactor.Head, error) {
	if s.HeadVersion != r.state.HeadVersion {
		return compactor.Head{}, transcript.ErrStale
	}
	given := map[int64]int64{}
	next := r.state.NextSummary
	c.Summaries = slices.Clone(c.Summaries)
	for i := range c.Summaries {
		row := &c.Summaries[i]
		if row.ID >= transcript.Unstored {
			given[row.ID] = next
			row.ID = next
			next++
		}
	}
	for i := range c.Summaries {
		row := &c.Summaries[i]
		row.Children = slices.Clone(row.Children)
		for k, child := range row.Children {
			row.Children[k] = cmp.Or(given[child], child)
		}
	}
	c.Base, c.Marks.Version, c.Marks.NextSummary = r.state.Version, r.state.Version+1, next
	r.commit(c)
	return r.head(), nil
}

// Stretches counts the messages of spans.
func (r *records) Stretches(_ context.Context, spans []compactor.Span) (all []transcript.Stretch, err error) {
	for _, part := range spans {
		n := transcript.Stretch{Span: part}
		if said := r.said(part.From, part.To); len(said) > 0 {
			n.Messages, n.First, n.Last = len(said), said[0].Time, said[len(said)-1].Time
		}
		all = append(all, n)
	}
	return all, nil
}

// Ended returns nothing: nobody edits a recording.
func (r *records) Ended(context.Context, []int64) ([]compactor.Compaction, error) { return nil, nil }

// errNoUndo says that a simulation takes nothing back: when somebody did is not recorded.
var errNoUndo = errors.New("a simulation undoes nothing")

// Latest is not used in a simulation.
func (r *records) Latest(context.Context) (compactor.Undoable, error) {
	return compactor.Undoable{}, errNoUndo
}

// Declined notes that a model declined to summarize what a row stands for.
func (r *records) Declined(_ context.Context, id int64, d compactor.Declined) error {
	r.declined(d, func(s compactor.Compaction) bool { return s.ID == id })
	return nil
}

// Forgive has every row asked for again that was declined.
func (r *records) Forgive(context.Context) error {
	r.declined(compactor.Declined{}, func(s compactor.Compaction) bool { return s.Declined.Times > 0 })
	return nil
}

// declined changes what came of some of the applied rows.
func (r *records) declined(d compactor.Declined, of func(compactor.Compaction) bool) {
	c := transcript.Change{Base: r.state.Version, Marks: r.state.Marks, Sets: r.state.Sets, Sessions: r.state.Sessions}
	for _, s := range r.state.Summaries {
		if of(s) {
			s.Declined = d
			c.Summaries = append(c.Summaries, s)
		}
	}
	c.Marks.Version++
	r.commit(c)
}

// Measured changes nothing: the events tell it too.
func (r *records) Measured(context.Context, int64, int, int) error { return nil }

// job makes one row.
type job struct {
	r   *records
	row compactor.Compaction
}

// ID is the row's.
func (j *job) ID() int64 { return j.row.ID }

// Messages returns messages of a span, at most limit of them.
func (j *job) Messages(ctx context.Context, from, to int64, limit int) ([]chat.Message, error) {
	found, err := j.r.Span(ctx, from, to)
	return found[:min(max(limit, 0), len(found))], err
}

// Children returns the rows that a rollup folded, or that the job's own is to fold.
func (j *job) Children(_ context.Context, rollup int64) (found []compactor.Compaction, err error) {
	of := j.r.rows[rollup]
	if of == nil {
		return nil, nil
	}
	for _, id := range of.Children {
		if child := j.r.rows[id]; child != nil && (rollup == j.row.ID || child.State == compactor.RolledUp) {
			found = append(found, child.Compaction)
		}
	}
	slices.SortFunc(found, func(a, b compactor.Compaction) int { return cmp.Compare(a.From, b.From) })
	return found, nil
}

// Tools, Mark and Kept: a simulation saves no memories.
func (j *job) Tools(int) []llm.Tool { return nil }

// Mark returns a function that does nothing.
func (j *job) Mark() func() { return func() {} }

// Kept is 0.
func (j *job) Kept() int { return 0 }

// Store makes the row prepared.
func (j *job) Store(_ context.Context, s summarize.Summary) ([]summarize.MemoryDraft, error) {
	sum := j.row
	sum.Text, sum.Tokens, sum.Sources = s.Text, s.Tokens, s.Sources
	c, err := j.r.state.Prepare(sum)
	if err != nil {
		return nil, err
	}
	j.r.commit(c)
	return nil, nil
}

// Fail ends the row.
func (j *job) Fail(_ context.Context, cause string) error {
	j.r.commit(j.r.state.Fail(j.row.ID, cause))
	return nil
}
