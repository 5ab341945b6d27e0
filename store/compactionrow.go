// A row of the table compactions: the one list of its columns, by which whole rows are read and written.

package store

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/transcript"
)

// RecordedSummary is a summary as its row has it, with its times; zero: not yet.
type RecordedSummary struct {
	transcript.Summary
	Began, Ended, Applied time.Time // Ended: prepared, or failed
	Version               int64     // the same for rows that were applied together; 0: it was not applied
	EndedWith             int64     // the version with which it left the prompt; 0: it did not
	Next                  int64     // the seq of the next message when it was applied, or else when it began; 0: not known
	Parent                int64     // the rollup that covers it; 0: none
	Before, After         int       // tokens used when it was applied
}

// column is a column of a table, and the place of its value in a row: a pointer, or an sql.Scanner that is also a driver.Valuer.
type column struct {
	name  string
	place any
}

// columns returns the columns of a row, with their places. A Scan sets damaged if it cannot decode a list that the row needs.
// Not among them are conversation, which chooses the row, and cleared_before and extracted, which have a statement each.
func (r *RecordedSummary) columns(damaged *bool) []column {
	return []column{
		{"id", &r.ID},
		{"kind", &r.Kind},
		{"made_by", &r.By},
		{"state", &r.State},
		{"trigger", &r.Trigger},
		{"level", &r.Level},
		{"from_seq", &r.From},
		{"to_seq", &r.To},
		{"from_at", localTimeColumn{&r.FromTime}},
		{"to_at", localTimeColumn{&r.ToTime}},
		{"messages", &r.Messages},
		{"children", listColumn[int64]{&r.Children, damaged}},
		{"sources", listColumn[int64]{&r.Sources, damaged}},
		{"text", &r.Text},
		{"tokens", &r.Tokens},
		{"model", &r.Model},
		{"focus", &r.Focus},
		{"error", &r.Error},
		{"owed", &r.AwaitsModel},
		{"tries", &r.Declined.Times},
		{"tried_with", &r.Declined.By},
		{"lines", listColumn[transcript.Line]{&r.Lines, new(bool)}}, // if they are damaged, nothing is known of the lines
		{"dropped", &r.Dropped},
		{"dropped_lines", listColumn[transcript.DroppedLine]{&r.DroppedLines, new(bool)}},
		{"created_at", utcOrNull{&r.Began}},
		{"ended_at", utcOrNull{&r.Ended}},
		{"applied_at", utcOrNull{&r.Applied}},
		{"version", numberOrNull{&r.Version}},
		{"ended_with", numberOrNull{&r.EndedWith}},
		{"next_seq", numberOrNull{&r.Next}},
		{"parent", numberOrNull{&r.Parent}},
		{"before_tokens", &r.Before},
		{"after_tokens", &r.After},
	}
}

// compactionColumns are the names of all columns, for a SELECT whose rows scanCompaction reads.
var compactionColumns = strings.Join(columnNames(), ", ")

func columnNames() (names []string) {
	for _, col := range new(RecordedSummary).columns(nil) {
		names = append(names, col.name)
	}
	return names
}

// scanCompaction reads all columns, and those behind them into more.
func scanCompaction(rows *sql.Rows, r *RecordedSummary, more ...any) error {
	damaged := false
	columns := r.columns(&damaged)
	places := make([]any, 0, len(columns)+len(more))
	for _, col := range columns {
		places = append(places, col.place)
	}
	if err := rows.Scan(append(places, more...)...); err != nil {
		return err
	}
	if damaged { // it continues to hide its span, says so, and is repaired from its messages
		r.Kind = transcript.Placeholder
		r.By = transcript.Nobody
		r.Level = 0
		r.Text = ""
		r.Children = nil
		r.Sources = nil
		r.Lines = nil
		r.DroppedLines = nil
		r.Tokens = r.Cost()
	}
	return nil
}

// add writes a new row, and returns its id.
func (ss Summaries) add(r RecordedSummary) int64 {
	names := []string{"conversation"}
	values := []any{ss.c.id}
	for _, col := range r.columns(nil) {
		if col.name != "id" {
			names = append(names, col.name)
			values = append(values, col.place)
		}
	}
	marks := strings.Repeat(", ?", len(names))[2:]
	id := getValue[int64](ss.tx, "INSERT INTO compactions ("+strings.Join(names, ", ")+") VALUES ("+marks+") RETURNING id", values...)
	ss.settle(r.From)
	return id
}

// update writes the named columns of a row, if the conversation has it.
func (ss Summaries) update(r RecordedSummary, names ...string) {
	var set []string
	var values []any
	for _, col := range r.columns(nil) {
		if slices.Contains(names, col.name) {
			set = append(set, col.name+" = ?")
			values = append(values, col.place)
		}
	}
	if len(set) != len(names) {
		ss.tx.Fail(fmt.Errorf("write compaction %d: not all of %v are columns", r.ID, names))
		return
	}
	ss.tx.do("UPDATE compactions SET "+strings.Join(set, ", ")+" WHERE id = ? AND conversation = ?", append(values, r.ID, ss.c.id)...)
	if slices.Contains(names, "state") {
		ss.settle(r.From)
	}
}

// localTimeColumn is a column of a time that people see, see localTime.
type localTimeColumn struct{ at *time.Time }

func (c localTimeColumn) Scan(column any) error        { return localInto(c.at).Scan(column) }
func (c localTimeColumn) Value() (driver.Value, error) { return c.at.UnixMilli(), nil }

// utcOrNull is a column of a time for programs; NULL for the zero time.
type utcOrNull struct{ at *time.Time }

func (c utcOrNull) Scan(column any) error { return utcInto(c.at).Scan(column) }

func (c utcOrNull) Value() (driver.Value, error) {
	if c.at.IsZero() {
		return nil, nil
	}
	return c.at.UnixMilli(), nil
}

// numberOrNull is a column of a number; NULL for 0.
type numberOrNull struct{ n *int64 }

func (c numberOrNull) Scan(column any) error {
	*c.n, _ = column.(int64)
	return nil
}

func (c numberOrNull) Value() (driver.Value, error) {
	if *c.n == 0 {
		return nil, nil
	}
	return *c.n, nil
}

// listColumn is a column of a JSON list; empty text for an empty one. A Scan of damaged JSON leaves the list empty, and sets damaged.
type listColumn[T any] struct {
	list    *[]T
	damaged *bool
}

func (c listColumn[T]) Scan(column any) error {
	if jsonInto(c.list).Scan(column) != nil {
		*c.list = nil
		*c.damaged = true
	}
	return nil
}

func (c listColumn[T]) Value() (driver.Value, error) { return toJSON(*c.list), nil }
