// The sender of the owner: each piece of the outbox goes to the platform once.

package fleetmodel

func (m *model) wantsSending(s *state, p int) (uint8, bool) {
	me := &s.processes[p]
	piece := s.oldest(waiting, sending)
	return piece, me.epoch != 0 && me.stage == 0 && piece != 0 && s.message(piece).at == waiting
}

// sending marks a piece before it is sent, so that an owner to come knows that it may have arrived.
func (m *model) sending(s *state, t transaction, me *process) bool {
	of := s.message(t.message)
	if !m.fence(s, t) || of.at != waiting {
		return false
	}
	m.wrote(s, t)
	of.at = sending
	me.piece = t.message
	me.stage = marked
	return true
}

// ask looks for a piece that an earlier owner, or this one before it dropped the conversation, has marked: the platform knows it
// by a nonce or by metadata. It is sent only if it is not there.
func (m *model) ask(s *state, p int) bool {
	me := &s.processes[p]
	piece := s.oldest(waiting, sending)
	if me.epoch == 0 || me.stage != 0 || piece == 0 || s.message(piece).at != sending {
		return false
	}
	me.piece = piece
	me.stage = marked
	if s.message(piece).shown > 0 && m.fault != resendUnasked {
		me.stage = accepted
	}
	return true
}

// check compares the time with the deadline of the lease, by the process's own monotonic clock. It asks nobody.
func (m *model) check(s *state, p int) bool {
	me := &s.processes[p]
	if me.stage != marked || me.passed && m.fault != noDeadline {
		return false
	}
	me.stage = checked
	if me.row != leased && !me.passed { // the clock of the database has jumped
		s.message(me.piece).excused = true
	}
	return true
}

// request sends a piece, and the platform shows it.
func (m *model) request(s *state, p int) bool {
	me := &s.processes[p]
	if me.stage != checked {
		return false
	}
	me.stage = accepted
	m.show(s, me.piece)
	return true
}

// requestSlowly sends a piece whose request takes long. A process that is killed meanwhile does not stop it.
func (m *model) requestSlowly(s *state, p int) bool {
	me := &s.processes[p]
	if me.stage != checked || !s.spend(slow) {
		return false
	}
	me.stage = requested
	return true
}

// arrive ends a slow request.
func (m *model) arrive(s *state, p int) bool {
	me := &s.processes[p]
	if me.stage != requested {
		return false
	}
	m.show(s, me.piece)
	me.stage = accepted
	if me.epoch == 0 { // the conversation was dropped meanwhile
		m.drop(s, me)
	}
	return true
}

// arriveAdrift ends a slow request for which nobody waits.
func (m *model) arriveAdrift(s *state, number uint8) bool {
	of := s.message(number)
	if of.adrift == 0 {
		return false
	}
	of.adrift--
	m.show(s, number)
	return true
}

// show is what the platform does with a request.
func (m *model) show(s *state, number uint8) {
	of := s.message(number)
	for earlier := range number - 1 {
		if of.shown == 0 && s.messages[earlier].shown == 0 {
			s.breaks(InOrder)
		}
	}
	if of.shown > 0 && !of.excused {
		s.breaks(SentOnce)
	}
	of.shown = min(of.shown+1, 2)
}

func (m *model) wantsSent(s *state, p int) (uint8, bool) {
	me := &s.processes[p]
	return me.piece, me.epoch != 0 && me.stage == accepted
}

// sent notes that the platform has a piece.
func (m *model) sent(s *state, t transaction, me *process) bool {
	of := s.message(t.message)
	if !m.fence(s, t) || of.at != sending {
		return false
	}
	m.wrote(s, t)
	of.at = sent
	me.piece = 0
	me.stage = 0
	return true
}
