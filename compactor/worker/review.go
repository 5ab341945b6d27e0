package worker

import (
	"cmp"
	"slices"

	"cairn/compactor/judge"
	"cairn/compactor/summarize"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/transcript"
)

// review judges the summaries that a model writes of one part.
type review struct {
	judge     *judge.Judge
	maxLength int                      // of an accepted summary, in tokens
	sentBack  bool                     // the model has seen once which lines are contradicted
	rest      string                   // the newest summary without the lines that the messages contradict; "": none was contradicted
	dropped   []transcript.DroppedLine // lines of the newest summary that are missing in rest
}

// accept returns the summary in an answer, or why it is refused.
func (a *attempt) accept(resp llm.Response) (string, error) {
	text := a.review.judge.TextOf(resp.Message.Text)
	if why := cmp.Or(judge.Broken(resp.FinishReason), a.refuses(text, a.refused)); why != "" {
		return "", why
	}
	return a.withoutContradictions(text)
}

// refuses returns why a text cannot be the part's summary; "" if it can. A model that should write
// in another language, and does not, cannot: then its summary is accepted if the rest of it is right.
func (a *attempt) refuses(text string, before judge.Refusal) judge.Refusal {
	instructions := a.w.system + "\n" + a.w.agent + "\n" + a.question() + "\n" + a.w.Texts.AskSave
	why := a.review.judge.Refuses(text, instructions, tokens.Clip(a.around.before.Text, a.around.max), a.review.maxLength)
	if why.OfLanguage() && before.OfLanguage() && a.review.judge.Supports(text) {
		return ""
	}
	return why
}

// withoutContradictions returns a summary without the lines that the messages contradict, and those that people removed. The first
// one with contradicted lines is refused with the reasons, if the model may still be called.
func (a *attempt) withoutContradictions(text string) (string, error) {
	c := a.review.judge.Check(text)
	a.review.dropped = c.Wrong
	if len(c.Wrong) == 0 {
		return text, nil
	}
	refused := a.refuses(c.Text, a.refused)
	if refused == "" {
		a.review.rest = c.Text
	}
	judged := slices.ContainsFunc(c.Wrong, func(l transcript.DroppedLine) bool { return l.By == "" })
	if refused == "" && (!judged || a.review.sentBack || a.calls.left() <= 0) {
		return c.Text, nil
	}
	a.review.sentBack = true
	return "", judge.Contradicted{Lines: c.Wrong}
}

// checked returns the judged text within the part's limit, the marks of lines without evidence included.
func (p *part) checked(text string) judge.Checked {
	judge := p.judge()
	c := judge.Check(summarize.ShortenSummary(text, p.limit))
	withMarks := transcript.Summary{Text: c.Text, Lines: c.Lines}.Marked()
	marks := tokens.Estimate(withMarks) - tokens.Estimate(c.Text)
	if tokens.Estimate(withMarks) <= p.limit || marks >= p.limit {
		return c
	}
	shorter := judge.Check(summarize.ShortenSummary(c.Text, p.limit-marks))
	shorter.Wrong = append(c.Wrong, shorter.Wrong...)
	return shorter
}

// judge returns the judge of the part's summaries.
func (p *part) judge() *judge.Judge {
	return judge.Of(p.items).With(p.around.after(), p.w.agent, p.around.summaries()...).Without(p.w.Removed)
}

// withDropped returns a summary with the lines that were left out of its text.
func withDropped(s summarize.Summary, lines []transcript.DroppedLine) summarize.Summary {
	s.DroppedLines = lines
	for _, l := range lines {
		if l.By == "" {
			s.Dropped++
		}
	}
	return s
}
