package compactor

import (
	"context"
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

// What a summarizer reads from the store.

// read returns the worker's material: the messages of the span, or for a rollup the children's
// texts, with messages in place of those that need a repair. A message of more than most tokens is
// split into parts.
func (m models) read(ctx context.Context, j *job, record Job, most int) ([]summarize.Item, error) {
	rows := j.children
	switch {
	case j.row.Kind != Rollup:
		rows = []Summary{{Kind: Placeholder, Span: Span{From: j.row.From, To: j.row.To}}}
	case j.repaired.ID != 0: // the rollup's own text is not read
		children, err := record.Children(ctx, j.repaired.ID)
		if err != nil {
			return nil, err
		}
		if len(children) > 0 {
			rows = children
		}
	}
	return collect(ctx, record, rows, func(row Summary) (items []summarize.Item, known bool, err error) {
		switch {
		case row.NeedsRepair() && m.gaveUp(row):
			return []summarize.Item{summarize.Omitted(row)}, true, nil
		case m.ready(row): // so no good summary is made from messages again
			return summarize.ItemsOfRow(row, most), true, nil
		}
		return nil, false, nil
	}, func(said []chat.Message) []summarize.Item { return summarize.ItemsOf(said, most) })
}

// collect returns the material for rows: what of knows of a row, else that of the rows below it, and
// at the bottom the messages.
func collect[T any](
	ctx context.Context, record Job, rows []Summary,
	of func(Summary) (part []T, known bool, err error), messages func([]chat.Message) []T,
) (all []T, err error) {
	for _, row := range rows {
		part, known, err := of(row)
		if err == nil && !known && row.IsRollup() {
			var children []Summary
			children, err = record.Children(ctx, row.ID)
			if err == nil {
				part, err = collect(ctx, record, children, of, messages)
			}
			known = len(part) > 0
		}
		if err == nil && !known {
			var said []chat.Message
			said, err = record.Messages(ctx, row.Span)
			part = messages(said)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, part...)
	}
	return all, nil
}

// withoutSecrets returns copies of messages with the secrets in them masked.
func withoutSecrets(messages []chat.Message) []chat.Message {
	masked := slices.Clone(messages)
	for i := range masked {
		m := &masked[i]
		m.Text, m.Quote = secrets.Mask(m.Text), secrets.Mask(m.Quote)
		m.Attachments = slices.Clone(m.Attachments)
		for k := range m.Attachments {
			a := &m.Attachments[k]
			a.Name = secrets.Mask(a.Name)
			a.Caption = secrets.Mask(a.Caption)
			a.Text = secrets.Mask(a.Text)
		}
	}
	return masked
}

// withoutSecretsIn returns copies of dropped lines with the secrets in them masked.
func withoutSecretsIn(lines []transcript.DroppedLine) []transcript.DroppedLine {
	lines = slices.Clone(lines)
	for i := range lines {
		lines[i].Text = secrets.Mask(lines[i].Text)
		lines[i].Why = secrets.Mask(lines[i].Why)
	}
	return lines
}

// What the worker reads around its span, for reference: the summary before it, and an extract of
// what follows. So it can resolve references, and does not list a question as open that was
// answered later. It also reads what people wrote in the summaries that it makes anew.

const (
	maxAroundTokens = 400 // tokens of what precedes the span, and of what follows it
	aroundShare     = 24  // and 1/24 of the worker's window

	// maxLater is how many messages after the span are considered.
	maxLater = 100
)

// around is what surrounds a span.
type around struct {
	theirs []string          // what people wrote in the summaries of the span
	before Summary           // the nearest one, or the one of the part before, of which the text alone is known
	later  []chat.Message    // what follows, oldest first; a summary is a message of the assistant
	rows   []Summary         // the summaries in later
	most   int               // most tokens shown of each
	read   *summarize.Beside // what was shown
}

// around returns what surrounds a row in its session: the nearest summary before it, and what is
// shown after it; nothing for a row without a span.
func (v view) around(row Summary) (a around) {
	a.read = new(summarize.Beside)
	if row.To == 0 {
		return a
	}
	rows := v.Head.Stack
	lines := v.Messages
	if row.From < v.Head.Start {
		rows = nil
		lines = nil
		for _, session := range v.Head.Earlier {
			if session.From <= row.From && row.To <= session.To {
				rows = session.Rows
			}
		}
	}
	for _, r := range rows {
		if r.Overlaps(row.Span) {
			a.theirs = append(a.theirs, correctionsIn(r)...)
		}
		if r.To < row.From && r.Kind != Placeholder {
			a.before = r
			a.before.Text = secrets.Mask(r.Text)
			a.read.Rows = []int64{r.ID}
		}
	}
	for _, r := range rows {
		if r.From > row.To && r.Kind != Placeholder {
			a.later = append(a.later, summarize.WrittenOf(r))
			a.rows = append(a.rows, r)
			a.read.Rows = append(a.read.Rows, r.ID)
		}
	}
	for _, l := range lines {
		if l.Seq > row.To && len(a.later) < maxLater {
			a.later = append(a.later, *l.Message)
		}
	}
	return a
}

// correctionsIn returns the lines of people in a summary, and who wrote them.
func correctionsIn(row Summary) (lines []string) {
	for _, l := range row.Claims() {
		if l.By != "" {
			lines = append(lines, fmt.Sprintf("%s corrected: %s", chat.CleanName(l.By), secrets.Mask(l.Text)))
		}
	}
	return lines
}

// corrections returns what people wrote, a line for each, in at most a.most tokens: the newest.
func (a around) corrections() string {
	text := ""
	for _, line := range slices.Backward(a.theirs) {
		with := strings.TrimSuffix(line+"\n"+text, "\n")
		if tokens.Estimate(with) > a.most {
			break
		}
		text = with
	}
	return text
}

// of returns what surrounds one part of a span: made, the summary of the part before it, and the
// parts after it.
func (a around) of(made string, rest [][]summarize.Item) around {
	if made != "" {
		a.before = Summary{Text: made}
	}
	items := slices.Concat(rest...)
	a.rows = slices.Clone(a.rows)
	for i, it := range items {
		if it.Row != nil && (i == 0 || items[i-1].Row != it.Row) { // else another part of it
			a.rows = append(a.rows, *it.Row)
		}
	}
	a.later = slices.Concat(saidIn(items), a.later)
	a.later = a.later[:min(len(a.later), maxLater)]
	return a
}

// labelled returns the text for the worker: what precedes, and the sentences of what follows that
// are most relevant to the span's questions, if it has any.
func (a around) labelled(items []summarize.Item) string {
	var b strings.Builder
	if text := tokens.Clip(a.before.Text, a.most); text != "" {
		b.WriteString("<before note=\"for reference, summarized already\">\n" + summarize.EscapeLabels(text) + "\n</before>\n")
	}
	if text := a.corrections(); text != "" {
		b.WriteString("<corrections note=\"people wrote these lines about the transcript, and they stay in its summary: contradict and repeat none\">\n" + summarize.EscapeLabels(text) + "\n</corrections>\n")
	}
	var after summarize.Summary
	if questions := questionsIn(items); questions != "" {
		after = summarize.Extract(withoutSecrets(a.later), a.most, 0, questions)
	}
	if after.Text != "" {
		b.WriteString("<after note=\"for reference, some of what was said since\">\n" + summarize.EscapeLabels(after.Text) + "\n</after>\n")
	}
	for _, seq := range after.Sources {
		if seq != 0 {
			a.read.Messages = append(a.read.Messages, seq)
		}
	}
	return b.String()
}

// questionsIn returns the questions of the span, one per line.
func questionsIn(items []summarize.Item) string {
	var b strings.Builder
	for _, m := range saidIn(items) {
		for _, sentence := range words.Sentences(m.Text) {
			if words.IsQuestion(sentence) {
				b.WriteString(sentence + "\n")
			}
		}
	}
	return b.String()
}

func saidIn(items []summarize.Item) []chat.Message {
	said := make([]chat.Message, len(items))
	for i, it := range items {
		said[i] = it.Message
	}
	return said
}
