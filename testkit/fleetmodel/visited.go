// The states that a search has found, in the order in which it found them.

package fleetmodel

const chunk = 1 << 16

// found is a state, and the one that it was found from.
type found struct {
	key    key
	parent uint32
}

// visited is a set of states, as a list, and as a hash table of places in the list: about 30 bytes a state.
type visited struct {
	chunks [][]found
	n      int
	slots  []uint32 // place + 1; 0: free
}

func newVisited() *visited { return &visited{slots: make([]uint32, 1<<12)} }

func (v *visited) at(place int) *found { return &v.chunks[place/chunk][place%chunk] }

// add adds a state, unless it is there.
func (v *visited) add(k key, parent int) bool {
	slot := v.find(k)
	if v.slots[slot] != 0 {
		return false
	}
	if v.n%chunk == 0 {
		v.chunks = append(v.chunks, make([]found, 0, chunk))
	}
	last := &v.chunks[v.n/chunk]
	*last = append(*last, found{k, uint32(parent)})
	v.n++
	v.slots[slot] = uint32(v.n)
	if v.n > len(v.slots)/4*3 {
		v.grow()
	}
	return true
}

// find returns the slot of a state, or the free one where it belongs.
func (v *visited) find(k key) int {
	mask := len(v.slots) - 1
	slot := int(k.hash()) & mask
	for v.slots[slot] != 0 && v.at(int(v.slots[slot]-1)).key != k {
		slot = (slot + 1) & mask
	}
	return slot
}

func (v *visited) grow() {
	v.slots = make([]uint32, 2*len(v.slots))
	for place := range v.n {
		v.slots[v.find(v.at(place).key)] = uint32(place + 1)
	}
}

// hash mixes all bits of a key into the low ones.
func (k key) hash() uint64 {
	h := k[0]*0x9e3779b97f4a7c15 ^ k[1]
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return h ^ h>>32
}

func (v *visited) bytes() int64 {
	const perState = 20
	return int64(len(v.chunks))*chunk*perState + int64(len(v.slots))*4
}
