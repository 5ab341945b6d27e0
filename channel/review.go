package channel

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cairn/store"
)

// Edits and deletions made while the bot was disconnected: history from a little before a gap is compared.

const (
	reviewMessages = historyPage / 2    // before the gap, so that there is room for what was missed
	reviewBack     = 7 * 24 * time.Hour // older ones may be gone because the platform no longer keeps them
	reviewAge      = time.Minute        // since they were stored, before they are deleted: a history may lack the newest messages
)

// newer compares ids in the platforms' order.
func newer(a, b string) bool { return compareIDs(a, b) > 0 }

func compareIDs(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

// isPlatformID reports whether a platform counts up such ids; imported messages may have others.
func isPlatformID(id string) bool { return id != "" && strings.Trim(id, "0123456789.") == "" }

// idBefore returns the id right before another one: reading after it starts with the other.
func idBefore(id string) string {
	whole, fraction, _ := strings.Cut(id, ".")
	number, err := strconv.ParseUint(whole+fraction, 10, 64)
	if err != nil || number == 0 {
		return id // nothing is before it
	}
	before := fmt.Sprintf("%0*d", len(fraction)+1, number-1)
	point := len(before) - len(fraction)
	if fraction != "" {
		return before[:point] + "." + before[point:]
	}
	return before
}

// reviewable returns the messages to compare with a history, and the id after which to read them.
func (b *backfill) reviewable(ctx context.Context, after string) (known []store.Known, from string, err error) {
	recent, err := b.records.Transcript().Recent(ctx, platformNow(b.connector).Add(-reviewBack), reviewMessages)
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

// review applies to the conversation how known messages differ from a history page, and returns those behind it, and whether
// the page lacks some that are too young to be deleted. atEnd: no message is behind it, so those are deleted, too.
func (b *backfill) review(ctx context.Context, known []store.Known, page Page, atEnd bool) (left []store.Known, unsure bool, err error) {
	var edited []Inbound
	for _, m := range page.Messages {
		if slices.ContainsFunc(known, func(k store.Known) bool { return k.ID == m.ID && m.Edited.After(k.Edited) }) {
			m.Time = m.Edited
			m.Addressed = asksByEdit(b.access.Rules(), b.name, m, b.catchUp)
			edited = append(edited, m)
		}
	}
	for _, m := range b.completed(ctx, edited) {
		if err := b.edits.write(ctx, change{edited: &m}); err != nil {
			return nil, false, err
		}
	}
	newest := page.Last
	if len(page.There) > 0 {
		newest = slices.MaxFunc(page.There, compareIDs)
	}
	var gone []string
	for _, m := range known {
		covered := page.There != nil && (atEnd || newer(newest, m.ID))
		young := time.Since(m.Saved).Abs() < reviewAge // a clock that was set back makes no message young
		switch missing := covered && !slices.Contains(page.There, m.ID); {
		case missing && page.TopOnly && m.Reply: // it may be in a thread
		case slices.Contains(page.Gone, m.ID), missing && !young:
			gone = append(gone, m.ID)
		case missing:
			unsure = true
		case newer(m.ID, page.Last):
			left = append(left, m)
		}
	}
	if len(gone) > 0 {
		b.log.Info("missed_deletions_applied", "messages", len(gone))
		b.tidy = false
		err = b.edits.write(ctx, change{deleted: gone})
	}
	return left, unsure, err
}

// withdrawnLately is how long after the deletion of a question what was shown of its answer is still looked for: the next start
// may be the first that can.
const withdrawnLately = time.Hour

// removeHalves removes what an earlier process showed of answers to questions that were deleted since, and that it was killed before
// it could remove itself.
func (b *backfill) removeHalves(ctx context.Context) error {
	_, keeps := b.connector.(Historian) // what was shown stays after the process has ended
	if b.tidy || !keeps {
		return nil
	}
	withdrawn, err := b.records.Turns().Withdrawn(ctx, time.Now().Add(-withdrawnLately))
	if err != nil {
		return err
	}
	for _, question := range withdrawn {
		if !isPlatformID(question) {
			continue
		}
		err := callConnector(ctx, historyTimeout, func(context.Context) error {
			b.connector.Reply(b.name, []string{question}).Cancel()
			return nil
		})
		if err != nil {
			b.log.Error("remove_half_failed", "error", err)
		}
	}
	b.tidy = true
	return nil
}
