package channel

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"cairn/store"
)

// Detects edits and deletions made while the bot was disconnected: a gap is read from a little
// before its start, and the platform's messages there are compared with the stored ones.

const (
	reviewMessages = historyPage / 2    // before the gap, so that there is room for what was missed
	reviewBack     = 7 * 24 * time.Hour // older ones may be gone because the platform no longer keeps them
	reviewAge      = time.Minute        // since they were stored: a history may lack the newest messages
)

// newer compares ids in the platforms' order.
func newer(a, b string) bool { return compareIDs(a, b) > 0 }

func compareIDs(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

// isPlatformID reports whether an id is one that a platform counts up: imported messages may have
// other ids, which no history has.
func isPlatformID(id string) bool { return id != "" && strings.Trim(id, "0123456789.") == "" }

// idBefore returns the id right before another one, in the platforms' order: reading after it
// starts with the other.
func idBefore(id string) string {
	digits := []byte(id)
	for i := len(digits) - 1; i >= 0; i-- {
		switch {
		case digits[i] == '.':
		case digits[i] > '0':
			digits[i]--
			return strings.TrimLeft(string(digits[:1]), "0") + string(digits[1:])
		default:
			digits[i] = '9'
		}
	}
	return id // nothing is before it
}

// reviewable returns the messages to compare with a history, and the id after which to read them.
func (c *conversation) reviewable(ctx context.Context, after string) (known []store.Known, from string, err error) {
	now := time.Now()
	recent, err := c.records.Transcript().Recent(ctx, now.Add(-reviewBack), now.Add(-reviewAge), reviewMessages)
	if err != nil {
		return nil, "", err
	}
	from = after
	for _, m := range recent {
		if isPlatformID(m.ID) {
			known = append(known, m)
			if !newer(m.ID, from) {
				from = idBefore(m.ID)
			}
		}
	}
	return known, from, nil
}

// review applies the differences of a history page to the conversation.
func (c *conversation) review(ctx context.Context, h Historian, known []store.Known, look Look, page Page) error {
	var edited []Inbound
	for _, m := range page.Said {
		i := slices.IndexFunc(known, func(k store.Known) bool { return k.ID == m.ID })
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
	gone := c.missing(ctx, h, known, look, page)
	if len(gone) == 0 {
		return nil
	}
	c.log.Info("missed_deletions_applied", "messages", len(gone))
	return c.delete(ctx, gone)
}

// missing returns the ids of known messages that the page lacks although it would contain them if
// they still existed: those up to its last message, and those after it if a second request finds
// nothing there. A server may return fewer messages than requested.
func (c *conversation) missing(ctx context.Context, h Historian, known []store.Known, look Look, page Page) (gone []string) {
	if page.There == nil {
		return nil
	}
	there, toTheEnd := page.There, false
	if !page.More && slices.ContainsFunc(known, func(m store.Known) bool { return newer(m.ID, page.Last) }) {
		look.After = cmp.Or(page.Last, look.After)
		rest, err := c.page(ctx, h, look)
		toTheEnd = err == nil && !rest.More && rest.There != nil && len(rest.There) == 0 && len(rest.Said) == 0 && rest.Last == ""
		there = slices.Concat(there, rest.There)
	}
	newest := page.Last
	if len(there) > 0 {
		newest = slices.MaxFunc(there, compareIDs)
	}
	for _, m := range known {
		covered := toTheEnd || newer(newest, m.ID)
		if covered && !slices.Contains(there, m.ID) || slices.Contains(page.Gone, m.ID) {
			gone = append(gone, m.ID)
		}
	}
	return gone
}
