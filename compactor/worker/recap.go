package worker

import (
	"context"
	"math"
	"strings"

	"cairn/compactor/judge"
	"cairn/compactor/summarize"
	"cairn/internal/secrets"
	"cairn/llm"
	"cairn/transcript"
)

// Recap has the model summarize items in one request for a person and, if that fails, the fallback: it is mostly the model
// that answers in the chat, so what its prompt shows fits its window.
func (w *Worker) Recap(ctx context.Context, a Assignment, items []summarize.Item) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, a.Timeout)
	defer cancel()
	release, err := w.slot(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	by := &writer{Worker: w, Material: Material{Assignment: a}, prompt: w.Texts.Recap}
	s, err := by.recap(ctx, w.Model, items)
	if err != nil && w.Fallback != nil && ctx.Err() == nil {
		s, err = by.recap(ctx, w.Fallback, items)
	}
	return s.Text, err
}

// recap has a model write a recap, and marks what has no evidence. A panic is an error.
func (w *writer) recap(ctx context.Context, model llm.Model, items []summarize.Item) (s summarize.Summary, err error) {
	err = Guard(w.Log, func() error {
		w.use(ctx, model)
		all := w.part(w.Target, w.Limit)
		all.items = items
		only := &review{judge: all.judge(), maxLength: math.MaxInt, sentBack: true} // there is no second request
		a := &attempt{part: all, calls: w.newCalls(func() {}), review: only}
		if w.room(a.messages(w.system), nil) < all.minAnswer() {
			return &llm.Error{Kind: llm.KindOverflow, Message: "the recap's prompt is too long"}
		}
		text, err := a.withoutTools(ctx)
		if err == nil {
			s.Text = marked(all.judge().Check(summarize.ShortenSummary(secrets.Mask(text), w.Limit)))
		}
		return err
	})
	return s, err
}

// marked returns a judged text for people.
func marked(c judge.Checked) string {
	lines := strings.Split(c.Text, "\n")
	for _, at := range c.Unknown {
		lines[at] = strings.TrimRight(lines[at], " \t\r") + " " + transcript.NoEvidence
	}
	return strings.Join(lines, "\n")
}
