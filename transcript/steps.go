package transcript

import (
	"cmp"
	"fmt"
)

// Append adds messages at the end. A message without a Seq gets the next one, and one without a
// Turn becomes a turn of its own. Seqs may have gaps, where messages were deleted. ErrOrder: a seq
// is taken, or a turn starts after its message or before the newest turn.
func (s *State) Append(messages ...Message) (Change, error) {
	d := s.draft()
	var last Message
	if n := len(d.Messages); n > 0 {
		last = d.Messages[n-1]
	}
	placed := make([]Message, 0, len(messages))
	for _, m := range messages {
		m.Seq = cmp.Or(m.Seq, d.NextSeq)
		m.Turn = cmp.Or(m.Turn, m.Seq)
		if m.Seq < d.NextSeq || m.Turn > m.Seq || m.Turn < last.Turn {
			return s.none(), fmt.Errorf("message %d of turn %d, next is %d after turn %d: %w", m.Seq, m.Turn, d.NextSeq, last.Turn, ErrOrder)
		}
		placed, last = append(placed, m), m
		d.NextSeq, d.InSession = m.Seq+1, d.InSession+1
	}
	c := d.change()
	c.Appended = placed
	return c, nil
}

// Begin adds a job: the summary to make, with the span, kind, trigger, level and, for a rollup,
// children. An edit or deletion of a message that it reads makes it stale, so Prepare compares
// nothing. The next state has the summary, with its ID, as the last of Running. ErrSpan: the span
// ends after the newest message, crosses the end of a session, or reaches into the open turn.
func (s *State) Begin(sum Summary) (Change, error) {
	if !s.inOneSession(sum.Span) || sum.From > sum.To || s.Open != 0 && sum.To >= s.Open {
		return s.none(), fmt.Errorf("messages %d to %d, of %d, the session from %d, the open turn %d: %w",
			sum.From, sum.To, s.NextSeq-1, s.SessionStart, s.Open, ErrSpan)
	}
	d := s.draft()
	sum.State = Running
	d.add(sum)
	return d.change(), nil
}

// Prepare stores the result of a job: the summary as it was started, with its text, tokens,
// sources, maker and, where it covers only a part of another summary, the number of its messages.
// Cover applies it. ErrStale: what the job read has changed, and the summary must not be used.
func (s *State) Prepare(sum Summary) (Change, error) {
	i := indexOf(s.Running, sum.ID)
	if i < 0 {
		return s.none(), fmt.Errorf("summary %d: %w", sum.ID, ErrStale)
	}
	started := s.Running[i]
	sum.Kind, sum.Trigger, sum.Level, sum.Span, sum.Children = started.Kind, started.Trigger, started.Level, started.Span, started.Children
	sum.State = Prepared
	d := s.draft()
	d.put(sum)
	return d.change(), nil
}

// Fail ends a job that produced no summary; cause is in words for people.
func (s *State) Fail(id int64, cause string) Change {
	i := indexOf(s.Running, id)
	if i < 0 {
		return s.none()
	}
	d := s.draft()
	row := s.Running[i].retire(Failed)
	row.Error = cause
	d.put(row)
	return d.change()
}
