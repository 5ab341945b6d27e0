package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/privacy"
)

func TestRecent(t *testing.T) {
	c := storetest.NewConversation(t)
	storetest.Deliver(t, c, storetest.Said(1, "a"), storetest.Said(2, "b"), storetest.Said(3, "c"))
	storetest.DeliverOnly(t, c, storetest.Said(5, "waits"))
	edit := storetest.Said(2, "b, corrected")
	edit.Time = edit.Time.Add(time.Minute)
	if _, _, err := c.Transcript().Edit(ctx, edit, nil); err != nil {
		t.Fatal(err)
	}
	check.Must(privacy.Of(c).Delete(ctx, []string{"m3"}))(t)
	for name, test := range map[string]struct {
		since, before time.Time
		limit         int
		want          string
	}{
		"what waits and what was taken up, and when it was edited": {storetest.Day, time.Now().Add(time.Hour), 10, "[m1 m2 edited m5]"},
		"the newest":                {storetest.Day, time.Now().Add(time.Hour), 2, "[m2 edited m5]"},
		"since a time":              {storetest.Said(5, "").Time, time.Now().Add(time.Hour), 10, "[m5]"},
		"what was stored by a time": {storetest.Day, time.Now().Add(-time.Hour), 10, "[]"},
	} {
		recent, err := c.Transcript().Recent(ctx, test.since, test.before, test.limit)
		got := []string{}
		for _, m := range recent {
			text := m.ID
			if m.Edited.Equal(edit.Time) {
				text += " edited"
			}
			got = append(got, text)
		}
		slices.Sort(got)
		check.NoError(t, err)
		check.Equal(t, name+": fmt.Sprint(got)", fmt.Sprint(got), test.want)
	}
}
