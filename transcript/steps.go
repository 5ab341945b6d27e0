package transcript

import (
	"cmp"
	"fmt"
	"slices"
)

// Append adds messages at the end. A message without a Seq gets the next one, and one without a
// Turn becomes a separate turn. Seqs may have gaps, where messages were deleted. ErrOrder: a seq
// exists, or a turn starts after its message or before the newest turn.
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
		placed = append(placed, m)
		last = m
		d.NextSeq = m.Seq + 1
		d.InSession = d.InSession + 1
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
	sum.Kind = started.Kind
	sum.Trigger = started.Trigger
	sum.Level = started.Level
	sum.Span = started.Span
	sum.Children = started.Children
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

// Truncate hides the verbatim messages of spans behind placeholders, immediately and without a
// summary. Each of rows gives a span of full turns of the session, a trigger, and whether a
// model should repair it. A new placeholder absorbs older ones in its span or next to it. clearTo is like
// that of Cover. A truncation cannot be undone.
func (s *State) Truncate(rows []Summary, clearTo int64) Change {
	d := s.draft()
	for _, row := range rows {
		d.hide(row)
	}
	d.Spared = Span{}
	d.ClearedTo = max(d.ClearedTo, clearTo)
	return d.headChange()
}

// hide puts the verbatim messages of a span behind placeholders, one for each gap between summaries.
func (d *draft) hide(like Summary) {
	walls := slices.DeleteFunc(slices.Clone(d.covering(like.Span)), func(row Summary) bool { return row.Kind == Placeholder })
	for _, gap := range like.Gaps(walls) {
		like.Span = gap
		d.putPlaceholder(like)
	}
}

// putPlaceholder hides the verbatim messages of a span, if there are any, behind one placeholder, which
// absorbs those in the span or next to it.
func (d *draft) putPlaceholder(like Summary) {
	row := Summary{
		Kind: Placeholder, By: Nobody, State: Applied, Trigger: like.Trigger, Span: like.Span,
		AwaitsModel: like.AwaitsModel,
	}
	for _, m := range d.Messages.In(row.Span) {
		if row.Messages == 0 {
			row.FromTime = m.Time
		}
		row.Messages = row.Messages + 1
		row.ToTime = m.Time
	}
	if row.Messages == 0 {
		return
	}
	for _, old := range slices.Clone(d.covering(Span{row.From - 1, row.To + 1})) {
		if old.Kind != Placeholder || old.From < d.SessionStart {
			continue
		}
		if old.From < row.From {
			row.From = old.From
			row.FromTime = old.FromTime
		}
		if old.To > row.To {
			row.To = old.To
			row.ToTime = old.ToTime
		}
		row.Messages = row.Messages + old.Messages
		row.AwaitsModel = row.AwaitsModel || old.AwaitsModel
		row = row.inPlaceOf(old)
		old.State = Replaced
		d.put(old)
	}
	d.add(row)
}

// Clear marks the tool results up to seq to as cleared.
func (s *State) Clear(to int64) Change {
	if to <= s.ClearedTo {
		return s.none()
	}
	d := s.draft()
	d.ClearedTo = to
	return d.headChange()
}

// EndContexts stops showing turn contexts, except that of the open turn.
func (s *State) EndContexts() Change { return s.draft().headChange() }

// NewSession ends the session: its verbatim messages are hidden behind placeholders, and the next
// message begins the next session. awaitsModel: a model should repair the placeholders. ErrOpen:
// a turn is waiting for its answer. ErrEmpty: there is nothing to leave behind.
func (s *State) NewSession(awaitsModel bool) (Change, error) {
	switch {
	case s.Open != 0:
		return s.none(), ErrOpen
	case s.InSession == 0:
		return s.none(), ErrEmpty
	}
	d := s.draft()
	d.hide(Summary{Span: Span{s.SessionStart, s.NextSeq - 1}, Trigger: OnNew, AwaitsModel: awaitsModel})
	d.Sessions = append(slices.Clip(d.Sessions), Span{s.SessionStart, s.NextSeq - 1})
	d.SessionStart = s.NextSeq
	d.InSession = 0
	d.Spared = Span{}
	return d.headChange(), nil
}
