package transcript

import (
	"fmt"
	"slices"
)

// Begin enters a job: the summary that it is going to make, with the span, kind, trigger,
// level and, of a rollup, children. Whatever changes a message that it reads makes it stale,
// so Prepare needs to compare nothing. The summary's id is the last one in Running of the
// next state. ErrSpan: the span reaches beyond what was said, over the end of a session, or
// into the open turn.
func (s *State) Begin(sum Summary) (Change, error) {
	_, inOne := s.session(sum.Span)
	if !inOne || sum.From > sum.To || s.Open != 0 && sum.To >= s.Open {
		return s.none(), fmt.Errorf("messages %d to %d, of %d, the session from %d, the open turn %d: %w",
			sum.From, sum.To, s.NextSeq-1, s.SessionStart, s.Open, ErrSpan)
	}
	d := s.draft()
	sum.State = Running
	d.add(sum)
	return d.change(), nil
}

// Prepare stores the result of a job: the summary as it was begun, with its text, tokens,
// sources, maker and, where it covers only a part of another summary, the number of its
// messages. It is shown when it is applied, see Cover. ErrStale: what the job read has
// changed, and the summary must not be used.
func (s *State) Prepare(sum Summary) (Change, error) {
	i := indexOf(s.Running, sum.ID)
	if i < 0 {
		return s.none(), fmt.Errorf("summary %d: %w", sum.ID, ErrStale)
	}
	started := s.Running[i]
	sum.Kind, sum.Trigger, sum.Level, sum.Span, sum.Children, sum.Reads = started.Kind, started.Trigger, started.Level, started.Span, started.Children, Span{}
	sum.State = Prepared
	d := s.draft()
	d.put(sum)
	return d.change(), nil
}

// Fail ends a job that made no summary, with the cause in words for people.
func (s *State) Fail(id int64, cause string) Change {
	i := indexOf(s.Running, id)
	if i < 0 {
		return s.none()
	}
	d := s.draft()
	row := s.Running[i].ended(Failed)
	row.Error = cause
	d.put(row)
	return d.change()
}

// Discard ends what was prepared and is not wanted any more.
func (s *State) Discard(ids []int64) Change {
	d := s.draft()
	d.endJobs(func(row Summary) bool { return slices.Contains(ids, row.ID) && row.State == Prepared })
	if len(d.rows) == 0 {
		return s.none()
	}
	return d.change()
}
