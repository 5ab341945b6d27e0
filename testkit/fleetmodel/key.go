// A state as 16 bytes, in a form that equal states share: which process is which, and what the numbers of epochs are, makes no
// difference.

package fleetmodel

import "slices"

// key is a packed state. The first word has the processes, the largest first; the second one the rest.
type key [2]uint64

// bits of a process in the key.
const processBits = 21

// packer packs and unpacks numbers of few bits.
type packer struct {
	word uint64
	at   int
}

func (k *packer) put(value uint8, bits int) {
	k.word |= uint64(value) << k.at
	k.at += bits
}

func (k *packer) flag(value bool) {
	if value {
		k.put(1, 1)
		return
	}
	k.at++
}

func (k *packer) get(bits int) uint8 {
	value := uint8(k.word >> k.at & (1<<bits - 1))
	k.at += bits
	return value
}

func (k *packer) got() bool { return k.get(1) == 1 }

// ranks are the epochs that a state mentions, in order. Steps compare epochs, and take the one after the row's: their ranks are as
// good as the numbers.
type ranks struct {
	seen [MaxProcesses + 3]uint8 // the first is 0
	n    int
}

func ranksOf(s *state) (r ranks) {
	r.n = 1
	r.add(s.epoch)
	r.add(s.late.epoch)
	for i := range s.processes {
		r.add(s.processes[i].epoch)
	}
	return r
}

func (r *ranks) add(epoch uint8) {
	at := 0
	for at < r.n && r.seen[at] < epoch {
		at++
	}
	if at < r.n && r.seen[at] == epoch {
		return
	}
	copy(r.seen[at+1:r.n+1], r.seen[at:r.n])
	r.seen[at] = epoch
	r.n++
}

func (r *ranks) of(epoch uint8) uint8 {
	for i, seen := range r.seen[:r.n] {
		if seen == epoch {
			return uint8(i)
		}
	}
	panic("an epoch that was not added")
}

// pack returns the key of a state.
func (s *state) pack() key {
	r := ranksOf(s)
	var packed [MaxProcesses]uint64
	for i := range s.processes {
		packed[i] = s.packProcess(i, &r)
	}
	slices.Sort(packed[:])
	var k key
	for i, one := range packed { // those that do not run come last
		k[0] |= one << ((MaxProcesses - 1 - i) * processBits)
	}
	var rest packer
	rest.put(uint8(min(s.owner, running)), 2)
	rest.put(r.of(s.epoch), 3)
	rest.flag(s.event)
	for i := range s.messages {
		of := &s.messages[i]
		rest.put(uint8(of.at), 3)
		rest.flag(of.acknowledged)
		rest.put(of.shown, 2)
		rest.put(of.adrift, 3)
		rest.flag(of.excused)
	}
	rest.put(uint8(s.late.kind), 3)
	rest.put(uint8(min(s.late.by, running)), 2)
	rest.put(r.of(s.late.epoch), 3)
	rest.put(s.late.message, 2)
	for _, left := range s.left {
		rest.put(left, 3)
	}
	k[1] = rest.word
	return k
}

func (s *state) packProcess(i int, r *ranks) uint64 {
	of := &s.processes[i]
	var k packer
	k.put(uint8(of.row), 2)
	k.flag(of.passed)
	k.flag(of.draining)
	k.flag(s.owner == ownerOf(i))
	k.flag(s.late.by == ownerOf(i))
	k.put(r.of(of.epoch), 3)
	k.flag(of.look)
	k.put(of.turn, 2)
	k.put(of.piece, 2)
	k.put(uint8(of.stage), 3)
	k.flag(of.compared)
	k.flag(of.looked)
	k.put(of.received, 2)
	return k.word
}

// unpack returns a state with that key.
func (k key) unpack() (s state) {
	rest := packer{word: k[1]}
	s.owner = owner(rest.get(2))
	s.epoch = rest.get(3)
	s.event = rest.got()
	for i := range s.messages {
		s.messages[i] = message{
			at: place(rest.get(3)), acknowledged: rest.got(), shown: rest.get(2), adrift: rest.get(3), excused: rest.got(),
		}
	}
	s.late = transaction{kind: kind(rest.get(3)), by: owner(rest.get(2)), epoch: rest.get(3), message: rest.get(2)}
	for i := range s.left {
		s.left[i] = rest.get(3)
	}
	for i := range s.processes {
		s.unpackProcess(i, packer{word: k[0] >> (i * processBits)})
	}
	return s
}

func (s *state) unpackProcess(i int, k packer) {
	of := &s.processes[i]
	of.row = row(k.get(2))
	of.passed = k.got()
	of.draining = k.got()
	if k.got() {
		s.owner = ownerOf(i)
	}
	if k.got() {
		s.late.by = ownerOf(i)
	}
	of.epoch = k.get(3)
	of.look = k.got()
	of.turn = k.get(2)
	of.piece = k.get(2)
	of.stage = stage(k.get(3))
	of.compared = k.got()
	of.looked = k.got()
	of.received = k.get(2)
}
