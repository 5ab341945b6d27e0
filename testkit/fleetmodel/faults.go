// What goes wrong, each so often as the bounds allow.

package fleetmodel

const (
	crashes = iota
	pauses
	jumps
	lost
	slow
	drains // no fault, but as rare
	faultKinds
)

func (s *state) spend(kind int) bool {
	if s.left[kind] == 0 {
		return false
	}
	s.left[kind]--
	return true
}

// crash kills a process: kill -9, at any step. A new one may start at once.
func (m *model) crash(s *state, p int) bool {
	me := &s.processes[p]
	if me.row == absent || !s.spend(crashes) {
		return false
	}
	if me.stage == requested {
		s.message(me.piece).adrift++
		s.message(me.piece).excused = true
	}
	by := killed
	if me.row == over {
		by = ended
	}
	s.replace(p, by)
	*me = process{}
	return true
}

// pause lets the lease of a process expire: it was stopped (SIGSTOP), or cut off from the database, for longer than the lease. It
// goes on from where it was, with its old memory: every other process may take any number of steps between two of its own, also
// without a pause.
func (m *model) pause(s *state, p int) bool {
	me := &s.processes[p]
	if me.row != leased || !s.spend(pauses) {
		return false
	}
	me.passed = true
	s.expire(me)
	return true
}

// jump moves the clock of the database forward: the lease has expired there, and the process does not notice. (A jump back makes
// leases last longer, which changes the order of no steps.)
func (m *model) jump(s *state, p int) bool {
	me := &s.processes[p]
	if me.row != leased || !s.spend(jumps) {
		return false
	}
	s.expire(me)
	return true
}

func (s *state) expire(me *process) {
	me.row = expired
	if me.stage == checked || me.stage == requested {
		s.message(me.piece).excused = true
	}
}

// lose loses the answer of a transaction: the connection broke, or the server failed over. The process cannot know whether it was
// executed. It drops the conversation and claims it again: the new epoch refuses the transaction if it comes later still. At
// most one transaction at a time is under way like that.
func (m *model) lose(s *state, p int, t transaction) bool {
	if s.late.kind != 0 || !s.spend(lost) {
		return false
	}
	s.late = t
	me := &s.processes[p]
	switch {
	case m.fault == finishRepeated && t.kind == finishing: // as if it had failed
	case m.fault == reloadOnly && t.epoch != 0:
		m.load(s, me)
		if me.stage == accepted {
			me.piece = 0
			me.stage = 0
		}
	default:
		m.drop(s, me)
	}
	return true
}

// land executes a late transaction, with its fence.
func (m *model) land(s *state) bool {
	t := s.late
	if t.kind == 0 {
		return false
	}
	s.late = transaction{}
	transactions[t.kind].run(m, s, t, new(process))
	return true
}

// vanish removes a late transaction: it was never executed.
func (m *model) vanish(s *state) bool {
	if s.late.kind == 0 {
		return false
	}
	s.late = transaction{}
	return true
}
