package channel

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/observe"
	"cairn/store"
)

// What a conversation reads before it takes up messages: missed ones, and those from before the bot joined.

const (
	historyPage    = 100             // messages per request
	historyTimeout = 2 * time.Minute // for one page, including waits for rate limits
	historyRetry   = 30 * time.Second
)

// backfill is the child's state of reading missed messages, and when it acts although nothing arrived.
type backfill struct {
	pastDone  bool             // the messages from before the bot joined have been read
	unread    observe.Incident // the history cannot be read
	lookAgain time.Time        // for work; zero: never
	reviewAt  time.Time        // when known messages are compared with the history once more; zero: never
	reviewed  string           // the newest of them
	taskEnds  time.Time        // the time of the task that this conversation is will be over
	tidy      bool             // what an earlier process showed of withdrawn answers has been removed, see removeHalves

	patient      bool        // a message that asks something has to wait until an import is read
	importUnread atomic.Bool // there may be messages of an import that the engine has not read; any goroutine may set it
}

// gather fetches all of that and returns what is due afterwards: messages up to the last before which it has checked
// what to read. A failure is logged and costs only what could not be read; a gap is read later.
func (c *conversation) gather(ctx context.Context) (store.Due, error) {
	if !c.reviewAt.IsZero() && !time.Now().Before(c.reviewAt) {
		if err := c.records.Past().SetGap(ctx, c.reviewed); err != nil {
			return store.Due{}, err
		}
		c.reviewAt = time.Time{}
	}
	due, err := c.records.Inbox().Due(ctx)
	for err == nil {
		historian, reads := c.connector.(Historian)
		reads = reads && (due.Gap || c.early())
		if !reads && !due.Incomplete {
			return due, nil // no connector call was needed, so nothing arrived in the meantime
		}
		ctx := c.withAwaited(ctx, due.Asked)
		if reads {
			err = c.fillGap(ctx, historian)
		}
		if reads && err == nil {
			err = c.readBack(ctx, historian)
		}
		if err == nil {
			err = c.complete(ctx)
		}
		was := due.Last
		if err == nil {
			due, err = c.records.Inbox().Due(ctx)
		}
		if due.Last == was {
			break
		}
	}
	return due, err
}

// fillGap reads messages posted while the bot was away and, before those, known ones that may have changed. If the history lacks
// known ones that are young, it is read once more when they are no longer that.
func (c *conversation) fillGap(ctx context.Context, h Historian) error {
	var known []store.Known // known messages still to be compared
	from := ""
	ended := false  // where that reading continues, and whether the last page was the end
	unsure := false // a page lacked young messages
	for {
		after, open, err := c.records.Past().Gap(ctx) // again for each page: the bot may have been away once more
		if err != nil || !open || time.Now().Before(c.lookAgain) {
			return err
		}
		if after == "" { // the conversation never had a message, so there is no place to continue from
			return c.records.Past().CloseGap(ctx, after)
		}
		if from == "" {
			known, from, err = c.reviewable(ctx, after)
			if err != nil {
				return err
			}
		}
		look := Look{After: after, Missed: after, Limit: historyPage}
		if len(known) > 0 && newer(after, from) {
			look.After = from
		}
		page, err := c.page(ctx, h, look)
		if err == nil && page.More && (page.Last == "" || page.Last == look.After) {
			err = errors.New("the connector says that there is more, and not where") // otherwise this would loop forever
		}
		switch {
		case errors.Is(err, ErrGone):
			c.log.Info("backfill_refused", "error", err)
			return c.records.Past().CloseGap(ctx, after)
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			c.log.Log(c.hub.ctx, c.unread.Begin(), "backfill_failed", "again_in", historyRetry, "error", err)
			c.lookAgain = time.Now().Add(historyRetry)
			return nil
		}
		c.unread.End()
		// A server may return fewer messages than requested: only a second, empty page shows that the rest was deleted.
		atEnd := ended && !page.More && page.There != nil && len(page.There)+len(page.Said) == 0 && page.Last == ""
		left, lacks, err := c.review(ctx, known, page, atEnd)
		if err != nil {
			return err
		}
		known = left
		unsure = unsure || lacks
		done := !page.More && (ended || page.There == nil || len(known) == 0)
		if err := c.fill(ctx, look, page, done); err != nil {
			return err
		}
		if done && unsure {
			c.reviewAt = time.Now().Add(reviewAge)
			c.reviewed = after
		}
		from = cmp.Or(page.Last, from)
		ended = !page.More && !done
	}
}

// rest returns how long there is nothing to look for; 0 or less: until something arrives.
func (b *backfill) rest() time.Duration {
	rest := time.Until(b.lookAgain)
	if !b.reviewAt.IsZero() && (rest <= 0 || b.reviewAt.Before(b.lookAgain)) {
		rest = max(time.Until(b.reviewAt), time.Millisecond)
	}
	return rest
}

