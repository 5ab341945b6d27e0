package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cairn/channel/report"
	"cairn/channel/sentences"
	"cairn/chat"
	"cairn/compactor"
	"cairn/store"
)

// The lines of summaries: what each rests on, and how people rewrite one.

// runLines shows the lines of a summary, shows what one of them rests on, or rewrites one.
func runLines(ctx context.Context, c *Call) (Answer, error) {
	edit, rest := cutWord(c.Args)
	if !strings.EqualFold(edit, "edit") {
		edit = ""
		rest = c.Args
	}
	first, rest := cutWord(rest)
	second, text := cutWord(rest)
	id, ok := numberOf(first)
	line, also := numberOf(cmp.Or(second, "1"))
	if !ok || !also || edit == "" && text != "" || edit != "" && second == "" {
		return Answer{}, sentences.NewProblem(c.Speaker.Sayf(`Use /summaries 12 for a summary, /summaries 12 3 for its third line, or /summaries edit 12 3 and the new text to rewrite the line; without a text I remove it.`))
	}
	if edit != "" {
		return editLine(ctx, c, id, int(line), text)
	}
	row, err := shownSummary(ctx, c, id)
	if err != nil {
		return Answer{}, err
	}
	if second == "" {
		return linesAnswer(ctx, c, row), nil
	}
	return evidenceAnswer(ctx, c, row, int(line))
}

// cutWord splits a text after its first word.
func cutWord(text string) (word, rest string) {
	word, rest, _ = strings.Cut(strings.TrimSpace(text), " ")
	return word, strings.TrimSpace(rest)
}

func shownSummary(ctx context.Context, c *Call, id int64) (row compactor.Summary, err error) {
	e, err := c.Records.Transcript().Expand(ctx, id, 1, 0)
	if errors.Is(err, store.ErrNotFound) {
		err = fateError(ctx, c, id)
	}
	return e.Row, err
}

// fateError explains to people why a summary cannot be shown or changed: what became of it.
func fateError(ctx context.Context, c *Call, id int64) error {
	fate, err := c.Records.Compactions().Fate(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return sentences.NewProblem(c.Speaker.Sayf("There is no summary %d in this conversation; /summaries lists them.", id))
	case err != nil:
		return err
	case fate.State == compactor.Running:
		return sentences.NewProblem(c.Speaker.Sayf("Summary %d is still being written.", id))
	case fate.State == compactor.Prepared:
		return sentences.NewProblem(c.Speaker.Sayf("Summary %d is ready and will be applied as soon as there is room.", id))
	case fate.State == compactor.Undone:
		return sentences.NewProblem(c.Speaker.Sayf("Summary %d was undone.", id))
	case fate.State == compactor.Failed, fate.State == compactor.Stale:
		return sentences.NewProblem(c.Speaker.Sayf("Summary %d was never applied: it failed, or its messages changed before it was ready.", id))
	case fate.In != 0 && fate.In != id && fate.State == compactor.RolledUp:
		return sentences.NewProblem(partOf(c.Speaker, id, fate.In))
	case fate.In != 0 && fate.In != id:
		return sentences.NewProblem(c.Speaker.Sayf("Summary %d was replaced by summary %d; /summaries %d shows its lines.", id, fate.In, fate.In))
	}
	return sentences.NewProblem(c.Speaker.Sayf("Summary %d is not in the prompt.", id))
}

func partOf(speaker sentences.Speaker, id, whole int64) string {
	return speaker.Sayf("Summary %d is part of summary %d now; /summaries %d shows its lines.", id, whole, whole)
}

func linesAnswer(ctx context.Context, c *Call, row compactor.Summary) Answer {
	answer := Answer{Text: summaryWords(c.Speaker, row), Buttons: []Button{{Label: "Expand", Line: fmt.Sprintf("/expand %d", row.ID), Beside: true}}}
	for _, l := range report.LinesOf(row) {
		answer.Items = append(answer.Items, lineWords(c.Speaker, l))
	}
	written := len(answer.Items) > 0
	for _, l := range row.DroppedLines {
		answer.Items = append(answer.Items, droppedWords(c.Speaker, l.Text, l.Why, l.By))
	}
	if !written {
		answer.Items = append(answer.Items, c.Speaker.Sayf("This summary has no text yet; /expand %d shows its messages.", row.ID))
		return answer
	}
	if isInPrompt(c.Conversation.Status(), row.ID) {
		answer.Items = append(answer.Items, c.Speaker.Sayf("/summaries %d 1 shows what line 1 rests on; /summaries edit %d 1 and a text rewrites it.", row.ID, row.ID))
	} else if fate, err := c.Records.Compactions().Fate(ctx, row.ID); err == nil && fate.In != 0 && fate.In != row.ID {
		answer.Items = append(answer.Items, partOf(c.Speaker, row.ID, fate.In))
	}
	return answer
}

// droppedWords describes a line that is not in a summary; by is the person who removed it, if one did.
func droppedWords(speaker sentences.Speaker, text, why, by string) string {
	if by != "" {
		return speaker.Sayf("Removed or rewritten by %s: %s", chat.OneLine(by), chat.OneLine(text))
	}
	return speaker.Sayf("Dropped: %s (%s)", chat.OneLine(text), chat.OneLine(speaker.Translate(why)))
}

