package channel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cairn/chat"
	"cairn/compactor"
	"cairn/store"
)

// The lines of summaries: what each rests on, and how people rewrite one.

// runLines shows the lines of a summary, shows what one of them rests on, or rewrites one.
func runLines(ctx context.Context, c *conversation, who Person, args string) (Answer, error) {
	edit, rest := cutWord(args)
	if !strings.EqualFold(edit, "edit") {
		edit = ""
		rest = args
	}
	first, rest := cutWord(rest)
	second, text := cutWord(rest)
	id, ok := numberOf(first)
	line, also := numberOf(cmp.Or(second, "1"))
	if !ok || !also || edit == "" && text != "" || edit != "" && second == "" {
		return Answer{}, errPeople(c.sayf(`Use /summaries 12 for a summary, /summaries 12 3 for its third line, or /summaries edit 12 3 and the new text to rewrite the line; without a text I remove it.`))
	}
	if edit != "" {
		return c.editLine(who, id, int(line), text)
	}
	row, err := c.shownSummary(ctx, id)
	if err != nil {
		return Answer{}, err
	}
	if second == "" {
		return c.linesAnswer(ctx, row), nil
	}
	return c.evidenceAnswer(ctx, row, int(line))
}

// cutWord splits a text after its first word.
func cutWord(text string) (word, rest string) {
	word, rest, _ = strings.Cut(strings.TrimSpace(text), " ")
	return word, strings.TrimSpace(rest)
}

func (c *conversation) shownSummary(ctx context.Context, id int64) (row compactor.Summary, err error) {
	e, err := c.records.Transcript().Expand(ctx, id, 1, 0)
	if errors.Is(err, store.ErrNotFound) {
		err = c.fateError(ctx, id)
	}
	return e.Row, err
}

// fateError explains to people why a summary cannot be shown or changed: what became of it.
func (c *conversation) fateError(ctx context.Context, id int64) error {
	fate, err := c.records.Compactions().Fate(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return errPeople(c.sayf("There is no summary %d in this conversation; /summaries lists them.", id))
	case err != nil:
		return err
	case fate.State == compactor.Running:
		return errPeople(c.sayf("Summary %d is still being written.", id))
	case fate.State == compactor.Prepared:
		return errPeople(c.sayf("Summary %d is ready and will be applied as soon as there is room.", id))
	case fate.State == compactor.Undone:
		return errPeople(c.sayf("Summary %d was undone.", id))
	case fate.State == compactor.Failed, fate.State == compactor.Stale:
		return errPeople(c.sayf("Summary %d was never applied: it failed, or its messages changed before it was ready.", id))
	case fate.In != 0 && fate.In != id && fate.State == compactor.RolledUp:
		return errPeople(c.partOf(id, fate.In))
	case fate.In != 0 && fate.In != id:
		return errPeople(c.sayf("Summary %d was replaced by summary %d; /summaries %d shows its lines.", id, fate.In, fate.In))
	}
	return errPeople(c.sayf("Summary %d is not in the prompt.", id))
}

func (c *conversation) partOf(id, whole int64) string {
	return c.sayf("Summary %d is part of summary %d now; /summaries %d shows its lines.", id, whole, whole)
}

func (c *conversation) linesAnswer(ctx context.Context, row compactor.Summary) Answer {
	answer := Answer{Text: c.summaryWords(row)}
	for _, l := range linesOf(row) {
		answer.Items = append(answer.Items, fmt.Sprintf("%d. %s%s", l.Number, l.Text, c.restsOn(l)))
	}
	written := len(answer.Items) > 0
	for _, l := range row.DroppedLines {
		answer.Items = append(answer.Items, c.droppedWords(l.Text, l.Why, l.By))
	}
	if !written {
		answer.Items = append(answer.Items, c.sayf("This summary has no text yet; /expand %d shows its messages.", row.ID))
		return answer
	}
	if c.isInPrompt(row.ID) {
		answer.Items = append(answer.Items, c.sayf("/summaries %d 1 shows what line 1 rests on; /summaries edit %d 1 and a text rewrites it.", row.ID, row.ID))
	} else if fate, err := c.records.Compactions().Fate(ctx, row.ID); err == nil && fate.In != 0 && fate.In != row.ID {
		answer.Items = append(answer.Items, c.partOf(row.ID, fate.In))
	}
	return answer
}

// droppedWords describes a line that is not in a summary; by is the person who removed it, if one did.
func (c *conversation) droppedWords(text, why, by string) string {
	if by != "" {
		return c.sayf("Removed or rewritten by %s: %s", chat.OneLine(by), chat.OneLine(text))
	}
	return c.sayf("Dropped: %s (%s)", chat.OneLine(text), chat.OneLine(c.translated(why)))
}

// isInPrompt reports whether a summary is one of those that the prompt has, so that its lines can be rewritten.
func (c *conversation) isInPrompt(id int64) bool {
	g := (*c.engineStatus.Load())()
	rows := g.Stack
	for _, session := range g.Past.Earlier {
		rows = slices.Concat(rows, session.Rows)
	}
	return slices.ContainsFunc(rows, func(row compactor.Summary) bool { return row.ID == id })
}

