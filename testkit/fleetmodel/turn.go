// The way of a message: delivered, taken up, answered.

package fleetmodel

// deliver stores a message in the inbox, by a process that need not own the conversation. It locks the row and compares no epoch;
// if another process owns the conversation, an event row wakes that one. The platform delivers again what was not acknowledged,
// also to several processes: what is known already changes nothing, so that no step shows it.
func (m *model) deliver(s *state, p int) bool {
	me := &s.processes[p]
	number := s.oldest(unknown, unknown)
	if m.fault == acknowledgeFirst && me.received != 0 {
		number = me.received
	}
	if me.row == absent || number == 0 || number > m.messages || m.fault == acknowledgeFirst && me.received == 0 {
		return false
	}
	s.message(number).at = inInbox
	s.message(number).acknowledged = true // perhaps later: then it is delivered again, which changes nothing
	if s.owner != nobody && s.owner != ownerOf(p) && m.fault != noEvent {
		s.event = true
	}
	me.look = me.look || me.epoch != 0
	me.received = 0
	if m.fault == pollEnded && s.owner == nobody {
		me.received = number // it remembers to claim the conversation
	}
	return true
}

// deliverAgain is deliver for a message that is known already, if nothing finds that out.
func (m *model) deliverAgain(s *state, number uint8) bool {
	known := s.message(number)
	if m.fault != noDedupe || known.at == unknown {
		return false
	}
	s.breaks(AnsweredOnce) // it is in the inbox for the second time
	return true
}

// receive acknowledges a message that will be stored later.
func (m *model) receive(s *state, p int) bool {
	me := &s.processes[p]
	number := s.oldest(unknown, unknown)
	if m.fault != acknowledgeFirst || me.row == absent || me.received != 0 || number == 0 || number > m.messages || s.message(number).acknowledged {
		return false
	}
	me.received = number
	s.message(number).acknowledged = true
	return true
}

func (m *model) wantsTakeUp(s *state, p int) (uint8, bool) {
	me := &s.processes[p]
	return 0, me.epoch != 0 && me.look && me.turn == 0 && !me.draining
}

// takeUp moves the oldest message of the inbox to the transcript, and begins its turn. The model is called after it, without a
// transaction.
func (m *model) takeUp(s *state, t transaction, me *process) bool {
	if !m.fence(s, t) {
		return false
	}
	oldest := s.oldest(inInbox, inInbox)
	if oldest == 0 {
		me.look = false
		return true
	}
	m.wrote(s, t)
	s.message(oldest).at = takenUp
	me.turn = oldest
	return true
}

func (m *model) wantsFinish(s *state, p int) (uint8, bool) {
	me := &s.processes[p]
	return me.turn, me.turn != 0 && (m.fault != fenceBefore || me.compared)
}

// finish ends a turn: it writes the reply and a piece of the outbox, and marks the message answered, which must not be so yet.
func (m *model) finish(s *state, t transaction, me *process) bool {
	unfenced := m.fault == finishUnfenced || m.fault == fenceBefore
	if !unfenced && !m.fence(s, t) {
		return false
	}
	of := s.message(t.message)
	switch {
	case of.at == takenUp:
		of.at = waiting
	case m.fault == finishRepeated:
		s.breaks(AnsweredOnce)
	default:
		return false
	}
	m.wrote(s, t)
	if s.oldest(inInbox, takenUp) < t.message && s.oldest(inInbox, takenUp) != 0 {
		s.breaks(InOrder)
	}
	me.turn = 0
	me.compared = false
	return true
}

// compare compares the epoch in a transaction of its own, before finish.
func (m *model) compare(s *state, p int) bool {
	me := &s.processes[p]
	if m.fault != fenceBefore || me.turn == 0 || me.compared || me.epoch != s.epoch {
		return false
	}
	me.compared = true
	return true
}