// isInPrompt reports whether a summary is one of those that the prompt has, so that its lines can be rewritten.
func isInPrompt(g compactor.Status, id int64) bool {
	rows := g.Stack
	for _, session := range g.Past.Earlier {
		rows = slices.Concat(rows, session.Rows)
	}
	return slices.ContainsFunc(rows, func(row compactor.Summary) bool { return row.ID == id })
}

// lineWords shows a line, and what it rests on.
func lineWords(speaker sentences.Speaker, l report.SummaryLine) string {
	return fmt.Sprintf("%d. %s%s", l.Number, l.Text, restsOn(speaker, l))
}

// restsOn says what a line rests on; "" if that is not known.
func restsOn(speaker sentences.Speaker, l report.SummaryLine) string {
	switch {
	case l.By != "":
		return speaker.Sayf(" · written by %s", chat.OneLine(l.By))
	case l.Earlier != 0 && len(l.Seqs) > 0:
		return speaker.Sayf(" · rests on summary %d (%s)", l.Earlier, report.Numbered(l.Seqs))
	case l.Earlier != 0:
		return speaker.Sayf(" · rests on summary %d", l.Earlier)
	case len(l.Seqs) > 0:
		return speaker.Sayf(" · rests on %s", report.Numbered(l.Seqs))
	case l.Beside:
		return speaker.Sayf(" · rests on what was shown beside these messages")
	case l.Evidence != nil:
		return speaker.Sayf(" · no evidence")
	}
	return ""
}

func evidenceAnswer(ctx context.Context, c *Call, row compactor.Summary, number int) (Answer, error) {
	lines := report.LinesOf(row)
	if number > len(lines) {
		return Answer{}, lineError(ctx, c, row.ID, number, compactor.ErrNoLine)
	}
	l := lines[number-1]
	answer := Answer{Text: lineWords(c.Speaker, l)}
	messages, err := report.Evidence(ctx, c.Records, l)
	for _, m := range messages {
		answer.Items = append(answer.Items, m.String())
	}
	if l.Evidence == nil {
		answer.Items = append(answer.Items, c.Speaker.Sayf("I do not know which messages it rests on; /expand %d shows all of them.", row.ID))
	}
	return answer, err
}

// editLine rewrites a line for a person, who needs the same right as for /undo.
func editLine(ctx context.Context, c *Call, id int64, number int, text string) (Answer, error) {
	undo, err := Find("undo")
	if err != nil {
		return Answer{}, err
	}
	if !c.mayRun(undo) {
		return Answer{}, denial("Only people who manage this place may rewrite a summary. Ask one of them.")
	}
	e, err := RewriteLine(ctx, c, id, number, text)
	switch {
	case err != nil:
		return Answer{}, err
	case e.State == compactor.EventNoop:
		return Answer{Text: c.Speaker.Sayf("Line %d of summary %d already says that.", number, id)}, nil
	case text == "":
		return Answer{Text: c.Speaker.Sayf("Removed line %d of summary %d. The new version is summary %d; /undo reverts this.", number, id, e.ID)}, nil
	}
	return Answer{Text: c.Speaker.Sayf("Rewrote line %d of summary %d; later summaries keep your wording. The new version is summary %d; /undo reverts this.", number, id, e.ID)}, nil
}

// RewriteLine replaces a line of a summary, which people count from 1, for the person of a call; an empty text removes it. Its
// error is a sentences.Problem if people can do something about it.
func RewriteLine(ctx context.Context, c *Call, id int64, number int, text string) (compactor.Event, error) {
	writer := compactor.Writer{Name: cmp.Or(chat.CleanName(c.Who.Name), c.Who.ID), ID: c.Who.ID}
	event, err := c.Conversation.Rewrite(id, number, text, writer)
	return event, lineError(ctx, c, id, number, err)
}

// lineError explains to people why a line cannot be shown or rewritten.
func lineError(ctx context.Context, c *Call, id int64, number int, err error) error {
	noRoom, full := errors.AsType[*compactor.NoRoomError](err)
	switch {
	case errors.Is(err, compactor.ErrNotApplied):
		return fateError(ctx, c, id)
	case errors.Is(err, compactor.ErrNoLine):
		return sentences.NewProblem(c.Speaker.Sayf("Summary %d has no line %d; /summaries %d lists its lines.", id, number, id))
	case errors.Is(err, compactor.ErrOnlyLine):
		return sentences.NewProblem(c.Speaker.Sayf("It is the only line of summary %d. Rewrite it, or undo the summary with /undo.", id))
	case errors.Is(err, compactor.ErrLongLine):
		return sentences.NewProblem(c.Speaker.Sayf("That line is too long: at most %d characters.", compactor.MaxLine))
	case full:
		return sentences.NewProblem(c.Speaker.Sayf("There is no room for that line: %s.", c.Speaker.Translate(noRoom.Why)))
	}
	return err
}
