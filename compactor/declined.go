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

// What the model declines is summarized by the extractive summarizer, and repairs split it until
// little of it is declined. For the rest the model is called a few more times, with growing pauses.
// Then it stays as it is until /compact is used or another model summarizes.

const (
	laterTries = 3                // attempts to repair what was left to the extractive summarizer
	firstPause = 10 * time.Minute // before the first of them; each later one is pauseGrowth times as long

	pauseGrowth = 6

	maxRepairMessages = 1000 // most messages of one repair
)

// modelDeclines reports whether the model refuses this material: its server works, and other spans
// may succeed.
func modelDeclines(err error) bool {
	kind := llm.KindOf(err)
	return errors.As(err, new(summarize.Refusal)) || kind == llm.KindBadRequest || kind == llm.KindOverflow || kind == llm.KindFiltered
}

// declineCount returns how often the current worker model declined row's span.
func (c *Compactor) declineCount(row Compaction) int {
	if c.o.Worker == nil || row.Declined.By != c.o.Worker.Name() {
		return 0
	}
	return row.Declined.Times
}

// gaveUp reports whether no model is called for row any more.
func (c *Compactor) gaveUp(row Compaction) bool {
	return c.declineCount(row) >= c.policy().FailureLimit+laterTries
}

// retryDeclinedAt returns the time before which row is not retried.
func (c *Compactor) retryDeclinedAt(row Compaction) time.Time {
	later := c.declineCount(row) - c.policy().FailureLimit
	if later < 0 {
		return time.Time{}
	}
	pause := firstPause
	for range min(later, laterTries) {
		pause *= pauseGrowth
	}
	return row.Declined.At.Add(pause)
}

// declined records that the worker declined j, after j has failed. If j covered only a part of a
// row, or was a fold, it returns a job in which the extractive summarizer makes a row of its own
// for it; else nil.
func (c *Compactor) declined(j *job) (then *job) {
	d := Declined{Times: j.declined + 1, At: c.o.Now(), By: c.o.Worker.Name()}
	c.retries.declined(d.At, j.policy.FailureLimit)
	if j.replacesID == 0 && j.row.Kind == Leaf {
		c.retries.declinedTo = j.row.To
		return nil
	}
	if j.replacesID != 0 && j.row.From == j.repaired.From && j.row.To == j.repaired.To {
		if err := c.o.Records.Declined(c.ctx, j.replacesID, d); err != nil && c.ctx.Err() == nil {
			c.o.Log.Warn("save_refusal_failed", "error", err)
		}
		c.noteDeclined(j.replacesID, d)
		return nil
	}
	apart := *j
	apart.extractive, apart.modelFollows, apart.row.By, apart.row.Model = true, true, ByExtractive, ""
	apart.row.AwaitsModel, apart.row.Declined = true, d
	if j.replacesID != 0 {
		apart.maxTokens = max(j.repaired.Tokens*j.row.Messages/max(j.repaired.Messages, 1), summarize.MinSummary) // its share of the tokens
	}
	apart.allowed = true
	apart.row.ID, apart.onStart, apart.onEnd = 0, nil, nil
	return &apart
}

// planLeaf plans the summary of a span; nil if the span is empty, or is spared because its summary
// was undone. Spans that the worker declined go to the extractive summarizer.
func (c *Compactor) planLeaf(sp span, trigger Trigger, p Policy, window int, extractive bool) *job {
	if len(sp.lines) == 0 || (trigger == OnBackground || trigger == OnPrepare) && c.isSpared(sp.from, sp.to) {
		return nil
	}
	declined := !extractive && sp.from <= c.retries.declinedTo
	j := c.newJob(trigger, Leaf, 0, sp.tokens, p, window, extractive || declined)
	if declined {
		j.row.AwaitsModel, j.row.Declined = true, Declined{Times: 1, At: c.o.Now(), By: c.o.Worker.Name()}
	}
	first, last := sp.lines[0], sp.lines[len(sp.lines)-1]
	j.row.From, j.row.To, j.row.Messages = sp.from, sp.to, len(sp.lines)
	j.row.FromTime, j.row.ToTime = first.Time, last.Time
	return j
}

// narrowing returns a function that limits a repair of messages to what one request can contain:
// the newest whole turns of the row's span, as the worker reads them, with room for their summary.
// So a large row is repaired piece by piece, and each piece is kept. The function returns the row
// to make.
func (c *Compactor) narrowing(j *job) func(context.Context) (Compaction, error) {
	if j.replacesID == 0 || j.extractive || j.row.Kind != Leaf {
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
	w, most := w.withModel(ctx, c.o.Worker)
	most = min(most, w.piece()) * 100 / (100 + j.policy.TargetPct) // less the summary
	from := max(row.From, row.To-maxRepairMessages)
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

// skipsDeclined reports whether the repair of a fold continues without a part that was declined.
// From the second attempt on it may skip a few parts, or they would prevent the repair forever.
func (w worker) skipsDeclined(err error, parts int) bool {
	if w.j.replacesID == 0 || w.j.row.Kind != Rollup || w.j.declined == 0 || parts < 2 || !modelDeclines(err) {
		return false
	}
	if w.c.o.Fallback != nil && w.model != w.c.o.Fallback && llm.KindOf(err) != "" {
		return false // the fallback is tried next
	}
	*w.declinedParts++
	return *w.declinedParts <= max(parts/4, 1)
}

// extractiveText returns the extractive summarizer's text for material meant for a model.
func extractiveText(items []summarize.Item, target int, focus string) string {
	return secrets.Mask(summarize.Extract(withoutSecrets(saidIn(items)), target, 0, focus).Text)
}

// retryDeclined resets what was declined, because a person asked for a compaction.
func (c *Compactor) retryDeclined() {
	c.retries.declinedTo = 0
	s := c.h.view
	if !slices.ContainsFunc(s.head.Rows(), func(row Compaction) bool { return row.Declined.Times > 0 }) {
		return
	}
	if err := c.o.Records.ClearDeclined(c.ctx); err != nil && c.ctx.Err() == nil {
		c.o.Log.Warn("reset_refusals_failed", "error", err)
		return
	}
	c.noteDeclined(0, Declined{})
}

// noteDeclined updates Declined of a row in the view and in plans; id 0: of all rows.
func (c *Compactor) noteDeclined(id int64, d Declined) {
	note := func(rows []Compaction) []Compaction {
		rows = slices.Clone(rows)
		for i := range rows {
			if id == 0 || rows[i].ID == id {
				rows[i].Declined = d
			}
		}
		return rows
	}
	head := &c.h.head
	head.Stack, head.Earlier = note(head.Stack), slices.Clone(head.Earlier)
	for i := range head.Earlier {
		head.Earlier[i].Rows = note(head.Earlier[i].Rows)
	}
	c.prospect = prospect{}
}
