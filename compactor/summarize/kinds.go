// The kinds of memory, and the importance of each.

package summarize

// MemoryKind is a kind of memory.
type MemoryKind struct {
	Name       string
	Importance float64 // 0 to 1, for memories without their own
	HalfLife   int     // days until half of what can fade has faded; 0: it does not fade
}

// MemoryKinds lists all kinds. More important kinds do not fade faster, so age alone never ranks a
// kind above a more important one.
var MemoryKinds = []MemoryKind{
	{"identity", 1.0, 0},
	{"goal", 0.9, 360},
	{"decision", 0.8, 300},
	{"todo", 0.8, 300},
	{"preference", 0.7, 240},
	{"fact", 0.6, 180},
	{"event", 0.4, 60},
	{"observation", 0.3, 30},
}

// importance is the importance by kind; 0 for "".
var importance = func() map[string]float64 {
	worth := make(map[string]float64)
	for _, k := range MemoryKinds {
		worth[k.Name] = k.Importance
	}
	return worth
}()
