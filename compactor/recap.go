package compactor

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/compactor/worker"
	"cairn/internal/secrets"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/transcript"
)

// What people and other models are given of the view. None of it changes or stores anything.

// Recap is a summary for a person who asked.
type Recap struct {
	Text   string // "": there is nothing to summarize
	Hidden int    // messages that no summary covers yet, so neither does this
	By     By     // ByWorker or ByExtractive
	Why    string // why no model made it, in words for people; "" if there is none
}

// maxRecap is the length of a recap, in tokens: it fits one message on any platform.
const maxRecap = 350

// Recap returns a function that summarizes the view, with emphasis on focus; the function may run in
// any goroutine. It begins with the message from, or with the summary that has it; 0: with everything. It takes at most the policy's timeout. If no model can do it in one request, the
// summaries and an extract of the messages take its place. The function's error is the context's.
func (c *Compactor) Recap(ctx context.Context, focus string, from int64) (func(context.Context) (Recap, error), error) {
	if err := c.Reread(ctx); err != nil {
		return nil, err
	}
	s := c.view
	p := c.meter.policy()
	a := worker.Assignment{
		Row: Summary{Focus: cmp.Or(focus, p.Focus)}, Target: maxRecap, Limit: maxRecap * 3 / 2,
		MaxCalls: p.MaxTurns, Reasoning: p.Reasoning, Timeout: time.Duration(p.Timeout),
	}
	return func(ctx context.Context) (Recap, error) { return recap(ctx, s, from, c.models.by, a, &c.reports) }, nil
}

// recap makes a recap of a view, and reports what a model does in it.
func recap(ctx context.Context, s view, from int64, w *worker.Worker, a worker.Assignment, reports *reports) (r Recap, err error) {
	head, items := s.material(s.Shape.ClipTo, 0)
	texts, hidden := s.summaries(from)
	r.Hidden = hidden
	if from > 0 {
		head = summarize.EscapeLabels(secrets.Mask(strings.Join(texts, "\n\n")))
		items = slices.DeleteFunc(items, func(i summarize.Item) bool { return i.To < from })
	}
	if len(items)+len(texts) == 0 {
		return r, nil
	}
	if head != "" {
		items = slices.Insert(items, 0, summarize.Item{Text: head, From: 1, To: max(s.stored(), 1)})
	}
	if w.Model != nil {
		r.Text, err = w.Recap(ctx, a, items)
		if err == nil {
			r.By = ByWorker
			if reports.byModel.End() {
				reports.o.Log.Info("compactions_recovered", "by", r.By)
			}
			return r, nil
		}
		if ctx.Err() != nil {
			return r, ctx.Err()
		}
		level := slog.LevelDebug
		if llm.KindOf(err) != llm.KindOverflow { // which a compaction, in smaller requests, does not meet
			level = reports.levelFor(err, true)
		}
		reports.o.Log.Log(ctx, level, "recap_failed", "effect", "the extractive summarizer makes it", "error", err)
		r.Why = cmp.Or(reasonFor(err), "the request to the model could not be made")
	}
	texts = append(texts, summarize.Extract(summarize.MessagesIn(items), maxRecap, 0, a.Row.Focus).Text)
	r.Text = summarize.ShortenSummary(secrets.Mask(strings.TrimSpace(strings.Join(texts, "\n\n"))), maxRecap)
	r.By = ByExtractive
	return r, nil
}

// summaries returns the texts above the messages, oldest first, and how many messages of the
// conversation are hidden without one.
func (s view) summaries(from int64) (texts []string, hidden int) {
	add := func(row Summary, ours bool) {
		if from > 0 && (!ours || row.To < from) {
			return
		}
		if row.Text != "" {
			texts = append(texts, row.Marked())
		}
		if row.Kind == Placeholder && ours {
			hidden += row.Messages
		}
	}
	for _, e := range s.Past.Entries {
		add(e.Row, e.Ours)
		if e.Root && from == 0 {
			texts = append(texts, s.Head.Inherited.Root.Text)
		}
	}
	for _, row := range s.Head.Stack {
		add(row, true)
	}
	return texts, hidden
}

// The briefing of another agent, which answers one question in a conversation.

// Shares of a briefing.
const (
	headShare = 3 // the head: at most 1/3
	eachShare = 4 // the question, and each message: at most 1/4
)

// Briefing returns a function that renders the view in about tokens tokens: the head, and the newest
// messages that fit. The question comes last and is not repeated among the messages. Nothing is
// written. The function may run in any goroutine.
func (c *Compactor) Briefing(ctx context.Context, tokens int, question chat.Message) (func() string, error) {
	if err := c.Reread(ctx); err != nil {
		return nil, err
	}
	s := c.view
	return func() string { return s.briefing(tokens, question) }, nil
}

func (s view) briefing(limit int, question chat.Message) string {
	asked := summarize.ClippedItems([]chat.Message{question}, max(limit/eachShare, 0))[0]
	head, items := s.material(limit/eachShare, question.Seq)
	head, mark, end := tokens.Parts(head, min(limit-asked.Tokens, limit/headShare))
	if mark != "" { // the end continues with a whole line: the rest of one may read as a line that nobody wrote
		_, end, _ = strings.Cut(end, "\n")
	}
	head += mark + end
	left := limit - asked.Tokens - tokens.Estimate(head)
	older := len(items)
	for ; older > 0 && items[older-1].Tokens <= left; older-- {
		left -= items[older-1].Tokens
	}
	if older > 0 {
		head += "\n\n" + Summary{Kind: Placeholder, Messages: older}.Render()
	}
	items = items[older:]
	head = strings.TrimSpace(head)
	if head != "" {
		items = slices.Insert(items, 0, summarize.Item{Text: head})
	}
	return summarize.PlainText(items) + "\n\n<question>\n" + asked.Text + "\n</question>"
}

// material returns the view as other models read it, without secrets: the text of the head, and the
// messages without one of them, in at most limit tokens each.
func (s view) material(limit int, without int64) (head string, items []summarize.Item) {
	head = s.HeadContent()
	for _, v := range s.Messages {
		m := worker.WithoutSecrets([]chat.Message{*v.Message})[0]
		text := transcript.Show(m, transcript.Shape{ClipTo: limit}).As.Text
		switch {
		case m.Seq == without || text == "":
			continue
		case m.Role == llm.RoleAssistant:
			text = fmt.Sprintf("[#%d assistant] %s", m.Seq, text)
		case m.Role == llm.RoleTool:
			text = transcript.Show(m, transcript.Shape{ClipTo: min(limit, summarize.MaxResult)}).As.Text
			if len(v.As.Text) < len(text) { // it is cleared
				text = secrets.Mask(v.As.Text)
			}
			text = fmt.Sprintf("[#%d result of %s] %s", m.Seq, chat.CleanName(m.Tool), text)
		}
		text = summarize.EscapeLabels(text)
		cost := tokens.PerMessage + tokens.Estimate(text)
		items = append(items, summarize.Item{Text: text, Tokens: cost, From: m.Seq, To: m.Seq, Message: m})
	}
	return summarize.EscapeLabels(secrets.Mask(head)), items
}