// fill stores the missed messages of a page, which may begin before them; done: no page follows.
func (c *conversation) fill(ctx context.Context, look Look, page Page, done bool) error {
	last := cmp.Or(page.Last, look.Missed)
	missed := page.Said
	if look.After != look.Missed {
		missed = slices.DeleteFunc(slices.Clone(missed), func(m Inbound) bool { return !newer(m.ID, look.Missed) })
		last = slices.MaxFunc([]string{last, look.Missed}, compareIDs)
	}
	missed = c.classifyPast(missed)
	fresh, err := c.records.Past().FillGap(ctx, missed, last, done)
	if err != nil {
		return err
	}
	if misser, ok := c.connector.(Misser); ok && fresh > 0 {
		newest := slices.MaxFunc(missed, func(a, b Inbound) int { return a.Time.Compare(b.Time) })
		misser.Missed(c.name, newest.Time)
	}
	return c.repeatEdits(ctx)
}

// Misser is implemented by connectors that want to know when a history had messages that they had not delivered.
type Misser interface {
	// Missed reports that a conversation read such messages, the newest of which has this time.
	Missed(conversation string, newest time.Time)
}

func (c *conversation) page(ctx context.Context, h Historian, look Look) (Page, error) {
	c.do(func(*compactor.Compactor) { c.edits.reading = true })
	return callConnector(ctx, historyTimeout, func(ctx context.Context) (Page, error) { return h.History(ctx, c.name, look) })
}

// early reports whether messages from before the bot joined may still have to be read.
func (c *conversation) early() bool {
	return !c.pastDone && c.next() <= historyPage // otherwise more has been overheard since
}

// readBack reads what people wrote before the bot was first addressed here, as context.
func (c *conversation) readBack(ctx context.Context, h Historian) error {
	if !c.early() {
		return nil
	}
	done, first, err := c.records.Past().ReadBack(ctx)
	if err != nil || done || first == "" {
		c.pastDone = done
		return err
	}
	page, err := c.page(ctx, h, Look{Before: first, Limit: historyPage})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && !errors.Is(err, ErrGone):
		c.log.Log(c.hub.ctx, c.unread.Begin(), "read_earlier_history_failed", "error", err) // retried at the next message
		return nil
	}
	c.unread.End()
	past, late := c.unanswered(page.Said)
	tries, err := c.records.Inbox().TryPast(ctx)
	if err != nil {
		return err
	}
	for i := range past {
		past[i].Tries = tries
	}
	if err := c.records.Past().Backfill(ctx, append(c.fitting(c.completed(ctx, past)), late...)); err != nil {
		return err
	}
	c.pastDone = true
	return c.repeatEdits(ctx)
}

// Timekeeper is implemented by connectors whose platform has a clock of its own, by which messages have their times.
type Timekeeper interface {
	// PlatformTime returns what the platform's clock shows when this machine's shows host.
	PlatformTime(host time.Time) time.Time
}

// platformNow returns the time with which to compare those of messages: this machine's clock may be wrong.
func (c *conversation) platformNow() time.Time {
	now := time.Now()
	if keeper, ok := c.connector.(Timekeeper); ok {
		return keeper.PlatformTime(now)
	}
	return now
}

// unanswered splits earlier messages at the first that may still need an answer: its event may arrive late.
func (c *conversation) unanswered(said []Inbound) (past, late []Inbound) {
	for i, m := range said {
		if m.Addressed && !m.Bot && c.platformNow().Sub(m.Time) <= c.hub.o.CatchUp {
			return said[:i], c.classifyPast(said[i:])
		}
	}
	return said, nil
}

// classifyPast applies the rules to past messages, and leaves out those of authors the bot does not listen to.
func (c *conversation) classifyPast(said []Inbound) (heard []Inbound) {
	for _, m := range said {
		if m.ID == "" || !c.hub.access.Rules().Hears(c.name, m.AuthorID, m.Bot) {
			continue
		}
		c.hub.access.Rules().Classify(c.name, &m)
		if c.platformNow().Sub(m.Time) > c.hub.o.CatchUp {
			m.Addressed = false
			m.Thread = false // too old to be answered
		}
		heard = append(heard, m)
	}
	return heard
}

// shownTokens estimates what a message costs in the prompt, as the row seq.
func shownTokens(m Inbound, seq int64) int {
	return chat.TokensOf(chat.Message{
		Role: "user", Seq: seq, Author: m.Author, Text: m.Text, Attachments: m.Attachments,
		ReplyTo: m.ReplyTo, Quote: m.Quote, Time: m.Time,
	})
}

// fitting returns the newest messages that fit a burst, without those of authors the bot ignores.
func (c *conversation) fitting(said []Inbound) []Inbound {
	budget := c.burst()
	var fit []Inbound
	for _, m := range slices.Backward(said) {
		if m.ID == "" || !c.hub.access.Rules().Hears(c.name, m.AuthorID, m.Bot) {
			continue
		}
		if budget -= shownTokens(m, 0); budget < 0 {
			break
		}
		m.Addressed = false
		m.Thread = false
		fit = append(fit, m)
	}
	slices.Reverse(fit)
	return fit
}
