package transcript

import "slices"

// Truncate hides the verbatim messages of spans behind placeholders, immediately and without a
// summary. Each of rows gives a span of whole turns of the session, a trigger, and whether a
// model should repair it. A new placeholder absorbs older ones in its span or next to it. clearTo is like
// that of Cover. A truncation cannot be undone.
func (s *State) Truncate(rows []Summary, clearTo int64) Change {
	d := s.draft()
	for _, row := range rows {
		d.hide(row)
	}
	d.Spared, d.ClearedTo = Span{}, max(d.ClearedTo, clearTo)
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
		row.Messages, row.ToTime = row.Messages+1, m.Time
	}
	if row.Messages == 0 {
		return
	}
	for _, old := range slices.Clone(d.covering(Span{row.From - 1, row.To + 1})) {
		if old.Kind != Placeholder || old.From < d.SessionStart {
			continue
		}
		if old.From < row.From {
			row.From, row.FromTime = old.From, old.FromTime
		}
		if old.To > row.To {
			row.To, row.ToTime = old.To, old.ToTime
		}
		row.Messages, row.AwaitsModel = row.Messages+old.Messages, row.AwaitsModel || old.AwaitsModel
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
	d.SessionStart, d.InSession, d.Spared = s.NextSeq, 0, Span{}
	return d.headChange(), nil
}
