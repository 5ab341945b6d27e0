package discord

import (
	"strings"
	"testing"
)

// A connection that ends as soon as it stands: the library's heartbeat of it may begin
// when the next one is being made, and must do it no harm.
func TestAHeartbeatThatIsLateHarmsNoOtherConnection(t *testing.T) {
	t.Parallel()
	g := newHastyGate(t, func(g *gate, op int) (string, int) {
		if op == 2 {
			return ready(g.address("/again")), 4000
		}
		return resumed, 4000
	})
	s := sessionWith(t, g.address("/ws"))
	for i := range 4 {
		if e := s.connect(t.Context()); e.code != 4000 || !s.established() {
			t.Errorf("connection %d ended with %+v, established %v", i, e, s.established())
		}
		s.mu.Lock()
		s.back = []string{"", g.address("/elsewhere")}[i%2] // the library writes down each new address
		s.mu.Unlock()
	}
	if got := strings.Join(g.came(), " "); strings.Count(got, "RESUME") != 3 {
		t.Errorf("it came with %s", got)
	}
}
