package transcript

import "slices"

// Truncate hides the verbatim messages up to seq to, as whole turns and never the open one,
// behind placeholders. A placeholder ends where the span of a summary that runs or is
// prepared begins or ends, so that this replaces whole ones. owed: a model is to repair
// them. The change is empty if nothing can be hidden. It cannot be undone.
func (s *State) Truncate(to int64, why Trigger, owed bool) Change {
	d := s.draft()
	d.hide(s.turnEnd(to), why, owed)
	if len(d.rows) == 0 {
		return s.none()
	}
	d.Spared = Span{}
	return d.headChange()
}

// turnEnd is the seq of the last message up to seq to that ends a turn, before the open one.
func (s *State) turnEnd(to int64) (end int64) {
	if s.Open != 0 {
		to = min(to, s.Open-1)
	}
	last := Message{Turn: -1}
	for m := range s.Messages.All() {
		if m.Turn != last.Turn {
			end = last.Seq
		}
		if m.Seq > to {
			return end
		}
		last = m
	}
	return last.Seq
}

// hide puts placeholders over the verbatim messages up to seq to.
func (d *draft) hide(to int64, why Trigger, owed bool) {
	first, ok := d.Messages.First()
	if !ok || to < first.Seq {
		return
	}
	for _, piece := range d.pieces(Span{first.Seq, to}) {
		row := Summary{Kind: Placeholder, Status: Applied, Trigger: why, Tokens: placeholderTokens, Owed: owed}
		for m := range d.Messages.In(piece) {
			if row.Messages == 0 {
				row.From, row.First = m.Seq, m.Time
			}
			row.To, row.Last = m.Seq, m.Time
			row.Messages++
		}
		if row.Messages > 0 {
			d.add(row)
		}
	}
}

// pieces cuts a span where what is prepared or running begins or ends, and where a summary
// is applied.
func (d *draft) pieces(sp Span) (pieces []Span) {
	var cuts []int64 // the seqs at which a piece begins
	for _, row := range slices.Concat(d.Prepared, d.Running, d.covering(sp)) {
		cuts = append(cuts, row.From, row.To+1)
	}
	slices.Sort(cuts)
	from := sp.From
	for _, cut := range cuts {
		if cut > from && cut <= sp.To {
			pieces = append(pieces, Span{from, cut - 1})
			from = cut
		}
	}
	return append(pieces, Span{from, sp.To})
}

// Clear shows the tool results up to seq to cleared.
func (s *State) Clear(to int64) Change {
	if to <= s.ClearedTo {
		return s.none()
	}
	d := s.draft()
	d.ClearedTo = to
	return d.headChange()
}

// NewSession ends the session: what of it is verbatim is hidden behind placeholders, and the
// next message begins the next session. owed: a model is to repair them. ErrOpen: a turn
// waits for its answer. ErrEmpty: there is nothing to leave behind.
func (s *State) NewSession(owed bool) (Change, error) {
	switch {
	case s.Open != 0:
		return s.none(), ErrOpen
	case s.InSession == 0:
		return s.none(), ErrEmpty
	}
	d := s.draft()
	d.hide(s.NextSeq-1, OnNew, owed)
	d.Sessions = append(slices.Clip(d.Sessions), Span{s.SessionStart, s.NextSeq - 1})
	d.SessionStart, d.InSession, d.Spared, d.Sets = s.NextSeq, 0, Span{}, nil
	return d.headChange(), nil
}
