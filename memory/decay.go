// Worth: how a memory's importance decays with age. It is computed when a memory is read.

package memory

import (
	"math"
	"time"

	"cairn/compactor/summarize"
)

// lasting is the share of its importance that a memory keeps at any age: a question may concern
// something not mentioned for years.
const lasting = 0.25

// Decayed is what the memory is worth at a time, from 0 to its importance. It fades with
// the time since it was said, by half of what can fade in the half-life of its kind,
// which grows with each doubling of how often it was said. Who people are and what is
// pinned does not fade. Of two memories that are alike but for their importance the
// more important one is always worth more. Nothing is written: to read is not to use up.
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
