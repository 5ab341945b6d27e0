package compactor

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"cairn/internal/secrets"
	"cairn/llm"
	"cairn/prompts"
)

// Recap is a summary for whoever asked. Nothing is changed or kept by it.
type Recap struct {
	Text     string
	From, To int64 // what it is of, both ends included; 0: there is nothing to sum up
	Hidden   int   // messages among them that no summary tells of yet, so neither does this
	By       By    // ByWorker or ByBuiltIn
	Why      string
}

// mostOfRecap is the length of a recap, in tokens: one message on any platform.
const mostOfRecap = 350

// Recap sums up what the view holds, summaries and messages, keeping what focus asks
// for. It compacts nothing and saves no memories. It takes at most the policy's
// timeout; if no model makes it, the built-in summarizer does, and Why says why in
// words for people. The error is the context's.
func (c *Compactor) Recap(ctx context.Context, focus string) (Recap, error) {
	s, p, window := c.h.snapshot(), c.o.Policy(), c.o.Window()
	c.recapping(1)
	defer c.recapping(-1)
	r := Recap{By: ByBuiltIn}
	above, root := s.above()
	var messages []Message // of the built-in summarizer
	for _, row := range above {
		messages = append(messages, Message{Role: llm.RoleAssistant, Text: row.Text, Time: row.FromTime})
	}
	messages = append(messages, root...)
	for _, row := range s.shownRows() {
		r.cover(row.From, row.To)
		if row.Kind == Marker {
			r.Hidden += row.Messages
			continue
		}
		messages = append(messages, Message{Role: llm.RoleAssistant, Text: row.Text, Time: row.FromTime})
	}
	for _, l := range s.lines {
		r.cover(l.Seq, l.Seq)
		messages = append(messages, l.Message)
	}
	if r.To == 0 {
		return r, nil
	}
	if c.o.Worker != nil {
		text, err := c.recapByModel(ctx, s, p, window, focus)
		if err == nil {
			r.Text, r.By = text, ByWorker
			if c.withModel.End() {
				c.o.Log.Info("compactions_recovered", "by", r.By)
			}
			return r, nil
		}
		if ctx.Err() != nil || c.ctx.Err() != nil {
			return r, errors.Join(ctx.Err(), c.ctx.Err())
		}
		c.o.Log.Log(ctx, c.loud(err, true), "recap_failed", "effect", "the extractive summarizer makes it", "error", err)
		r.Why = whyNoModel(err)
	}
	r.Text = secrets.Mask(Extract(withoutSecrets(messages), mostOfRecap, 0, focus).Text)
	return r, nil
}

func (c *Compactor) recapping(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recaps += n
}

// cover notes that the recap is of [from, to] too.
func (r *Recap) cover(from, to int64) {
	if r.From == 0 || from < r.From {
		r.From = from
	}
	r.To = max(r.To, to)
}

func (c *Compactor) recapByModel(ctx context.Context, s snapshot, p Policy, window int, focus string) (text string, err error) {
	defer func() {
		if broke := recover(); broke != nil {
			c.o.Log.Error("recap_panicked", "panic", broke, "stack", string(debug.Stack()))
			err = fmt.Errorf("the recap broke: %v", broke)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, time.Duration(p.Timeout))
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	if c.o.Slots != nil {
		select {
		case c.o.Slots <- struct{}{}:
			defer func() { <-c.o.Slots }()
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	j := &job{policy: p, window: window, row: Compaction{Kind: Leaf, Focus: p.Focus}}
	if focus != "" {
		j.row.Focus = focus
	}
	w := c.newWorker(j, nil, mostOfRecap, mostOfRecap*3/2)
	w.prompt, w.plain = prompts.Recap, true
	summary, err := c.byModel(ctx, w, func(_ context.Context, most int) ([]item, error) { return itemsOfView(s, most), nil })
	return summary.Text, err
}

// itemsOfView is what a view holds, as material.
func itemsOfView(s snapshot, most int) []item {
	var items []item
	for _, row := range s.shownRows() {
		if row.Kind != Marker {
			items = append(items, itemsOfRow(row, most)...)
		}
	}
	messages := make([]Message, len(s.lines))
	for i, l := range s.lines {
		messages[i] = l.Message
	}
	items = append(items, itemsOf(messages, most)...)
	slices.SortStableFunc(items, func(a, b item) int { return int(a.from - b.from) })
	above, root := s.above()
	var first []item
	for _, row := range above {
		first = append(first, itemsOfRow(row, most)...)
	}
	first = append(first, itemsOf(root, most)...)
	for i := range first { // its numbers are those of another conversation
		first[i].turn, first[i].from, first[i].to = 0, 1, 1
		if len(items) > 0 {
			first[i].from, first[i].to = items[0].from, items[0].from
		}
	}
	return append(first, items...)
}

// shownRows are the conversation's own rows in the view, those of earlier segments too.
func (s snapshot) shownRows() (rows []Compaction) {
	for _, segment := range s.head.Earlier {
		for _, row := range segment.Rows {
			if s.past.shows(row.ID) {
				rows = append(rows, row)
			}
		}
	}
	return append(rows, s.head.Stack...)
}

// above is what the view shows of the channel a thread belongs to: summaries, and the
// message it hangs on, if there is one.
func (s snapshot) above() (rows []Compaction, root []Message) {
	shown := func(text string) bool {
		return slices.ContainsFunc(s.past.entries, func(e entry) bool { return e.row == 0 && e.text == text })
	}
	for _, row := range s.head.Inherited.Stack {
		if row.Kind != Marker && shown(renderInherited(row)) {
			rows = append(rows, row)
		}
	}
	if m := s.head.Inherited.Root; m != nil && shown(rootEntry(*m, s.shape.pastMost/rootShare).text) {
		root = append(root, *m)
	}
	return rows, root
}

// whyNoModel is a failure in words for people.
func whyNoModel(err error) string {
	var refused refusal
	switch {
	case errors.Is(err, ErrSpent):
		return ErrSpent.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "the model took too long"
	case errors.As(err, &refused):
		return string(refused)
	}
	if why := reasonOfModel(err); why != "" {
		return why
	}
	return "the model could not be asked"
}
