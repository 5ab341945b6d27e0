package store_test

import (
	"fmt"
	"reflect"
	"testing"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/store"
)

func TestPins(t *testing.T) {
	c := storetest.Imported(t, 10)
	pin := func(seq int64, want bool) {
		t.Helper()
		version := storetest.Load(t, c).Head.Version
		fresh, err := c.Transcript().Pin(ctx, seq, "Ann")
		check.NoError(t, err)
		check.Equal(t, fmt.Sprintf("pin %d", seq), fresh, want)
		check.Equal(t, fmt.Sprintf("pin %d: version raised", seq), storetest.Load(t, c).Head.Version > version, want)
	}
	pins := func() (list []int64) {
		for _, p := range storetest.Load(t, c).Head.Pins {
			if p.By != "Ann" || p.Text == "" {
				t.Errorf("got pinned %+v", p)
			}
			list = append(list, p.Seq)
		}
		return list
	}
	pin(7, true)
	pin(2, true)
	pin(7, false)
	storetest.Run(t, c.Store(), "UPDATE pins SET made_at = 1 WHERE seq = 7")
	if got := pins(); !reflect.DeepEqual(got, []int64{7, 2}) {
		t.Errorf("got pinned %v", got)
	}
	check.Error(t, check.ErrorOf(c.Transcript().Pin(ctx, 99, "Ann")), store.ErrNotFound)
	t.Run("an edit reaches a pin", func(t *testing.T) {
		storetest.Edit(t, c, 7, "other words")
		check.Equal(t, "pinned", storetest.Load(t, c).Head.Pins[0].Text, "other words")
	})
	t.Run("a pin survives the session", func(t *testing.T) {
		storetest.Run(t, c.Store(), "UPDATE conversations SET session_start = 5")
		head := storetest.Load(t, c).Head
		if len(head.Pins) != 2 || head.Pins[0].Earlier || !head.Pins[1].Earlier {
			t.Errorf("got pinned %+v", head.Pins)
		}
		storetest.Run(t, c.Store(), "UPDATE conversations SET session_start = 1")
	})
	t.Run("a deleted message is unpinned", func(t *testing.T) {
		storetest.Remove(t, c, 7)
		if got := pins(); !reflect.DeepEqual(got, []int64{2}) {
			t.Errorf("got pinned %v", got)
		}
		check.Error(t, check.ErrorOf(c.Transcript().Pin(ctx, 7, "Ann")), store.ErrNotFound)
	})
	t.Run("pins belong to their conversation", func(t *testing.T) {
		other := storetest.Find(t, c.Store(), "terminal:other")
		storetest.Deliver(t, other, storetest.Said(1, "hello"), storetest.Said(2, "hello again"))
		check.Error(t, other.Transcript().Unpin(ctx, 2), store.ErrNotFound)
		check.Equal(t, "pinned", len(storetest.Load(t, other).Head.Pins), 0)
	})
	if err := c.Transcript().Unpin(ctx, 2); err != nil || pins() != nil {
		t.Errorf("unpin: %v, got left %v", err, pins())
	}
	check.Error(t, c.Transcript().Unpin(ctx, 2), store.ErrNotFound)
}
