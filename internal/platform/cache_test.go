package platform

import (
	"strconv"
	"testing"

	"cairn/internal/check"
)

func TestCacheKeepsTheFirstValue(t *testing.T) {
	var c Cache
	is := func(what, value string, ok bool) func(string, bool) {
		return func(v string, found bool) {
			check.That(t, v == value && found == ok, "%s returned %q, %v", what, v, found)
		}
	}
	is("First", "1", false)(c.First("a", "1"))
	is("First again", "1", true)(c.First("a", "2"))
	c.Set("a", "3")
	is("Find", "3", true)(c.Find("a"))
	is("Find of what was never set", "", false)(c.Find("b"))
	check.That(t, !c.Seen("b") && c.Seen("b"), "Seen is wrong")
}

func TestCacheForgetsTheOldest(t *testing.T) {
	var c Cache
	const n = 3 * maxGeneration
	for i := range n {
		c.Set(strconv.Itoa(i), "")
		_, ok := c.Find(strconv.Itoa(max(0, i-maxGeneration+1)))
		check.Require(t, ok, "after %d entries one of the newest %d is gone", i+1, maxGeneration)
	}
	_, ok := c.Find("0")
	check.That(t, !ok, "the oldest entry is kept")
	check.That(t, len(c.young)+len(c.old) <= 2*maxGeneration, "%d entries are kept", len(c.young)+len(c.old))
}
