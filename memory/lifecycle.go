// The life of a memory: people forget, restore, pin, edit or purge it, or it ends by itself.

package memory

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"cairn/store"
)

// Forget removes a memory from all recall, with those of the same value for which it stands. A value that it superseded by rule is current
// again. The row stays, as forgotten, until it is purged. As for every change, ErrNotFound: there is no such memory, or it is another
// conversation's; a *StateError: its state does not allow it.
func (ms Memories) Forget(ctx context.Context, id int64) error {
	return ms.change(ctx, "forget", id, func(tx *store.Tx, c *store.Conversation, m store.Memory) bool {
		changed := []int64{m.ID}
		for _, same := range covered(tx, m) {
			tx.Memories().Forget(same.ID)
			changed = append(changed, same.ID)
		}
		forgotten := tx.Memories().Forget(m.ID)
		c.Messages(tx).ForgetQuotes(append(changed, settle(c, tx, m)...), false)
		return forgotten
	})
}

// Restore undoes Forget: the memory gets its previous state back. ErrDuplicate: by now another memory says the same.
func (ms Memories) Restore(ctx context.Context, id int64) error {
	return ms.change(ctx, "restore", id, func(tx *store.Tx, c *store.Conversation, m store.Memory) bool {
		restored := tx.Memories().Restore(m.ID)
		if !restored && m.State == "forgotten" {
			tx.Fail(ErrDuplicate)
		}
		settle(c, tx, m)
		return restored
	})
}

// Pin keeps a current memory from expiring and fading, or takes that back.
func (ms Memories) Pin(ctx context.Context, id int64, pinned bool) error {
	return ms.change(ctx, "pin", id, func(tx *store.Tx, c *store.Conversation, m store.Memory) bool {
		changed := tx.Memories().Pin(m.ID, pinned)
		settle(c, tx, m)
		return changed
	})
}

// Purge deletes a memory for good, and what searches found of it. If it superseded a memory, whatever superseded this one
// supersedes that memory now; if nothing did, that memory is current again. The messages it came from stay.
func (ms Memories) Purge(ctx context.Context, id int64) error {
	return ms.change(ctx, "purge", id, func(tx *store.Tx, c *store.Conversation, m store.Memory) bool {
		changed := []int64{}
		for _, same := range covered(tx, m) {
			changed = append(changed, Delete(c, tx, same)...)
		}
		c.Messages(tx).ForgetQuotes(append(changed, Delete(c, tx, m)...), true)
		return true
	})
}

// Edit replaces the text of a current memory; the new text is checked and redacted like that of a new memory. Its sources stay:
// when they are deleted, the memory goes too. What searches found of the old text is deleted. ErrDuplicate: another memory says
// the same. A *ContentError says what is wrong with the text.
func (ms Memories) Edit(ctx context.Context, id int64, content string) error {
	return ms.change(ctx, "edit", id, func(tx *store.Tx, c *store.Conversation, m store.Memory) bool {
		d := draft{Memory: store.Memory{Content: content, Kind: m.Kind, Importance: m.Importance}}
		if err := checkContent(&d); err != nil {
			tx.Fail(&ContentError{err})
		}
		edited := c.Memories(tx).Reword(m, d.Content, factOf(m, d.Content))
		settle(c, tx, m)
		if !edited && (m.State == "active" || m.State == "expired") {
			tx.Fail(ErrDuplicate)
		}
		c.Messages(tx).ForgetQuotes([]int64{id}, true)
		return edited
	})
}

// ContentError says what is wrong with a memory, in words for its author.
type ContentError struct{ error }

// ErrDuplicate means that another memory says the same.
var ErrDuplicate = errors.New("another memory says the same")

// StateError means that a memory cannot be changed in this way because of its state.
type StateError struct {
	ID    int64
	State string
}

func (e *StateError) Error() string { return "it is " + e.State + ", so this changes nothing" }

// change changes a memory: of all conversations, or only the conversation's own. do reports whether the memory's state
// allows the change.
func (ms Memories) change(ctx context.Context, what string, id int64, do func(tx *store.Tx, c *store.Conversation, m store.Memory) bool) error {
	change := ms.store.Update
	if what == "purge" || what == "edit" {
		change = ms.store.Erase // the text leaves the files too
	}
	err := change(ctx, func(tx *store.Tx) {
		m := tx.Memories().Get(id)
		c := tx.Conversation(m.Conversation)
		if ms.c != nil && ms.c.ID() != c.ID() {
			tx.Fail(store.ErrNotFound)
		}
		if !do(tx, c, m) {
			tx.Fail(&StateError{id, m.State})
		}
	})
	return store.Fail(fmt.Sprintf("%s memory %d", what, id), err)
}

