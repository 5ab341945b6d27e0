package compactor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/secrets"
	"cairn/llm"
)

// A span that the model declines is split until little of it is declined. The extractive summarizer
// summarizes that part, and the model is asked a few more times, with growing pauses. Then it stays
// as it is until /compact is used or another model summarizes.

const (
	laterTries = 3                // what was given to the extractive summarizer is tried so often
	firstPause = 10 * time.Minute // before the first of them; each later one is pauseGrowth times as long

	pauseGrowth = 6

	mostOfPiece = 1000 // messages, of what is repaired at once
)

// suspect is a span in which something was declined that no row covers yet.
type suspect struct {
	from, to int64
	times    int
}

// modelDeclines reports whether the model refuses this material: its server works, and other spans
// may succeed.
func modelDeclines(err error) bool {
	kind := llm.KindOf(err)
	return errors.As(err, new(summarize.Refusal)) || kind == llm.KindBadRequest || kind == llm.KindOverflow
}

// declinedTimes returns how often the current worker model declined what row covers.
func (c *Compactor) declinedTimes(row Compaction) int {
	if c.o.Worker == nil || row.Declined.By != c.o.Worker.Name() {
		return 0
	}
	return row.Declined.Times
}

// givenUp reports whether no model is asked for row any more.
func (c *Compactor) givenUp(row Compaction) bool {
	return c.declinedTimes(row) >= c.policy().FailureLimit+laterTries
}

// restsUntil returns when row may be tried again.
func (c *Compactor) restsUntil(row Compaction) time.Time {
	later := c.declinedTimes(row) - c.policy().FailureLimit
	if later < 0 {
		return time.Time{}
	}
	pause := firstPause
	for range min(later, laterTries) {
		pause *= pauseGrowth
	}
	return row.Declined.At.Add(pause)
}

// declined notes that the worker declined j, after it has failed. What of a row it declined gets
// a row of its own, so that the rest is repaired: it returns the job that makes it.
func (c *Compactor) declined(j *job) (then *job) {
	d := Declined{Times: j.declined + 1, At: c.o.Now(), By: c.o.Worker.Name()}
	switch {
	case j.repairs == 0 && j.row.Kind == Leaf:
		c.suspect = suspect{j.row.From, j.row.To, d.Times}
	case j.repairs != 0 && j.row.From == j.repaired.From && j.row.To == j.repaired.To:
		if err := c.o.Records.Declined(c.ctx, j.repairs, d); err != nil && c.ctx.Err() == nil {
			c.o.Log.Warn("save_refusal_failed", "error", err)
		}
		c.noteDeclined(j.repairs, d)
	default: // a fold, or a part of a row
		apart := *j
		apart.extractive, apart.again, apart.row.By, apart.row.Model = true, true, ByExtractive, ""
		apart.row.AwaitsModel, apart.row.Declined = true, d
		if j.repairs != 0 {
			apart.most = max(j.repaired.Tokens*j.row.Messages/max(j.repaired.Messages, 1), summarize.MinSummary) // its share of the tokens
		}
		apart.allowed = true
		apart.row.ID, apart.began, apart.ended = 0, nil, nil
		return &apart
	}
	return nil
}

// narrowed bounds a span that begins inside the suspect to the half of that, and tells how
// often it was declined.
func (c *Compactor) narrowed(sp span) (_ span, times int) {
	if len(sp.lines) == 0 || c.suspect.to < sp.from || c.suspect.from > sp.to {
		return sp, 0
	}
	times = c.suspect.times
	n := 0
	for n < len(sp.lines) && sp.lines[n].Seq <= c.suspect.to {
		n++
	}
	if times < c.policy().FailureLimit {
		n = max(n/2, 1)
	}
	for n < len(sp.lines) && n > 0 && sp.lines[n].Turn == sp.lines[n-1].Turn {
		n++
	}
	if n == 0 {
		return sp, 0
	}
	half := span{from: sp.from, to: sp.lines[n-1].Seq, lines: sp.lines[:n]}
	if n < len(sp.lines) { // deleted messages at the end of the turn belong to it
		half.to = max(half.to, sp.lines[n].Turn-1)
	} else {
		half.to = sp.to
	}
	for _, l := range half.lines {
		half.tokens += l.tokens
	}
	return half, times
}

// overNarrowed has j summarize sp, or what is left of it where something was declined. What was
// declined too often the extractive summarizer takes.
func (c *Compactor) overNarrowed(j *job, sp span) {
	times := 0
	if !j.extractive {
		sp, times = c.narrowed(sp)
	}
	if j.declined = times; times >= j.policy.FailureLimit {
		j.extractive, j.row.By, j.row.Model, j.row.AwaitsModel = true, ByExtractive, "", true
		j.row.Declined = Declined{Times: times, At: c.o.Now(), By: c.o.Worker.Name()}
	}
	j.tokens = sp.tokens
	j.over(sp)
}

