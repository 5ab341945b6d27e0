// The table of processes: who runs, who has a lease, and who was ended.

package fleetmodel

// start begins a process, with a new row. The others must not depend on it.
func (m *model) start(s *state, p int) bool {
	if s.processes[p].row != absent {
		return false
	}
	s.processes[p].row = leased
	return true
}

// startOnly is start while no other process runs.
func (m *model) startOnly(s *state, p int) bool {
	for i := range s.processes {
		if s.processes[i].row != absent {
			return false
		}
	}
	return m.start(s, p)
}

// renew renews the lease of a process: UPDATE … SET lease_until = now + lease WHERE id = me AND NOT ended. While the lease is
// valid, that changes nothing here.
func (m *model) renew(s *state, p int) bool {
	me := &s.processes[p]
	if me.row != expired && (me.row != over || m.fault != renewRevives) {
		return false
	}
	me.row = leased
	me.passed = false
	return true
}

// register is what a process does whose renewal has changed no row, because it was ended: it stops everything, and takes a new
// row, which owns nothing.
func (m *model) register(s *state, p int) bool {
	me := &s.processes[p]
	if me.row != over {
		return false
	}
	m.drop(s, me)
	s.replace(p, ended)
	me.row = leased
	me.passed = false
	return true
}

// end ends a process whose lease has expired: UPDATE … SET ended WHERE id = p AND NOT ended AND lease_until < now. Anybody may do
// that. It is for ever.
func (m *model) end(s *state, p int) bool {
	if s.processes[p].row != expired {
		return false
	}
	s.processes[p].row = over
	return true
}

// endKilled is end for the owner that was killed: its lease expires some day, because nobody renews it. (A late claim by such a
// process remains possible, which is more than the store allows.)
func (m *model) endKilled(s *state) bool {
	if s.owner != killed {
		return false
	}
	s.owner = ended
	return true
}

// drain makes a process claim nothing any more, and release what it has; see release.
func (m *model) drain(s *state, p int) bool {
	me := &s.processes[p]
	if me.row == absent || me.draining || !s.spend(drains) {
		return false
	}
	me.draining = true
	return true
}

// stop ends a process that has drained: it ends its own row.
func (m *model) stop(s *state, p int) bool {
	me := &s.processes[p]
	if !me.draining || me.epoch != 0 || me.stage != 0 {
		return false
	}
	s.replace(p, ended)
	*me = process{}
	return true
}
