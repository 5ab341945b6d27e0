package compactor

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/secrets"
	"cairn/internal/tokens"
	"cairn/llm"
)

// What people and other models are given of the view. None of it changes or stores anything.

// Recap is a summary for a person who asked.
type Recap struct {
	Text   string // "": there is nothing to summarize
	Hidden int    // messages that no summary covers yet, so neither does this
	By     By     // ByWorker or ByExtractive
	Why    string // why no model made it, in words for people; "" if there is none
}

// mostOfRecap is the length of a recap, in tokens: it fits one message on any platform.
const mostOfRecap = 350

// Recap returns a function that summarizes the view, with emphasis on focus; the function may run in
// any goroutine. It takes at most the policy's timeout. If no model can do it in one request, the
// summaries and an extract of the messages take its place. The error is the context's.
func (c *Compactor) Recap(focus string) func(context.Context) (Recap, error) {
	s, p := c.h.view, c.policy()
	w := c.newWorker(&job{policy: p, row: Compaction{Focus: cmp.Or(focus, p.Focus)}}, nil, mostOfRecap, mostOfRecap*3/2)
	w.prompt = w.texts.Recap
	return func(ctx context.Context) (Recap, error) { return c.recap(ctx, s, w) }
}

func (c *Compactor) recap(ctx context.Context, s view, w worker) (r Recap, err error) {
	items := s.material()
	if len(items) == 0 {
		return r, nil
	}
	texts, hidden := s.summaries()
	r.Hidden = hidden
	if c.o.Worker != nil {
		if r.Text, err = c.recapByModel(ctx, w, items); err == nil {
			r.By = ByWorker
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
	texts = append(texts, summarize.Extract(saidIn(items), mostOfRecap, 0, w.j.row.Focus).Text)
	r.Text, r.By = summarize.ShortenSummary(secrets.Mask(strings.Join(texts, "\n\n")), mostOfRecap), ByExtractive
	return r, nil
}

// recapByModel asks the worker's model once and, if that fails, the fallback: it is mostly the model
// that answers here, so the view fits its window.
func (c *Compactor) recapByModel(ctx context.Context, w worker, items []summarize.Item) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(w.j.policy.Timeout))
	defer cancel()
	release, err := takeSlot(ctx, c.o.Slots)
	if err != nil {
		return "", err
	}
	defer release()
	ask := func(model llm.Model) (summarize.Summary, error) {
		return c.guarded(ctx, func(ctx context.Context) (s summarize.Summary, err error) {
			w, _ := w.withModel(ctx, model)
			w.calls, w.judge, w.most, w.alive = new(int), summarize.JudgeOf(items), math.MaxInt, func() {}
			if w.room(w.messages(items, w.prompt), nil) < w.minAnswer() {
				return s, &llm.Error{Kind: llm.KindOverflow, Message: "the recap's prompt is too long"}
			}
			s.Text, err = w.withoutTools(ctx, items)
			return s, err
		})
	}
	s, err := ask(c.o.Worker)
	if err != nil && c.o.Fallback != nil && ctx.Err() == nil {
		s, err = ask(c.o.Fallback)
	}
	return summarize.ShortenSummary(secrets.Mask(s.Text), w.limit), err
}

// summaries returns the texts above the messages, oldest first, and how many messages of the
// conversation are hidden without one.
func (s view) summaries() (texts []string, hidden int) {
	add := func(row Compaction, own bool) {
		if row.Text != "" {
			texts = append(texts, row.Text)
		}
		if row.Kind == Placeholder && own {
			hidden += row.Messages
		}
	}
	for _, e := range s.past.entries {
		if add(e.row, e.own); e.root {
			texts = append(texts, s.head.Inherited.Root.Text)
		}
	}
	for _, row := range s.head.Stack {
		add(row, true)
	}
	return texts, hidden
}

// material returns the view as other models read it, without secrets: the head, then the messages.
func (s view) material() (items []summarize.Item) {
	add := func(text string, m chat.Message) {
		text = summarize.EscapeLabels(text)
		items = append(items, summarize.Item{Text: text, Tokens: tokens.PerMessage + tokens.Estimate(text), From: m.Seq, To: m.Seq, Said: m})
	}
	if s.headText != "" {
		text := secrets.Mask(strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(s.headText, headOpen), headClose)))
		add(text, chat.Message{Seq: 1})
	}
	for _, l := range s.lines {
		m := withoutSecrets([]chat.Message{*l.Message})[0]
		switch text := secrets.Mask(l.text); {
		case m.Role == llm.RoleUser: // a quote in its heading may have been cut inside a secret
			add(lineOf(m, s.shape).text, m)
		case m.Role == llm.RoleTool:
			add(fmt.Sprintf("[#%d result of %s] %s", m.Seq, chat.CleanName(m.Tool), text), m)
		case text != "":
			add(fmt.Sprintf("[#%d assistant] %s", m.Seq, text), m)
		}
	}
	return items
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
	if c.reread(ctx); c.h.outdated {
		return nil, errOutdated
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
