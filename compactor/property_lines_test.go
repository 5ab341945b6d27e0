package compactor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cairn/compactor"
	"cairn/testkit/check"
	"cairn/transcript"

	"pgregory.net/rapid"
)

// What people write in summaries: it stays as long as nothing is deleted or undone.

func (w *owner) Rewrite(ctx context.Context, id int64, number int, text string) (compactor.Event, error) {
	return try(w, ctx, func(ctx context.Context) (compactor.Event, error) {
		return compactor.RewriteLine(ctx, w.Compactor, id, number, text, transcript.Writer{Name: "Ada", ID: "u1"})
	})
}

// rewrite rewrites or removes a line of a shown summary.
func (m *machine) rewrite(rt *rapid.T) {
	r := m.r
	quiet := !r.c.Busy() // else a summary may be applied before the next look, e.g. in place of a placeholder
	g := r.c.Status()
	rows := slices.Concat(rowsOf(g.Past.Earlier), g.Stack)
	if len(rows) == 0 {
		return
	}
	row := rows[below(rt, len(rows), "rewritten")]
	claims := row.Claims()
	if len(claims) == 0 || row.ID == 0 {
		return
	}
	number := 1 + below(rt, len(claims), "line")
	text := ""
	if !chance(rt, 5, "removed") {
		m.written++
		text = strings.TrimSpace(fmt.Sprintf("written %d. %s", m.written, filler(one(rt, "size of a line", 1, 5, 20))))
	}
	e, err := r.c.Rewrite(context.Background(), row.ID, number, text)
	noRoom, refused := errors.AsType[*compactor.NoRoomError](err)
	switch {
	case err != nil && (m.refusing || m.disk.dead.Load()):
		return
	case refused:
		check.Require(rt, noRoom.Why != "", "a line is refused without a reason")
		m.tally.add(1, "lines without room")
		return
	case !quiet && errors.Is(err, transcript.ErrNotApplied):
		return
	case err != nil:
		check.Error(rt, err, transcript.ErrOnlyLine)
		return
	}
	m.last = view{}
	if e.State == compactor.EventRewritten {
		m.tally.add(1, "lines rewritten")
	}
	now := r.c.Status()
	if e.State == compactor.EventRewritten && quiet {
		check.Equal(rt, "tokens after a line was rewritten", e.AfterTokens, now.Used)
		check.Require(rt, text == "" || slices.ContainsFunc(slices.Concat(rowsOf(now.Past.Earlier), now.Stack), func(row compactor.Summary) bool {
			return row.ID == e.ID && slices.ContainsFunc(theirs(row), func(line string) bool { return line == text })
		}), "the line is not there: %+v", e)
	}
	r.c.Check(context.Background())
	m.waitForWorker(rt)
}

// theirs returns the lines that people wrote in a summary.
func theirs(row compactor.Summary) (texts []string) {
	claims := row.Claims()
	for _, c := range claims {
		if c.By != "" {
			texts = append(texts, c.Text)
		}
	}
	return texts
}

// allTheirs returns the lines that people wrote in the summaries on disk.
func (m *machine) allTheirs() (texts []string) {
	for _, row := range m.r.storedHead().Rows() {
		texts = append(texts, theirs(row)...)
	}
	return texts
}

// takesLines are the steps that may take away what people wrote.
var takesLines = []string{"talk", "delete", "undo", "compact and undo", "rewrite"}

// checkLinesStay checks that a step which neither deletes nor undoes leaves what people wrote before.
func (m *machine) checkLinesStay(rt *rapid.T, step string, before []string) {
	if slices.Contains(takesLines, step) {
		return
	}
	now := m.allTheirs()
	for _, line := range before {
		m.tally.add(1, "lines of people that stay")
		check.Require(rt, slices.Contains(now, line), "%s: %q is gone, and %q are left", step, line, now)
	}
}
