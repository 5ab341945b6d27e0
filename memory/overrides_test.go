package memory

import (
	"errors"
	"reflect"
	"testing"

	"cairn/compactor"
)

func TestOverrides(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	c, other := find(t, s, "terminal:general"), find(t, s, "terminal:other")
	fine := func(compactor.Patch) error { return nil }
	value := func(v string) *string { return &v }
	set := func(key string, v *string) {
		t.Helper()
		if err := c.Override(ctx, key, v, "Ann", fine); err != nil {
			t.Fatal(err)
		}
	}
	holds := func(c *Conversation, want ...Override) {
		t.Helper()
		if got, err := c.Overrides(ctx); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s has %+v, %v", c.Name(), got, err)
		}
	}
	set("keep_first", value("0"))
	set("focus", value(""))
	set("enabled", value("true"))
	set("enabled", value("false"))
	set("pin_budget", value("7"))
	set("pin_budget", nil)
	set("notify", nil) // which was not set
	all := []Override{{"enabled", "false", "Ann"}, {"focus", "", "Ann"}, {"keep_first", "0", "Ann"}}
	holds(c, all...)
	holds(other)

	t.Run("a refusal changes nothing, and sees all that would be set", func(t *testing.T) {
		no := errors.New("no")
		var seen compactor.Patch
		err := c.Override(ctx, "keep_first", value("99"), "Bob", func(p compactor.Patch) error {
			seen = p
			return no
		})
		if want := (compactor.Patch{"enabled": "false", "focus": "", "keep_first": "99"}); err != no || !reflect.DeepEqual(seen, want) {
			t.Errorf("%v, it saw %v", err, seen)
		}
		holds(c, all...)
	})
	t.Run("they outlast the process", func(t *testing.T) {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openStore(t, dir)
		holds(find(t, s, "terminal:general"), all...)
	})
}