// Delete deletes a memory, and returns the memories that no text may quote any more: it, and those that read differently without it.
func Delete(c *store.Conversation, tx *store.Tx, m store.Memory) (changed []int64) {
	freed := tx.Memories().SupersededBy(m.ID)
	c.Memories(tx).Delete(m)
	changed = append(settle(c, tx, m), m.ID)
	for _, was := range freed {
		if was.Slot != m.Slot {
			changed = append(changed, settle(c, tx, was)...)
		}
	}
	return changed
}

// ForgetFrom removes a message from the sources of the memories that lose it; nil: all do. It deletes those without another source and
// those that quote the message, and what a memory states in fields if no other message says that. It returns them, and the memories that
// read differently from then on.
func ForgetFrom(c *store.Conversation, tx *store.Tx, seq int64, lose func(store.Memory) bool) (changed []int64) {
	memories := c.Memories(tx)
	for _, m := range memories.From(seq) {
		if lose != nil && !lose(m) {
			continue
		}
		memories.DropSource(m.ID, seq)
		if len(m.Sources) > 1 && m.By != byExtractive {
			if c.Facts(tx).Lose(m) {
				changed = append(changed, m.ID)
			}
			changed = append(changed, settle(c, tx, m)...)
			continue
		}
		changed = append(changed, Delete(c, tx, m)...)
	}
	return changed
}

// endOf parses the end of something said at a time: a time; a day, at the end of which it ends; or a duration from said. Without
// a zone it is local. An empty text has no end; one in the past is an error.
func endOf(text string, start, now time.Time) (end time.Time, err error) {
	text = strings.TrimSpace(text)
	if text == "" || strings.EqualFold(text, "never") || strings.EqualFold(text, "none") {
		return end, nil
	}
	_, end, isTime := timeOf(text)
	if !isTime {
		length, isLength := lengthOf(text)
		if !isLength {
			return end, fmt.Errorf(`expires is %q: write a day, "2026-05-08", a time, "2026-05-08T15:00Z", `+
				`or how long it holds from when it was said, "36h", "3d" or "2w"`, text)
		}
		end = start.Add(length)
	}
	if year := end.UTC().Year(); year > 9999 {
		return end, fmt.Errorf("expires is %q, which is too far away: leave it out", text)
	}
	if !end.After(now) {
		return end, fmt.Errorf("expires is %q, which has passed: leave it out if it still matters, else save nothing", text)
	}
	return end, nil
}

// timeOf parses a time, a day, a month or a year, and returns its start and end. Without a zone it is local.
func timeOf(text string) (start, end time.Time, ok bool) {
	const month, year = "2006-01", "2006"
	text = strings.Replace(text, " ", "T", 1)
	forms := []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02T15:04 Z07:00", "2006-01-02T15:04", time.DateOnly, month, year}
	for _, form := range forms {
		start, err := time.ParseInLocation(form, text, time.Local)
		switch {
		case err != nil:
		case form == time.DateOnly:
			return start, start.AddDate(0, 0, 1), true
		case form == month:
			return start, start.AddDate(0, 1, 0), true
		case form == year:
			return start, start.AddDate(1, 0, 0), true
		default:
			return start, start, true
		}
	}
	return start, end, false
}

// lengthOf parses a duration of at most 100 years: "36h", "3d", "2w".
func lengthOf(text string) (time.Duration, bool) {
	for unit, hours := range map[string]int{"d": 24, "w": 7 * 24} {
		if n, err := strconv.Atoi(strings.TrimSuffix(text, unit)); err == nil && strings.HasSuffix(text, unit) {
			return time.Duration(n*hours) * time.Hour, n > 0 && n <= 100*365*24/hours
		}
	}
	length, err := time.ParseDuration(text)
	return length, err == nil && length > 0
}

// Ago parses a time in the past: a time; a day, at its start; a duration before now, such as "36h", "7d" or "2w"; or the start of what
// people call a time, such as "yesterday" or "last week".
func Ago(text string, now time.Time) (time.Time, error) {
	text = strings.TrimSpace(text)
	if start, _, ok := timeOf(text); ok {
		return start, nil
	}
	if length, ok := lengthOf(text); ok {
		return now.Add(-length), nil
	}
	if strings.EqualFold(text, "now") {
		return now, nil
	}
	if span, ok := dateIn(text, now); ok {
		return span.From, nil
	}
	return time.Time{}, fmt.Errorf(`invalid time %q: use a day ("2026-05-08"), a time ("2026-05-08T15:00Z"), or how long ago ("36h", "7d", "2w", "yesterday")`, text)
}

// Until parses the end of a period, as Ago parses its start: a day or a month is included as a whole.
func Until(text string, now time.Time) (time.Time, error) {
	text = strings.TrimSpace(text)
	if _, end, ok := timeOf(text); ok {
		return end, nil
	}
	if _, ok := lengthOf(text); !ok {
		if span, ok := dateIn(text, now); ok {
			return span.To, nil
		}
	}
	return Ago(text, now)
}
