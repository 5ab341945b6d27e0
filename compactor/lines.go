package compactor

import (
	"slices"
	"strings"

	"cairn/compactor/judge"
	"cairn/compactor/summarize"
	"cairn/internal/tokens"
	"cairn/transcript"
)

// lineCheck is the state of judging the lines of one chunk's summaries.
type lineCheck struct {
	sentBack bool                     // the model has seen the reasons once
	rest     string                   // the newest summary without the lines that the messages contradict; "": none was contradicted
	dropped  []transcript.DroppedLine // lines of the newest summary that are missing in rest
}

// withoutContradictions returns a summary without the lines that the messages contradict, and those that people removed. The first
// one with contradicted lines is refused with the reasons, if the model may still be called.
func (w worker) withoutContradictions(text string, items []summarize.Item) (string, error) {
	c := w.judge.Check(text)
	w.lines.dropped = c.Wrong
	if len(c.Wrong) == 0 {
		return text, nil
	}
	why := judge.Contradicted{Lines: c.Wrong}
	left := w.refuses(c.Text, items, w.refusal)
	if left == "" {
		w.lines.rest = c.Text
	}
	judged := slices.ContainsFunc(c.Wrong, func(l transcript.DroppedLine) bool { return l.By == "" })
	if left == "" && (!judged || w.lines.sentBack || w.left() <= 0) {
		return c.Text, nil
	}
	w.lines.sentBack = true
	return "", why
}

// judgeOf returns the judge of a chunk's summaries.
func (w worker) judgeOf(items []summarize.Item) *judge.Judge {
	return judge.Of(items).With(w.around.after(), w.agent, slices.Concat(w.around.rows, []Summary{w.around.before})...).Without(w.j.removed)
}

// checked returns the judged text within the worker's limit, the marks of lines without evidence included.
func (w worker) checked(text string, items []summarize.Item) judge.Checked {
	j := w.judgeOf(items)
	c := j.Check(summarize.ShortenSummary(text, w.limit))
	shown := Summary{Text: c.Text, Lines: c.Lines}.Marked()
	marks := tokens.Estimate(shown) - tokens.Estimate(c.Text)
	if tokens.Estimate(shown) <= w.limit || marks >= w.limit {
		return c
	}
	shorter := j.Check(summarize.ShortenSummary(c.Text, w.limit-marks))
	shorter.Wrong = append(c.Wrong, shorter.Wrong...)
	return shorter
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

// after returns what the worker may read of the messages that follow its span, a line for each.
func (a around) after() string {
	var lines []string
	for _, m := range a.later {
		if m.Seq == 0 { // it is in rows
			continue
		}
		lines = append(lines, summarize.Cite(strings.Join(strings.Fields(m.Author+": "+m.Text), " "), m.Seq))
	}
	return strings.Join(lines, "\n")
}

// marked returns a judged text for people.
func marked(c judge.Checked) string {
	lines := strings.Split(c.Text, "\n")
	for _, at := range c.Unknown {
		lines[at] = strings.TrimRight(lines[at], " \t\r") + " " + transcript.NoEvidence
	}
	return strings.Join(lines, "\n")
}
