package worker

import (
	"fmt"
	"slices"
	"strings"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/secrets"
	"cairn/internal/tokens"
	"cairn/internal/words"
	"cairn/transcript"
)

// What a model reads around its span, for reference: the summary before it, and an extract of
// what follows. So it can resolve references, and does not list a question as open that was
// answered later. It also reads what people wrote in the summaries that it makes anew.

const (
	maxAroundTokens = 400 // tokens of what precedes the span, and of what follows it
	aroundShare     = 24  // and 1/24 of the model's window

	// maxLater is how many messages after the span are considered.
	maxLater = 100
)

// Around is what surrounds a span.
type Around struct {
	corrections []string             // what people wrote in the summaries of the span, a line each
	before      transcript.Summary   // the nearest one, or the one of the part before, of which the text alone is known
	later       []chat.Message       // what follows, oldest first; a summary is a message of the assistant
	rows        []transcript.Summary // the summaries in later
	max         int                  // tokens of each in a request
}

// AroundOf returns what surrounds a row in its session, of which rows are the summaries and messages the verbatim
// messages: the nearest summary before it, and what the prompt has after it; nothing for a row without a span.
func AroundOf(row transcript.Summary, rows []transcript.Summary, messages []transcript.Verbatim) (a Around) {
	if row.To == 0 {
		return a
	}
	for _, r := range rows {
		if r.Overlaps(row.Span) {
			a.corrections = append(a.corrections, correctionsIn(r)...)
		}
		if r.To < row.From && r.Kind != transcript.Placeholder {
			a.before = r
		}
	}
	for _, r := range rows {
		if r.From > row.To && r.Kind != transcript.Placeholder {
			a.later = append(a.later, summarize.WrittenOf(r))
			a.rows = append(a.rows, r)
		}
	}
	for _, m := range messages {
		if m.Seq > row.To && len(a.later) < maxLater {
			a.later = append(a.later, *m.Message)
		}
	}
	return a
}

// beside returns the summaries that a model reads.
func (a Around) beside() (b summarize.Beside) {
	for _, row := range append([]transcript.Summary{a.before}, a.rows...) {
		if row.ID != 0 {
			b.Rows = append(b.Rows, row.ID)
		}
	}
	return b
}

// correctionsIn returns the lines of people in a summary, and who wrote them.
func correctionsIn(row transcript.Summary) (lines []string) {
	for _, l := range row.Claims() {
		if l.By != "" {
			lines = append(lines, fmt.Sprintf("%s corrected: %s", chat.CleanName(l.By), secrets.Mask(l.Text)))
		}
	}
	return lines
}

// newestCorrections returns what people wrote, a line for each, within a.max tokens.
func (a Around) newestCorrections() string {
	text := ""
	for _, line := range slices.Backward(a.corrections) {
		with := strings.TrimSuffix(line+"\n"+text, "\n")
		if tokens.Estimate(with) > a.max {
			break
		}
		text = with
	}
	return text
}

// of returns what surrounds one part of a span: the text of the summary of the part before it, and the
// parts after it.
func (a Around) of(text string, rest [][]summarize.Item) Around {
	if text != "" {
		a.before = transcript.Summary{Text: text}
	}
	items := slices.Concat(rest...)
	a.rows = slices.Clone(a.rows)
	for i, it := range items {
		if it.Row != nil && (i == 0 || items[i-1].Row != it.Row) { // else another part of it
			a.rows = append(a.rows, *it.Row)
		}
	}
	a.later = slices.Concat(summarize.MessagesIn(items), a.later)
	a.later = a.later[:min(len(a.later), maxLater)]
	return a
}

// labelled returns the text for the model: what precedes, and the sentences of what follows that
// are most relevant to the span's questions, if it has any; with the messages that it quotes.
func (a Around) labelled(items []summarize.Item) (text string, seqs []int64) {
	var b strings.Builder
	if text := tokens.Clip(a.before.Text, a.max); text != "" {
		b.WriteString("<before note=\"for reference, summarized already\">\n" + summarize.EscapeLabels(text) + "\n</before>\n")
	}
	if text := a.newestCorrections(); text != "" {
		b.WriteString("<corrections note=\"people wrote these lines about the transcript, and they stay in its summary: contradict and repeat none\">\n" + summarize.EscapeLabels(text) + "\n</corrections>\n")
	}
	var after summarize.Summary
	if questions := questionsIn(items); questions != "" {
		after = summarize.Extract(WithoutSecrets(a.later), a.max, 0, questions)
	}
	if after.Text != "" {
		b.WriteString("<after note=\"for reference, some of what was said since\">\n" + summarize.EscapeLabels(after.Text) + "\n</after>\n")
	}
	for _, seq := range after.Sources {
		if seq != 0 {
			seqs = append(seqs, seq)
		}
	}
	return b.String(), seqs
}

// questionsIn returns the questions of the span, one per line.
func questionsIn(items []summarize.Item) string {
	var b strings.Builder
	for _, m := range summarize.MessagesIn(items) {
		for _, sentence := range words.Sentences(m.Text) {
			if words.IsQuestion(sentence) {
				b.WriteString(sentence + "\n")
			}
		}
	}
	return b.String()
}

// summaries returns the summaries around the span.
func (a Around) summaries() []transcript.Summary { return append(slices.Clip(a.rows), a.before) }

// after returns what the model may read of the messages that follow its span, a line for each.
func (a Around) after() string {
	var lines []string
	for _, m := range a.later {
		if m.Seq == 0 { // it is in rows
			continue
		}
		lines = append(lines, summarize.Cite(strings.Join(strings.Fields(m.Author+": "+m.Text), " "), m.Seq))
	}
	return strings.Join(lines, "\n")
}
