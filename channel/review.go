package channel

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"cairn/memory"
)

// What people edited or deleted while the bot was away: a gap is read from a little before
// its begin on, and what the platform has there is compared with what is stored.

const (
	reviewMessages = historyPage / 2    // before the gap, so that there is room for what was missed
	reviewBack     = 7 * 24 * time.Hour // older ones may be gone because the platform keeps no more
	reviewAge      = time.Minute        // since they were stored: a history may lack what was said just now
)

// newer compares ids as the platforms count them.
func newer(a, b string) bool { return compareIDs(a, b) > 0 }

func compareIDs(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

// isPlatformID tells whether an id is one that a platform counts up: what was imported may
// have others, which no history has.
func isPlatformID(id string) bool { return id != "" && strings.Trim(id, "0123456789.") == "" }

// reviewable returns the messages to compare with a history, and the id from which on to
// read it, which is not after the begin of the gap.
func (c *conversation) reviewable(ctx context.Context, after string) (known []memory.Known, from string, err error) {
	now := time.Now()
	recent, err := c.records.Recent(ctx, now.Add(-reviewBack), now.Add(-reviewAge), reviewMessages)
	if err != nil {
		return nil, "", err
	}
	from = after
	for _, m := range recent {
		if isPlatformID(m.ID) {
			known = append(known, m)
			if newer(from, m.ID) {
				from = m.ID
			}
		}
	}
	return known, from, nil
}

// review brings into the conversation what a page of its history has otherwise.
func (c *conversation) review(ctx context.Context, h Historian, known []memory.Known, page Page) error {
	var edited []Inbound
	for _, m := range page.Said {
		i := slices.IndexFunc(known, func(k memory.Known) bool { return k.ID == m.ID })
		if i >= 0 && m.Edited.After(known[i].Edited) {
			m.Time = m.Edited
			edited = append(edited, m)
		}
	}
	for _, m := range c.completed(ctx, edited) {
		if err := c.edit(ctx, m); err != nil {
			return err
		}
	}
	gone := c.missing(ctx, h, known, page)
	if len(gone) == 0 {
		return nil
	}
	c.log.Info("messages deleted while away were deleted", "messages", len(gone))
	return c.delete(ctx, gone)
}

// missing returns the ids of those messages that the page would have if they were there:
// those between two of its messages, and those behind its last one if a second look finds
// nothing there. A server may give fewer messages than it is asked for.
func (c *conversation) missing(ctx context.Context, h Historian, known []memory.Known, page Page) (gone []string) {
	if len(page.There) == 0 {
		return nil
	}
	there, toTheEnd := page.There, false
	behind := func(m memory.Known) bool { return newer(m.ID, page.Last) }
	if !page.More && slices.ContainsFunc(known, behind) {
		rest, err := c.page(ctx, h, Look{After: page.Last, Missed: page.Last, Limit: historyPage})
		toTheEnd = err == nil && !rest.More && len(rest.There) == 0 && len(rest.Said) == 0 && rest.Last == ""
		there = slices.Concat(there, rest.There)
	}
	oldest, newest := slices.MinFunc(there, compareIDs), slices.MaxFunc(there, compareIDs)
	for _, m := range known {
		between := newer(m.ID, oldest) && (toTheEnd || newer(newest, m.ID))
		if between && !slices.Contains(there, m.ID) || slices.Contains(page.Gone, m.ID) {
			gone = append(gone, m.ID)
		}
	}
	return gone
}