// restsOn says what a line rests on; "" if that is not known.
func (c *conversation) restsOn(l SummaryLine) string {
	switch {
	case l.By != "":
		return c.sayf(" · written by %s", chat.OneLine(l.By))
	case l.Earlier != 0 && len(l.Seqs) > 0:
		return c.sayf(" · rests on summary %d (%s)", l.Earlier, Numbered(l.Seqs))
	case l.Earlier != 0:
		return c.sayf(" · rests on summary %d", l.Earlier)
	case len(l.Seqs) > 0:
		return c.sayf(" · rests on %s", Numbered(l.Seqs))
	case l.Beside:
		return c.sayf(" · rests on what was shown beside these messages")
	case l.Evidence != nil:
		return c.sayf(" · no evidence")
	}
	return ""
}

// maxShown is how many messages of a line's evidence are shown: a line of an extract may quote a hundred.
const maxShown = 12

// Numbered formats the numbers of messages, the first maxShown of them and how many there are: "#12, #15", "#1, #2, … (140)".
func Numbered(seqs []int64) string {
	names := make([]string, min(len(seqs), maxShown))
	for i := range names {
		names[i] = "#" + strconv.FormatInt(seqs[i], 10)
	}
	shown := strings.Join(names, ", ")
	if len(seqs) > maxShown {
		shown += fmt.Sprintf(", … (%d)", len(seqs))
	}
	return shown
}

func (c *conversation) evidenceAnswer(ctx context.Context, row compactor.Summary, number int) (Answer, error) {
	lines := linesOf(row)
	if number > len(lines) {
		return Answer{}, c.lineError(row.ID, number, compactor.ErrNoLine)
	}
	l := lines[number-1]
	answer := Answer{Text: fmt.Sprintf("%d. %s%s", l.Number, l.Text, c.restsOn(l))}
	messages, err := Evidence(ctx, c.records, l)
	for _, m := range messages {
		answer.Items = append(answer.Items, m.String())
	}
	if l.Evidence == nil {
		answer.Items = append(answer.Items, c.sayf("I do not know which messages it rests on; /expand %d shows all of them.", row.ID))
	}
	return answer, err
}

// Evidence returns the first maxShown messages that a line of a summary rests on, without those that were deleted since.
func Evidence(ctx context.Context, records *store.Conversation, l SummaryLine) (messages []chat.Record, err error) {
	for _, seq := range l.Seqs[:min(len(l.Seqs), maxShown)] {
		m, failed := records.Transcript().Message(ctx, seq)
		if failed == nil {
			messages = append(messages, chat.RecordOf(m))
		} else if !errors.Is(failed, store.ErrNotFound) {
			err = failed
		}
	}
	return messages, err
}

// editLine rewrites a line for a person, who needs the same right as for /undo.
func (c *conversation) editLine(who Person, id int64, number int, text string) (Answer, error) {
	undo := Commands[slices.IndexFunc(Commands, func(command Command) bool { return command.Name == "undo" })]
	if !c.hub.mayRun(c.name, who, undo) {
		return Answer{}, errDenied("Only people who manage this place may rewrite a summary. Ask one of them.")
	}
	e, err := c.rewrite(id, number, text, who)
	switch {
	case err != nil:
		return Answer{}, err
	case e.State == compactor.EventNoop:
		return Answer{Text: c.sayf("Line %d of summary %d already says that.", number, id)}, nil
	case text == "":
		return Answer{Text: c.sayf("Removed line %d of summary %d. The new version is summary %d; /undo reverts this.", number, id, e.ID)}, nil
	}
	return Answer{Text: c.sayf("Rewrote line %d of summary %d; later summaries keep your wording. The new version is summary %d; /undo reverts this.", number, id, e.ID)}, nil
}

// rewrite rewrites a line of a summary. An error of people says why it cannot be.
func (c *conversation) rewrite(id int64, number int, text string, by Person) (event compactor.Event, err error) {
	writer := compactor.Writer{Name: cmp.Or(chat.CleanName(by.Name), by.ID), ID: by.ID}
	var failed error
	err = c.tryDo(func(e *compactor.Compactor) {
		event, failed = compactor.RewriteLine(c.hub.ctx, e, id, number, text, writer)
		e.Check(c.hub.ctx)
	})
	return event, cmp.Or(err, c.lineError(id, number, failed))
}

// lineError explains to people why a line cannot be shown or rewritten.
func (c *conversation) lineError(id int64, number int, err error) error {
	noRoom, full := errors.AsType[*compactor.NoRoomError](err)
	switch {
	case errors.Is(err, compactor.ErrNotShown):
		return c.fateError(c.hub.ctx, id)
	case errors.Is(err, compactor.ErrNoLine):
		return errPeople(c.sayf("Summary %d has no line %d; /summaries %d lists its lines.", id, number, id))
	case errors.Is(err, compactor.ErrOnlyLine):
		return errPeople(c.sayf("It is the only line of summary %d. Rewrite it, or undo the summary with /undo.", id))
	case errors.Is(err, compactor.ErrLongLine):
		return errPeople(c.sayf("That line is too long: at most %d characters.", compactor.MostOfLine))
	case full:
		return errPeople(c.sayf("There is no room for that line: %s.", c.translated(noRoom.Why)))
	}
	return err
}
