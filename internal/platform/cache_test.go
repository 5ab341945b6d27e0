package platform

import (
	"strconv"
	"testing"

	"cairn/internal/check"
)

func TestCacheKeepsTheFirstValue(t *testing.T) {
	var c Cache
	if v, before := c.First("a", "1"); v != "1" || before {
		t.Errorf("First returned %q, %v", v, before)
	}
	if v, before := c.First("a", "2"); v != "1" || !before {
		t.Errorf("First again returned %q, %v", v, before)
	}
	c.Set("a", "3")
	if v, ok := c.Find("a"); v != "3" || !ok {
		t.Errorf("Find returned %q, %v", v, ok)
	}
	if _, ok := c.Find("b"); ok {
		t.Error("Find found what was never set")
	}
	check.That(t, !c.Seen("b") && c.Seen("b"), "Seen is wrong")
}

func TestCacheForgetsTheOldest(t *testing.T) {
	var c Cache
	const n = 3 * maxGeneration
	for i := range n {
		c.Set(strconv.Itoa(i), "")
		if _, ok := c.Find(strconv.Itoa(max(0, i-maxGeneration+1))); !ok {
			t.Fatalf("after %d entries one of the newest %d is gone", i+1, maxGeneration)
		}
	}
	if _, ok := c.Find("0"); ok {
		t.Error("the oldest entry is kept")
	}
	if kept := len(c.young) + len(c.old); kept > 2*maxGeneration {
		t.Errorf("%d entries are kept", kept)
	}
}
