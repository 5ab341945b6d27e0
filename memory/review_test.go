package memory

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"cairn/internal/check"
)

func TestRecent(t *testing.T) {
	c := newConversation(t)
	deliver(t, c, said(1, "a"), said(2, "b"), said(3, "c"))
	deliverOnly(t, c, said(5, "waits"))
	edit := said(2, "b, corrected")
	edit.Time = edit.Time.Add(time.Minute)
	if _, _, err := c.Transcript().Edit(ctx, edit); err != nil {
		t.Fatal(err)
	}
	check.Must(PrivacyOf(c).Delete(ctx, []string{"m3"}))(t)
	for name, test := range map[string]struct {
		since, before time.Time
		limit         int
		want          string
	}{
		"what waits and what was taken up, and when it was edited": {day, time.Now().Add(time.Hour), 10, "[m1 m2 edited m5]"},
		"the newest":                {day, time.Now().Add(time.Hour), 2, "[m2 edited m5]"},
		"since a time":              {said(5, "").Time, time.Now().Add(time.Hour), 10, "[m5]"},
		"what was stored by a time": {day, time.Now().Add(-time.Hour), 10, "[]"},
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
		if err != nil || fmt.Sprint(got) != test.want {
			t.Errorf("%s: %v, want %s, %v", name, got, test.want, err)
		}
	}
}
