package channel

import (
	"cmp"
	"context"
	"errors"
	"slices"
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

// backfill reads the history of a conversation into its inbox and transcript. Only the child calls its methods, and the loop while no
// child runs.
type backfill struct {
	*site
	catchUp  time.Duration // after that, a message is too old to be answered; 0: never
	edits    *edits
	loop     *loop
	arrivals *arrivals

	pastDone bool             // the messages from before the bot joined have been read
	unread   observe.Incident // the history cannot be read
	retryAt  time.Time        // when the history is read again after a failure; zero: it did not fail
	reviewAt time.Time        // when known messages are compared with the history once more; zero: never
	reviewed string           // the newest of them
	tidy     bool             // what an earlier process showed of withdrawn answers has been removed, see removeHalves
}

// stale returns the time before which messages are too old to be answered.
func (b *backfill) stale() time.Time {
	if b.catchUp == 0 {
		return time.Time{}
	}
	return time.Now().Add(-b.catchUp)
}

// gather reads missed messages, completes those that wait, and returns what is due afterwards: messages up to the last before which
// it has checked what to read. burst is how many estimated tokens the messages of one turn may take. A failure is logged and costs
// only what could not be read; a gap is read later.
func (b *backfill) gather(ctx context.Context, burst int) (store.Due, error) {
	if !b.reviewAt.IsZero() && !time.Now().Before(b.reviewAt) {
		if err := b.records.Past().SetGap(ctx, b.reviewed); err != nil {
			return store.Due{}, err
		}
		b.reviewAt = time.Time{}
	}
	due, err := b.records.Inbox().Due(ctx)
	for err == nil {
		historian, reads := b.connector.(Historian)
		reads = reads && (due.Gap || b.early())
		if !reads && !due.Incomplete {
			return due, nil // no connector call was needed, so nothing arrived in the meantime
		}
		ctx := b.awaiting(ctx, due.Addressed)
		if reads {
			err = b.fillGap(ctx, historian)
		}
		if reads && err == nil {
			err = b.readBack(ctx, historian, burst)
		}
		if err == nil {
			err = b.complete(ctx)
		}
		was := due.Last
		if err == nil {
			due, err = b.records.Inbox().Due(ctx)
		}
		if due.Last == was {
			break
		}
	}
	return due, err
}

// awaiting returns a context for calls of the connector, see Awaited. due: a message waits for an answer already.
func (b *backfill) awaiting(ctx context.Context, due bool) context.Context {
	return context.WithValue(ctx, awaitedKey{}, ask(b.loop, func(*compactor.Compactor) chan struct{} {
		if due {
			b.arrivals.setDue()
		}
		return b.arrivals.due
	}))
}

// fillGap reads messages posted while the bot was away and, before those, known ones that may have changed. If the history lacks
// known ones that are young, it is read once more when they are no longer that.
func (b *backfill) fillGap(ctx context.Context, h Historian) error {
	var known []store.Known // known messages still to be compared
	from := ""
	ended := false  // where that reading continues, and whether the last page was the end
	unsure := false // a page lacked young messages
	for {
		after, open, err := b.records.Past().Gap(ctx) // again for each page: the bot may have been away once more
		if err != nil || !open || time.Now().Before(b.retryAt) {
			return err
		}
		if after == "" { // the conversation never had a message, so there is no place to continue from
			return b.records.Past().CloseGap(ctx, after)
		}
		if from == "" {
			known, from, err = b.reviewable(ctx, after)
			if err != nil {
				return err
			}
		}
		look := Look{After: after, Missed: after, Limit: historyPage}
		if len(known) > 0 && newer(after, from) {
			look.After = from
		}
		page, err := b.page(ctx, h, look)
		if err == nil && page.More && (page.Last == "" || page.Last == look.After) {
			err = errors.New("the connector says that there is more, and not where") // otherwise this would loop forever
		}
		switch {
		case errors.Is(err, ErrGone):
			b.log.Info("backfill_refused", "error", err)
			return b.records.Past().CloseGap(ctx, after)
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			b.log.Log(ctx, b.unread.Begin(), "backfill_failed", "again_in", historyRetry, "error", err)
			b.retryAt = time.Now().Add(historyRetry)
			return nil
		}
		b.unread.End()
		// A server may return fewer messages than requested: only a second, empty page shows that the rest was deleted.
		atEnd := ended && !page.More && page.There != nil && len(page.There)+len(page.Messages) == 0 && page.Last == ""
		left, lacks, err := b.review(ctx, known, page, atEnd)
		if err != nil {
			return err
		}
		known = left
		unsure = unsure || lacks
		done := !page.More && (ended || page.There == nil || len(known) == 0)
		if err := b.fill(ctx, look, page, done); err != nil {
			return err
		}
		if done && unsure {
			b.reviewAt = time.Now().Add(reviewAge)
			b.reviewed = after
		}
		from = cmp.Or(page.Last, from)
		ended = !page.More && !done
	}
}

// rest returns how long there is nothing to look for; 0 or less: until something arrives.
func (b *backfill) rest() time.Duration {
	rest := time.Until(b.retryAt)
	if !b.reviewAt.IsZero() && (rest <= 0 || b.reviewAt.Before(b.retryAt)) {
		rest = max(time.Until(b.reviewAt), time.Millisecond)
	}
	return rest
}

// fill stores the missed messages of a page, which may begin before them; done: no page follows.
func (b *backfill) fill(ctx context.Context, look Look, page Page, done bool) error {
	last := cmp.Or(page.Last, look.Missed)
	missed := page.Messages
	if look.After != look.Missed {
		missed = slices.DeleteFunc(slices.Clone(missed), func(m Inbound) bool { return !newer(m.ID, look.Missed) })
		last = slices.MaxFunc([]string{last, look.Missed}, compareIDs)
	}
	missed = b.classifyPast(missed)
	fresh, err := b.records.Past().FillGap(ctx, missed, last, done)
	if err != nil {
		return err
	}
	if misser, ok := b.connector.(Misser); ok && fresh > 0 {
		newest := slices.MaxFunc(missed, func(a, b Inbound) int { return a.Time.Compare(b.Time) })
		misser.Missed(b.name, newest.Time)
	}
	return b.edits.repeat(ctx)
}

// Misser is implemented by connectors that want to know when a history had messages that they had not delivered.
type Misser interface {
	// Missed reports that a conversation read such messages, the newest of which has this time.
	Missed(conversation string, newest time.Time)
}

func (b *backfill) page(ctx context.Context, h Historian, look Look) (page Page, err error) {
	b.edits.startReading()
	err = callConnector(ctx, historyTimeout, func(ctx context.Context) (err error) {
		page, err = h.History(ctx, b.name, look)
		return err
	})
	return page, err
}

// early reports whether messages from before the bot joined may still have to be read.
func (b *backfill) early() bool {
	return !b.pastDone && b.loop.nextSeq() <= historyPage // otherwise more has been overheard since
}

// readBack reads what people wrote before the bot was first addressed here, as context.
func (b *backfill) readBack(ctx context.Context, h Historian, burst int) error {
	if !b.early() {
		return nil
	}
	done, first, err := b.records.Past().ReadBack(ctx)
	if err != nil || done || first == "" {
		b.pastDone = done
		return err
	}
	page, err := b.page(ctx, h, Look{Before: first, Limit: historyPage})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && !errors.Is(err, ErrGone):
		b.log.Log(ctx, b.unread.Begin(), "read_earlier_history_failed", "error", err) // retried at the next message
		return nil
	}
	b.unread.End()
	past, late := b.unanswered(page.Messages)
	tries, err := b.records.Inbox().TryPast(ctx)
	if err != nil {
		return err
	}
	for i := range past {
		past[i].Tries = tries
	}
	if err := b.records.Past().Backfill(ctx, append(b.fitting(b.completed(ctx, past), burst), late...)); err != nil {
		return err
	}
	b.pastDone = true
	return b.edits.repeat(ctx)
}

