package compactor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/secrets"
	"cairn/internal/tokens"
)

// Recap is a summary for a person who asked. It changes and stores nothing.
type Recap struct {
	Text     string
	From, To int64 // its span, both ends included; 0: there is nothing to summarize
	Hidden   int   // messages in the span that no summary covers yet, so neither does this
	By       By    // ByWorker or ByExtractive
	Why      string
}

// mostOfRecap is the length of a recap, in tokens: it fits one message on any platform.
const mostOfRecap = 350

// Recap returns a function that summarizes the view, summaries and messages, with emphasis on
// focus; the function may run in any goroutine. It compacts nothing and saves no memories. It takes
// at most the policy's timeout; if no model can do it, the extractive summarizer does, and Why
// gives the reason in words for people. The error is the context's.
func (c *Compactor) Recap(focus string) func(context.Context) (Recap, error) {
	s, p := c.h.view, c.policy()
	j := &job{policy: p, row: Compaction{Kind: Leaf, Focus: cmp.Or(focus, p.Focus)}}
	w := c.newWorker(j, &inMemoryJob{}, mostOfRecap, mostOfRecap*3/2) // which saves no memories
	w.prompt, w.textOnly = w.texts.Recap, true
	return func(ctx context.Context) (Recap, error) { return c.recap(ctx, s, w, focus) }
}

func (c *Compactor) recap(ctx context.Context, s view, w worker, focus string) (Recap, error) {
	r := Recap{By: ByExtractive}
	var seqs []int64
	for _, row := range s.shownRows() {
		seqs = append(seqs, row.From, row.To)
		if row.Kind == Placeholder {
			r.Hidden += row.Messages
		}
	}
	for _, l := range s.lines {
		seqs = append(seqs, l.Seq)
	}
	if len(seqs) == 0 {
		return r, nil
	}
	r.From, r.To = slices.Min(seqs), slices.Max(seqs)
	if c.o.Worker != nil {
		text, err := c.recapByModel(ctx, s, w)
		if err == nil {
			r.Text, r.By = text, ByWorker
			if c.reports.byModel.End() {
				c.o.Log.Info("compactions_recovered", "by", r.By)
			}
			return r, nil
		}
		if ctx.Err() != nil {
			return r, ctx.Err()
		}
		c.o.Log.Log(ctx, c.logLevelFor(err, true), "recap_failed", "effect", "the extractive summarizer makes it", "error", err)
		r.Why = cmp.Or(reasonFor(err), "the model could not be asked")
	}
	said := withoutSecrets(saidIn(itemsOfView(s, quotedItems, summarize.MostOfMessage)))
	r.Text = secrets.Mask(summarize.Extract(said, mostOfRecap, 0, focus).Text)
	return r, nil
}

func (c *Compactor) recapByModel(ctx context.Context, s view, w worker) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(w.j.policy.Timeout))
	defer cancel()
	release, err := takeSlot(ctx, c.o.Slots)
	if err != nil {
		return "", err
	}
	defer release()
	summary, err := c.guarded(ctx, func(ctx context.Context) (summarize.Summary, error) {
		return c.byModel(ctx, w, func(_ context.Context, most int) ([]summarize.Item, error) {
			return itemsOfView(s, summarize.ItemsOfRow, most), nil
		})
	})
	return summary.Text, err
}

// quotedItems is summarize.ItemsOfRow for the extractive summarizer: an extractive row names its
// speakers, and the assistant wrote none of it.
func quotedItems(row Compaction, most int) (items []summarize.Item) {
	if row.By != ByExtractive {
		return summarize.ItemsOfRow(row, most)
	}
	for _, m := range summarize.Quoted(row) {
		items = append(items, summarize.Item{Turn: row.From, From: row.From, To: row.To, Said: m})
	}
	return items
}

