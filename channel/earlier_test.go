package channel_test

import (
	"strings"
	"testing"
)

func TestWhatWasSummedUpBeforeNewIsListed(t *testing.T) {
	r := newRig(t, echo)
	r.chat(20)
	r.run("/new")
	r.idle()
	if err := r.hub.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	list := r.run("/summaries")
	if !strings.HasPrefix(list, "1 from before the last /new, 0 on the stack, oldest first:\n2. leaf, level 0: #1 to #20, ") {
		t.Errorf("/summaries says %q", list)
	}
	if got := r.run("/expand 2"); strings.Count(got, "\n#") != 20 {
		t.Errorf("/expand says %q", got)
	}
	r.run("/new") // nothing was said: nothing changes
	r.idle()
	if again := r.run("/summaries"); again != list {
		t.Errorf("/summaries says %q", again)
	}
}