// Timekeeper is implemented by connectors whose platform has a clock of its own, by which messages have their times.
type Timekeeper interface {
	// PlatformTime returns what the platform's clock shows when this machine's shows host.
	PlatformTime(host time.Time) time.Time
}

// platformNow returns the time with which to compare those of messages: this machine's clock may be wrong.
func platformNow(connector Connector) time.Time {
	now := time.Now()
	if keeper, ok := connector.(Timekeeper); ok {
		return keeper.PlatformTime(now)
	}
	return now
}

// unanswered splits earlier messages at the first that may still need an answer: its event may arrive late.
func (b *backfill) unanswered(said []Inbound) (past, late []Inbound) {
	for i, m := range said {
		if m.Addressed && !m.Bot && platformNow(b.connector).Sub(m.Time) <= b.catchUp {
			return said[:i], b.classifyPast(said[i:])
		}
	}
	return said, nil
}

// classifyPast applies the rules to past messages, and leaves out those of authors the bot does not listen to.
func (b *backfill) classifyPast(said []Inbound) (heard []Inbound) {
	for _, m := range said {
		if m.ID == "" || !b.access.Rules().Hears(b.name, m.AuthorID, m.Bot) {
			continue
		}
		classify(b.access.Rules(), b.name, &m)
		if platformNow(b.connector).Sub(m.Time) > b.catchUp {
			m.Addressed = false
			m.Steers = false
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

// fitting returns the newest messages that fit a budget of estimated tokens, without those of authors the bot ignores.
func (b *backfill) fitting(said []Inbound, budget int) []Inbound {
	var fit []Inbound
	for _, m := range slices.Backward(said) {
		if m.ID == "" || !b.access.Rules().Hears(b.name, m.AuthorID, m.Bot) {
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
