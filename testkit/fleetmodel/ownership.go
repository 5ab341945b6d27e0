// Who owns the conversation: claims, releases, the fence, and the events by which others wake the owner.

package fleetmodel

// transaction is what a process asks of the database. Its first statement locks the conversation's row, so that it runs as one
// step.
type transaction struct {
	kind    kind
	by      owner // the process that claims
	epoch   uint8 // that the process got with its claim
	message uint8 // whose rows it changes; 0: it finds that out
}

// fence is the second statement of an owner's transaction: with another epoch in the row, the transaction ends here.
func (m *model) fence(s *state, t transaction) bool { return t.epoch == s.epoch }

// wrote checks what an owner's transaction has written, after the fence or without it.
func (m *model) wrote(s *state, t transaction) {
	if t.epoch != s.epoch {
		s.breaks(Fenced)
	}
}

// Each of the following transactions returns false if it was refused. me is the memory of the process, which changes when it
// learns of the commit; for a late transaction it is nobody's.

// wantsClaim: a process looks for unfinished conversations without an owner that lives. The one whose row says that the process
// itself is the owner is among them if it is not in memory: the answer of an earlier transaction was lost.
func (m *model) wantsClaim(s *state, p int) (uint8, bool) {
	me := &s.processes[p]
	looks := m.fault != pollEnded || s.owner != nobody || me.received != 0
	return 0, looks && !me.draining && me.epoch == 0 && me.stage == 0 && s.open() && m.claimable(s, ownerOf(p))
}

// claimable: WHERE (owner IS NULL OR owner = me OR owner's process was ended) AND my own process was not.
func (m *model) claimable(s *state, by owner) bool {
	switch {
	case m.fault != endedClaims && (by == ended || by >= running && s.processes[by-running].row == over):
		return false
	case s.owner == nobody || s.owner == ended:
		return true
	case s.owner == by:
		return m.fault != claimNotOwn
	case s.owner == killed:
		return m.fault == claimExpired
	}
	of := s.processes[s.owner-running].row
	return of == over || of == expired && m.fault == claimExpired
}

// claim makes a process the owner, and reads what there is to do.
func (m *model) claim(s *state, t transaction, me *process) bool {
	if !m.claimable(s, t.by) {
		return false
	}
	s.owner = t.by
	if m.fault != claimKeepsEpoch || s.epoch == 0 {
		s.epoch++
	}
	me.epoch = s.epoch
	me.received = 0
	m.load(s, me)
	return true
}

// load reads what there is to do.
func (m *model) load(s *state, me *process) {
	me.look = true
	me.turn = s.oldest(takenUp, takenUp)
}

// wantsRelease: an owner that is idle, or that drains and whose turn has ended.
func (m *model) wantsRelease(s *state, p int) (uint8, bool) {
	me := &s.processes[p]
	idle := me.epoch != 0 && me.turn == 0 && me.stage == 0
	return 0, idle && m.mayRelease(s) && (me.draining || !me.look && s.oldest(waiting, sending) == 0)
}

func (m *model) mayRelease(s *state) bool { return !s.event || m.fault == releaseAnyway }

// release gives the conversation up, unless an event waits for its owner.
func (m *model) release(s *state, t transaction, me *process) bool {
	if m.fault != releaseUnfenced && !m.fence(s, t) || !m.mayRelease(s) {
		return false
	}
	m.wrote(s, t)
	s.owner = nobody
	m.drop(s, me)
	return true
}

// drop removes the conversation from the memory of a process: another one has claimed it, or the result of a transaction is not
// known. A request to the platform that is under way is awaited: until then the process claims nothing.
func (m *model) drop(s *state, me *process) {
	me.epoch = 0
	me.look = false
	me.turn = 0
	me.compared = false
	me.looked = false
	if me.stage == requested {
		if m.fault != dropAwaitsNothing {
			return
		}
		s.message(me.piece).adrift++
	}
	me.piece = 0
	me.stage = 0
}

// wantsEvents: NOTIFY or a poll shows the owner that event rows wait. NOTIFY may be lost, and a poll comes at any time: the model
// has the poll only.
func (m *model) wantsEvents(s *state, p int) (uint8, bool) {
	me := &s.processes[p]
	if m.fault == eventsLast {
		return 0, me.looked && !me.look && me.turn == 0
	}
	return 0, me.epoch != 0 && s.event
}

// readEvents deletes the event rows, and makes the owner look at the inbox afterwards.
func (m *model) readEvents(s *state, t transaction, me *process) bool {
	if !m.fence(s, t) {
		return false
	}
	m.wrote(s, t)
	s.event = false
	me.look = m.fault != eventsLast
	me.looked = false
	return true
}

// seeEvents looks at the inbox first, and leaves the deletion of the event rows for later.
func (m *model) seeEvents(s *state, p int) bool {
	me := &s.processes[p]
	if m.fault != eventsLast || me.epoch == 0 || !s.event || me.looked {
		return false
	}
	me.look = true
	me.looked = true
	return true
}
