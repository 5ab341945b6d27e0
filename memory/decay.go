// Decay: how a memory's importance decreases with age. It is computed when a memory is read.

package memory

import (
	"math"
	"time"

	"cairn/compactor/summarize"
)

// lasting is the share of its importance that a memory keeps at any age: a question may be about
// something not mentioned for years.
const lasting = 0.25

// Decayed returns the importance of the memory at a time, at most Importance. It decreases with the
// time since the memory was said: half of what can fade is gone after the half-life of its kind,
// which grows with each doubling of Confirmed. Identities and pinned memories do not fade. Of two
// memories that differ only in importance, the more important one always ranks higher. Reading a
// memory does not change it.
func (m Memory) Decayed(now time.Time) float64 {
	i, err := kindIndex(m.Kind)
	if err != nil || m.Pinned {
		return m.Importance
	}
	halfLife := float64(summarize.MemoryKinds[i].HalfLife) * (1 + math.Log2(float64(max(m.Confirmed, 1))))
	if halfLife == 0 {
		return m.Importance
	}
	age := max(now.Sub(m.SaidAt).Hours()/24, 0)
	return m.Importance * (lasting + (1-lasting)*math.Exp2(-age/halfLife))
}