func itemsOfView(s view, ofRow func(row Compaction, most int) []summarize.Item, most int) []summarize.Item {
	var items []summarize.Item
	for _, row := range s.shownRows() {
		if row.Kind != Placeholder {
			items = append(items, ofRow(row, most)...)
		}
	}
	messages := make([]chat.Message, len(s.lines))
	for i, l := range s.lines {
		messages[i] = *l.Message
	}
	items = append(items, summarize.ItemsOf(messages, most)...)
	slices.SortStableFunc(items, func(a, b summarize.Item) int { return int(a.From - b.From) })
	var first []summarize.Item // of the channel that a thread belongs to
	for _, e := range s.past.entries {
		switch {
		case e.root:
			first = append(first, summarize.ItemsOf([]chat.Message{*s.head.Inherited.Root}, most)...)
		case !e.own && e.row.Kind != "" && e.row.Kind != Placeholder:
			first = append(first, ofRow(e.row, most)...)
		}
	}
	for i := range first { // its seqs belong to another conversation
		first[i].Turn, first[i].From, first[i].To = 0, 1, 1
		if len(items) > 0 {
			first[i].From, first[i].To = items[0].From, items[0].From
		}
	}
	return append(first, items...)
}

// shownRows returns the conversation's own rows in the view, those of earlier sessions included.
func (s view) shownRows() (rows []Compaction) {
	for _, e := range s.past.entries {
		if e.own {
			rows = append(rows, e.row)
		}
	}
	return append(rows, s.head.Stack...)
}

// What another agent is given of a conversation, to answer one question in it.

// Shares of a briefing.
const (
	headShare     = 3 // the head: at most 1/3
	questionShare = 4 // the question: at most 1/4
	summedShare   = 4 // summary of the messages: at most 1/4 of what is left
)

// Briefing returns a function that renders the view in about tokens tokens: the head, then the
// messages as far as they fit; older ones are summarized without a model. The question comes last
// and is not repeated among the messages. Nothing is written. The function may run in any
// goroutine.
func (c *Compactor) Briefing(ctx context.Context, tokens int, p Policy, question chat.Message) (func() string, error) {
	if err := c.reread(ctx); err != nil {
		return nil, err
	}
	s := c.h.view
	return func() string { return s.briefing(tokens, p, question) }, nil
}

func (s view) briefing(cost int, p Policy, question chat.Message) string {
	asked := summarize.ClippedItems([]chat.Message{question}, max(cost/questionShare, 0))
	left := cost - summarize.CostOfItems(asked)
	var b strings.Builder
	if s.headText != "" {
		text, mark, end := tokens.Parts(secrets.Mask(s.headText), max(min(left, cost/headShare), 0))
		if mark != "" { // the end continues with a whole line: the rest of one may read as a line that nobody wrote
			_, end, _ = strings.Cut(end, "\n")
			text += mark + end
		}
		left -= tokens.Estimate(text)
		b.WriteString(text + "\n\n")
	}
	var said []chat.Message
	for _, l := range s.lines {
		if l.Seq != question.Seq {
			said = append(said, *l.Message)
		}
	}
	items := summarize.ClippedItems(said, summarize.MostOfMessage)
	if summarize.CostOfItems(items) > left {
		summed := min(p.MaxSummary, left/summedShare)
		n := 0
		for room := left - summed; n < len(items) && room >= items[len(items)-1-n].Tokens; n++ {
			room -= items[len(items)-1-n].Tokens
		}
		items = items[len(items)-n:]
		older := said
		if n > 0 {
			older = said[:slices.IndexFunc(said, func(m chat.Message) bool { return m.Seq == items[0].From })]
		}
		if text := summarize.Extract(withoutSecrets(older), summed, 0, question.Text).Text; text != "" {
			fmt.Fprintf(&b, "<summary from=\"%d\" to=\"%d\">%s</summary>\n\n", older[0].Seq, older[len(older)-1].Seq, summarize.Content(secrets.Mask(text), summed))
		}
	}
	if len(items) > 0 {
		b.WriteString(summarize.PlainText(items) + "\n\n")
	}
	b.WriteString("<question>\n")
	for _, it := range asked {
		b.WriteString(it.Text)
	}
	b.WriteString("\n</question>")
	return b.String()
}
