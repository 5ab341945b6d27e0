package transcript

import "slices"

// Edit puts m in the place of the message at its seq, which may be verbatim or behind a
// summary. Summaries of it are to be repaired, and what was prepared or is being made of it
// is stale, see Summary.Edited.
func (s *State) Edit(m Message) Change {
	d := s.draft()
	d.endJobs(func(row Summary) bool { return row.reads().Covers(m.Seq) })
	for _, row := range s.covering(Span{m.Seq, m.Seq}) {
		d.put(row.Edited())
	}
	d.touch([]int64{m.Seq})
	for i, pin := range d.Pins {
		if pin.Seq == m.Seq {
			d.Pins = slices.Clone(d.Pins)
			d.Pins[i].Message = m
		}
	}
	c := d.headChange()
	c.Edited = []Message{m}
	return c
}

// Delete takes messages away; seqs are those of messages that are there, verbatim or behind
// summaries. It reads no span: an applied summary of one becomes a placeholder, or ends if
// nothing is left behind it; what was prepared or is being made of it is stale. repeating
// are ids of other summaries that repeat what was deleted: they lose their text too. A turn
// to whose messages nobody addressed to the bot any more ends.
func (s *State) Delete(seqs, repeating []int64) Change {
	if len(seqs) == 0 {
		return s.none()
	}
	d := s.draft()
	d.endJobs(func(row Summary) bool {
		return slices.ContainsFunc(seqs, row.reads().Covers) || slices.Contains(repeating, row.ID)
	})
	for _, row := range s.Summaries {
		if !slices.ContainsFunc(seqs, row.Covers) && !slices.Contains(repeating, row.ID) {
			continue
		}
		d.put(row.Without(seqs))
	}
	d.touch(seqs)
	for _, seq := range seqs {
		d.Messages = d.Messages.Without(Span{seq, seq})
		if seq >= d.SessionStart {
			d.InSession--
		}
	}
	d.Pins = slices.DeleteFunc(slices.Clone(d.Pins), func(pin Pin) bool { return slices.Contains(seqs, pin.Seq) })
	if d.Open != 0 && !d.asked(d.Open) {
		d.Open = 0
	}
	c := d.headChange()
	c.Deleted = seqs
	return c
}

// touch notes that messages have changed: a set over one of them cannot be undone.
func (d *draft) touch(seqs []int64) {
	for i, set := range d.Sets {
		over := func(seq int64) bool {
			return slices.ContainsFunc(set.Over, func(sp Span) bool { return sp.Covers(seq) })
		}
		if !set.Changed && slices.ContainsFunc(seqs, over) {
			d.Sets = slices.Clone(d.Sets)
			d.Sets[i].Changed = true
		}
	}
}

// asked reports whether a verbatim message of a turn is addressed to the bot.
func (d *draft) asked(turn int64) bool {
	for m := range d.Messages.In(Span{turn, d.NextSeq}) {
		if m.Turn == turn && m.Addressed {
			return true
		}
	}
	return false
}

// Pin adds a pin, or changes nothing if the message is pinned.
func (s *State) Pin(pin Pin) Change {
	if slices.ContainsFunc(s.Pins, func(p Pin) bool { return p.Seq == pin.Seq }) {
		return s.none()
	}
	d := s.draft()
	d.Pins = append(slices.Clip(d.Pins), pin)
	return d.headChange()
}

// Unpin takes a pin away, if there is one at seq.
func (s *State) Unpin(seq int64) Change {
	d := s.draft()
	d.Pins = slices.DeleteFunc(slices.Clone(d.Pins), func(p Pin) bool { return p.Seq == seq })
	if len(d.Pins) == len(s.Pins) {
		return s.none()
	}
	return d.headChange()
}
