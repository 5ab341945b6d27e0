// Tables: rows under a head, fitted to the terminal, or uncut for a program.
package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"golang.org/x/term"

	"cairn/terminal"
)

// showTable prints rows: as JSON if asJSON is set, else as a table of what their String
// separates by tabs. For a person, head is above it, columns without content
// are left out, and long cells are cut to the width of the terminal; a program gets all.
func (a *app) showTable(head string, rows []fmt.Stringer, asJSON bool) error {
	if asJSON {
		for _, row := range rows {
			if err := a.show(a.out, row, true); err != nil {
				return err
			}
		}
		return nil
	}
	if len(rows) == 0 {
		return nil
	}
	var t table
	heads := strings.Split(head, "\t")
	for _, row := range rows {
		cells := strings.SplitN(terminal.Printable(strings.ReplaceAll(row.String(), "\n", " ")), "\t", len(heads))
		last := len(cells) - 1
		cells[last] = strings.ReplaceAll(cells[last], "\t", " ")
		t = append(t, cells)
	}
	right := t.numeric(len(heads))
	if isTerminal(a.out) {
		t = slices.Insert(t, 0, heads)
		t, right = t.filled(right)
		t.fit(terminalWidth(a.out), right)
	}
	_, err := fmt.Fprint(a.out, t.aligned(right))
	return err
}

// moment is a time as people see it.
func moment(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// unlessZero is a number in a cell, which stays empty for 0.
func unlessZero[T int | int64](n T) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// terminalWidth returns the characters in a line; 0 if unknown.
func terminalWidth(stream any) int {
	file, ok := stream.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// table is rows of equally many cells, without tabs and newlines.
type table [][]string

// between is what separates two columns.
const between = "  "

// figures matches numbers, times and spans of messages.
var figures = regexp.MustCompile(`^[#0-9:. -]*$`)

// numeric says which of n columns hold figures alone: those are aligned to the right, and
// never cut.
func (t table) numeric(n int) []bool {
	right := make([]bool, n)
	for i := range right {
		right[i] = !slices.ContainsFunc(t, func(row []string) bool { return !figures.MatchString(row[i]) })
	}
	return right
}

// filled leaves out columns that are empty below their head.
func (t table) filled(right []bool) (table, []bool) {
	kept := make(table, len(t))
	var keptRight []bool
	for i := range right {
		if !slices.ContainsFunc(t[1:], func(row []string) bool { return row[i] != "" }) {
			continue
		}
		keptRight = append(keptRight, right[i])
		for n, row := range t {
			kept[n] = append(kept[n], row[i])
		}
	}
	return kept, keptRight
}

func (t table) widths() []int {
	var widths []int
	for _, row := range t {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], lipgloss.Width(cell))
		}
	}
	return widths
}

// leastCell is how much of a long cell is shown in the narrowest terminal, in characters.
const leastCell = 5

// fit cuts the widest cells of text until a line has at most width characters, or there is
// nothing left to cut; 0: it cuts none.
func (t table) fit(width int, number []bool) {
	if width <= 0 {
		return
	}
	most := 0 // of a cell of text
	fixed := len(between) * (len(number) - 1)
	var text []int
	for i, w := range t.widths() {
		if number[i] {
			fixed += w
			continue
		}
		text = append(text, w)
		most = max(most, w)
	}
	for ; most > leastCell; most-- {
		line := fixed
		for _, w := range text {
			line += min(w, most)
		}
		if line <= width {
			break
		}
	}
	for _, row := range t {
		for i, cell := range row {
			if !number[i] && lipgloss.Width(cell) > most {
				row[i] = lipgloss.NewStyle().MaxWidth(most-1).Render(cell) + "…"
			}
		}
	}
}

// aligned returns the table as text, one line for each row.
func (t table) aligned(right []bool) string {
	var b strings.Builder
	widths := t.widths()
	for _, row := range t {
		var line strings.Builder
		for i, cell := range row {
			space := strings.Repeat(" ", widths[i]-lipgloss.Width(cell))
			if right[i] {
				cell, space = space+cell, ""
			}
			line.WriteString(cell + space + between)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}
