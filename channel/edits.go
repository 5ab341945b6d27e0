package channel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/compactor"
	"cairn/store"
)

// Edits and deletions are on disk immediately; the loop applies them to the prompt, also during a turn.

// edits is the loop's state of edits and deletions while the connector reads history, which may still have the old messages.
type edits struct {
	reading bool
	during  []store.Delivery // edits and deletions made since
}

// changed has the engine read what has changed on disk, and repair summaries over it. A turn whose question was deleted ends.
// Only the loop calls it.
func (c *conversation) changed() {
	if turn := c.turn.Load(); turn != nil {
		turn.sawChange = true
		turn.outdated = true
		if open, found, err := c.records.Turns().Unanswered(c.hub.ctx); err == nil && (!found || open.Seq != turn.Seq) {
			turn.stop(errDeleted)
		}
	}
	if c.engine == nil {
		return // it reads everything when it is opened
	}
	if c.engine.Changed(c.hub.ctx) != nil {
		c.runs.again = true // the child tries again, and reports why it fails
		return
	}
	c.engine.Check(c.hub.ctx)
}

// changed has a conversation in memory read what has changed on disk.
func (h *Hub) changed(name string) {
	h.post(name, func(c *conversation) {
		c.changed()
		if c.isTask() { // the task may have ended because of that; otherwise it continues with its next part
			c.interrupt()
		}
	})
}

// asksByEdit reports whether a person addresses the bot by an edit, whose time m has, so that it may be answered: at most catchUp
// ago, because a platform may repeat an old edit. Programs stream their messages by edits.
func asksByEdit(rules *access.Rules, name string, m Inbound, catchUp time.Duration) bool {
	return m.Addressed && !m.Bot && !command.Is(m.Text) && rules.Hears(name, m.AuthorID, m.Bot) &&
		rules.RespondIn(name) != access.RespondNever && time.Since(m.Time) <= catchUp
}

// repeatEdits ends the reading of history, and repeats the edits and deletions that were made during it.
func (c *conversation) repeatEdits(ctx context.Context) (err error) {
	var during []store.Delivery
	c.do(func(*compactor.Compactor) {
		during = c.edits.during
		c.edits.during = nil
		c.edits.reading = false
	})
	for _, d := range during {
		err = errors.Join(err, c.change(ctx, d))
	}
	return err
}

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
func (c *conversation) reviewable(ctx context.Context, after string) (known []store.Known, from string, err error) {
	recent, err := c.records.Transcript().Recent(ctx, c.platformNow().Add(-reviewBack), reviewMessages)
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
func (c *conversation) review(ctx context.Context, known []store.Known, page Page, atEnd bool) (left []store.Known, unsure bool, err error) {
	var edited []Inbound
	for _, m := range page.Said {
		if slices.ContainsFunc(known, func(k store.Known) bool { return k.ID == m.ID && m.Edited.After(k.Edited) }) {
			m.Time = m.Edited
			m.Addressed = asksByEdit(c.hub.access.Rules(), c.name, m, c.hub.o.CatchUp)
			edited = append(edited, m)
		}
	}
	for _, m := range c.completed(ctx, edited) {
		if err := c.change(ctx, store.Delivery{Edited: &m}); err != nil {
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
		case slices.Contains(page.Gone, m.ID), missing && !young:
			gone = append(gone, m.ID)
		case missing:
			unsure = true
		case newer(m.ID, page.Last):
			left = append(left, m)
		}
	}
	if len(gone) > 0 {
		c.log.Info("missed_deletions_applied", "messages", len(gone))
		c.tidy = false
		err = c.change(ctx, store.Delivery{Deleted: gone})
	}
	return left, unsure, err
}
