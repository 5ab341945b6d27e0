package compactor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"cairn/internal/secrets"
	"cairn/internal/tokens"
	"cairn/transcript"
)

// What people write in summaries. It stays word for word when a summary is repaired or folded, so its room is limited.

// peopleShare is the part of the stack's budget that lines of people may take: 1/4.
const peopleShare = 4

// Writer and why a line cannot be rewritten, see transcript.State.Rewrite.
type Writer = transcript.Writer

var (
	ErrNotApplied = transcript.ErrNotApplied
	ErrNoLine     = transcript.ErrNoLine
	ErrOnlyLine   = transcript.ErrOnlyLine
	ErrLongLine   = transcript.ErrLongLine
)

// MaxLine is the maximum number of characters of a line that a person writes.
const MaxLine = transcript.MaxLine

// NoRoomError says why there is no room for a line that a person wants to write.
type NoRoomError struct{ Why string } // in words for people

func (e *NoRoomError) Error() string { return e.Why }

// RewriteLine replaces a line of an applied summary of c, which people count from 1, as transcript.State.Rewrite does, and masks
// secrets in it. The event says which version was made; its ID is 0 if nothing has changed. ErrNotApplied, ErrNoLine, ErrOnlyLine,
// ErrLongLine and a NoRoomError say why the line cannot be rewritten; another error means that the disk refused. In either case
// nothing has changed. Call it on the owner's goroutine.
func RewriteLine(ctx context.Context, c *Compactor, id int64, number int, text string, by Writer) (Event, error) {
	c.view.reshape(c.meter)
	if err := c.Reread(ctx); err != nil {
		return Event{}, fmt.Errorf("rewrite a line of summary %d: %w", id, err)
	}
	c.flush(ctx)
	before := c.meter.used(c.view)
	change, err := c.commit(ctx, func(s *transcript.State) (transcript.Change, error) {
		at, err := lineOfSummary(s, id, number)
		if err != nil {
			return transcript.Change{}, err
		}
		change, err := s.Rewrite(id, at, secrets.Mask(text), by)
		if err == nil && !change.Empty() {
			err = c.planner(c.meter.policy()).fitsLines(s.With(change).Head())
		}
		return change, err
	})
	switch {
	case errors.Is(err, transcript.ErrStale):
		return Event{}, errors.New("people change messages faster than a line can be rewritten: try again")
	case err != nil:
		return Event{}, fmt.Errorf("rewrite a line of summary %d: %w", id, err)
	case change.Empty():
		return Event{State: EventNoop, Trigger: OnRewrite, Window: c.o.Window()}, nil
	}
	return c.rewritten(change.Summaries[0], before), nil
}

// lineOfSummary returns the index of a line of an applied summary, which people count from 1.
func lineOfSummary(s *transcript.State, id int64, number int) (at int, err error) {
	i := slices.IndexFunc(s.Summaries, func(row Summary) bool { return row.ID == id })
	if i < 0 {
		return 0, transcript.ErrNotApplied
	}
	claims := s.Summaries[i].Claims()
	if number < 1 || number > len(claims) {
		return 0, transcript.ErrNoLine
	}
	return claims[number-1].At, nil
}

// peopleCost returns the tokens of the lines that people wrote in rows.
func peopleCost(rows ...Summary) int {
	if theirs := (Summary{}).Keeping(rows...).Text; theirs != "" {
		return tokens.Estimate(theirs) + 1 // for the end of a line
	}
	return 0
}

// rewritten reports the new version of a row. What is made from the old one makes no further request.
func (c *Compactor) rewritten(old Summary, before int) Event {
	c.outdate(func(j *job) bool { return j.row.Overlaps(old.Span) })
	rows := c.view.Head.Rows()
	i := slices.IndexFunc(rows, func(row Summary) bool { return row.Span == old.Span })
	if i < 0 {
		return Event{State: EventRewritten, Trigger: OnRewrite}
	}
	e := c.reports.event(rows[i], EventRewritten)
	e.Set = rows[i : i+1]
	e.BeforeTokens = before
	e.AfterTokens = c.meter.used(c.view)
	return c.notify(e)
}
