package store_test

import (
	"errors"
	"reflect"
	"testing"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/store"
)

func TestOverrides(t *testing.T) {
	dir := t.TempDir()
	s := storetest.OpenStore(t, dir)
	c, other := storetest.Find(t, s, "terminal:general"), storetest.Find(t, s, "terminal:other")
	fine := func(map[string]string) error { return nil }
	value := func(v string) *string { return &v }
	set := func(key string, v *string) {
		t.Helper()
		check.NoError(t, c.Settings().OverrideAll(ctx, map[string]*string{key: v}, "Ann", fine))
	}
	holds := func(c *store.Conversation, want ...store.Override) {
		t.Helper()
		if got, err := c.Settings().Set(ctx); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s has %+v, %v", c.Name(), got, err)
		}
	}
	set("keep_first", value("0"))
	set("focus", value(""))
	set("enabled", value("true"))
	set("enabled", value("false"))
	set("pin_budget", value("7"))
	set("pin_budget", nil)
	set("notify", nil) // it was not set
	all := []store.Override{{Key: "enabled", Value: "false", By: "Ann"}, {Key: "focus", Value: "", By: "Ann"}, {Key: "keep_first", Value: "0", By: "Ann"}}
	holds(c, all...)
	holds(other)

	t.Run("a refusal changes nothing, and sees all new settings", func(t *testing.T) {
		no := errors.New("no")
		var seen map[string]string
		err := c.Settings().OverrideAll(ctx, map[string]*string{"keep_first": value("99")}, "Bob", func(p map[string]string) error {
			seen = p
			return no
		})
		if want := (map[string]string{"enabled": "false", "focus": "", "keep_first": "99"}); err != no || !reflect.DeepEqual(seen, want) {
			t.Errorf("got %v, seen %v", err, seen)
		}
		holds(c, all...)
	})
}

func TestThreadInheritsOverrides(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	above, thread := storetest.Find(t, s, "discord:1/2"), storetest.Find(t, s, "discord:1/2/3")
	set := func(c *store.Conversation, key, value string) (seen map[string]string) {
		t.Helper()
		to := &value
		if value == "" {
			to = nil
		}
		check.NoError(t, c.Settings().OverrideAll(ctx, map[string]*string{key: to}, "Ann", func(p map[string]string) error { seen = p; return nil }))
		return seen
	}
	holds := func(c *store.Conversation, want ...store.Override) {
		t.Helper()
		if got, err := c.Settings().Set(ctx); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s has %+v, %v, want %+v", c.Name(), got, err, want)
		}
	}
	set(above, "keep_first", "2")
	set(above, "keep_last_n", "9")
	holds(thread, store.Override{Key: "keep_first", Value: "2", By: "Ann", Above: true}, store.Override{Key: "keep_last_n", Value: "9", By: "Ann", Above: true})
	if seen := set(thread, "keep_last_n", "7"); !reflect.DeepEqual(seen, map[string]string{"keep_first": "2", "keep_last_n": "7"}) {
		t.Errorf("got asked %v", seen)
	}
	holds(thread, store.Override{Key: "keep_first", Value: "2", By: "Ann", Above: true}, store.Override{Key: "keep_last_n", Value: "7", By: "Ann"})
	holds(above, store.Override{Key: "keep_first", Value: "2", By: "Ann"}, store.Override{Key: "keep_last_n", Value: "9", By: "Ann"})
	holds(storetest.Find(t, s, "discord:1/3"))    // another channel
	holds(storetest.Find(t, s, "discord:1/2x/3")) // a thread of another channel
	if seen := set(thread, "keep_last_n", ""); !reflect.DeepEqual(seen, map[string]string{"keep_first": "2", "keep_last_n": "9"}) {
		t.Errorf("got asked %v", seen)
	}
	set(above, "keep_first", "")
	holds(thread, store.Override{Key: "keep_last_n", Value: "9", By: "Ann", Above: true})
}