// summarized notes that a row covers what was suspect.
func (c *Compactor) summarized(j *job) {
	if j.row.Kind == Leaf && j.row.From <= c.suspect.to && c.suspect.from <= j.row.To {
		if c.suspect.from = j.row.To + 1; c.suspect.from > c.suspect.to {
			c.suspect = suspect{}
		}
	}
}

// narrowing returns what bounds a repair of messages to what one request holds, the newest
// whole turns of what the row stands for, as the worker reads them, beside their summary: so a
// large row is repaired piece by piece, and each is kept. It returns the row that is to be made.
func (c *Compactor) narrowing(j *job) func(context.Context) (Compaction, error) {
	if j.repairs == 0 || j.extractive || j.row.Kind != Leaf {
		return func(context.Context) (Compaction, error) { return j.row, nil }
	}
	w := c.newWorker(j, nil, summarize.MinSummary, summarize.MinSummary)
	return func(ctx context.Context) (Compaction, error) {
		row, err := c.narrow(ctx, w)
		if err != nil {
			err = fmt.Errorf("read what is repaired: %w", err)
		}
		return row, err
	}
}

func (c *Compactor) narrow(ctx context.Context, w worker) (Compaction, error) {
	j, row := w.j, w.j.row
	w, most := w.on(ctx, c.o.Worker)
	most = min(most, w.piece()) * 100 / (100 + j.policy.TargetPct) // beside the summary
	from := max(row.From, row.To-mostOfPiece)
	all, err := c.o.Records.Span(ctx, from, row.To)
	if cut := func(m chat.Message) bool { return m.Turn < from }; err == nil && from > row.From && len(all) > 0 && !cut(all[len(all)-1]) {
		all = slices.DeleteFunc(all, cut)
	}
	if err != nil || len(all) == 0 {
		return row, err
	}
	if limit := j.policy.FailureLimit; j.declined > 0 && j.declined < limit {
		most = min(most, max(summarize.CostOfItems(summarize.ItemsOf(all, summarize.MostOfMessage))/2, minPiece))
	}
	n, tokens := len(all), 0
	for n > 0 {
		first := n
		for first > 0 && all[first-1].Turn == all[n-1].Turn {
			first--
		}
		turn := summarize.CostOfItems(summarize.ItemsOf(all[first:n], summarize.MostOfMessage))
		if tokens > 0 && tokens+turn > most {
			break
		}
		n, tokens = first, tokens+turn
	}
	if n > 0 || from > row.From {
		row.From, row.FromTime, row.Messages = max(row.From, all[n].Turn), all[n].Time, len(all)-n
	}
	return row, nil
}

// skipsDeclined reports whether a part that was declined does not fail the repair of a fold: the
// second time it may go on without a few of its parts, or they would keep it from ever being
// repaired.
func (w worker) skipsDeclined(err error, parts int) bool {
	if w.j.repairs == 0 || w.j.row.Kind != Rollup || w.j.declined == 0 || parts < 2 || !modelDeclines(err) {
		return false
	}
	if w.c.o.Fallback != nil && w.model != w.c.o.Fallback && llm.KindOf(err) != "" {
		return false // which is asked next
	}
	*w.absent++
	return *w.absent <= max(parts/4, 1)
}

// extractiveText returns the extractive summarizer's text for what a model was to summarize.
func extractiveText(items []summarize.Item, target int, focus string) string {
	return secrets.Mask(summarize.Extract(withoutSecrets(saidIn(items)), target, 0, focus).Text)
}

// retryDeclined makes everything that was declined be tried again, because a person asked.
func (c *Compactor) retryDeclined() {
	s := c.h.view
	if c.suspect.times >= c.policy().FailureLimit { // else its half comes next
		c.suspect = suspect{}
	}
	if !slices.ContainsFunc(s.head.Rows(), func(row Compaction) bool { return row.Declined.Times > 0 }) {
		return
	}
	if err := c.o.Records.ClearDeclined(c.ctx); err != nil && c.ctx.Err() == nil {
		c.o.Log.Warn("reset_refusals_failed", "error", err)
		return
	}
	c.noteDeclined(0, Declined{})
}

// noteDeclined notes how often a row was declined, in the view and in plans; id 0: all rows.
func (c *Compactor) noteDeclined(id int64, d Declined) {
	c.h.declined(id, d)
	c.prospect = prospect{}
}

// declined notes what came of a row; 0: of all rows.
func (h *History) declined(id int64, d Declined) {
	note := func(rows []Compaction) []Compaction {
		rows = slices.Clone(rows)
		for i := range rows {
			if id == 0 || rows[i].ID == id {
				rows[i].Declined = d
			}
		}
		return rows
	}
	h.head.Stack, h.head.Earlier = note(h.head.Stack), slices.Clone(h.head.Earlier)
	for i := range h.head.Earlier {
		h.head.Earlier[i].Rows = note(h.head.Earlier[i].Rows)
	}
}
