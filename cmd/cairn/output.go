// Output: JSON for programs, text and tables for people.

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"cairn/chat"
	"cairn/terminal"
)

// jsonFlag declares --json of a command, which then prints what.
func (a *app) jsonFlag(cmd *cobra.Command, what string) {
	cmd.Flags().BoolVar(&a.json, "json", false, "print "+what)
}

// show writes v to w, which leads to standard output: as JSON with --json, as String for people.
// Stored text may come from strangers, and a pipe may end at a terminal, so no control character is
// printed; JSON has them as escapes.
func (a *app) show(w io.Writer, v fmt.Stringer) error {
	if a.json {
		return printJSON(w, v)
	}
	_, err := fmt.Fprintln(w, terminal.Printable(v.String()))
	return err
}

// printJSON writes v as one line.
func printJSON(w io.Writer, v any) error {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, escapedControls(line.String()))
	return err
}

// escapedControls returns a line of JSON in which every character that terminal.Printable would
// drop is escaped.
func escapedControls(text string) string {
	var b strings.Builder
	for _, r := range text {
		if s := string(r); terminal.Printable(s) == "" {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteString(s)
		}
	}
	return b.String()
}

// row is a row of a table, and a line of its own with --json.
type row interface{ cells() []string }

// showTable prints rows below the words of head. For a person it prints the header, drops empty
// columns, and cuts long cells to the width of the terminal; a program gets everything.
func (a *app) showTable(head string, rows []row) error {
	if a.json {
		for _, r := range rows {
			if err := printJSON(a.out, r); err != nil {
				return err
			}
		}
		return nil
	}
	if len(rows) == 0 {
		return nil
	}
	var t table
	heads := strings.Fields(head)
	for _, r := range rows {
		cells := r.cells()
		for i, cell := range cells {
			cells[i] = terminal.Printable(chat.OneLine(cell))
		}
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

// moment formats a time for people.
func moment(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// unlessZero formats a number for a cell; 0 is empty.
func unlessZero[T int | int64](n T) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// terminalWidth returns the width of a line in characters; 0 if unknown.
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

// table has rows of the same length; cells contain no tabs and newlines.
type table [][]string

// columnGap separates two columns.
const columnGap = "  "

// numericCell matches numbers, times and spans of messages.
var numericCell = regexp.MustCompile(`^[#0-9:. -]*$`)

// numeric reports which of n columns contain only numbers: those are aligned right and never cut.
func (t table) numeric(n int) []bool {
	right := make([]bool, n)
	for i := range right {
		right[i] = !slices.ContainsFunc(t, func(row []string) bool { return !numericCell.MatchString(row[i]) })
	}
	return right
}

// filled drops columns that are empty below the header.
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

// minCell is how many characters of a long cell remain in the narrowest table.
const minCell = 6

// fit cuts the widest text cells until a line has at most width characters, if minCell characters of
// them remain; width 0 cuts nothing.
func (t table) fit(width int, number []bool) {
	if width <= 0 {
		return
	}
	most := 0 // longest text cell
	fixed := len(columnGap) * (len(number) - 1)
	var text []int
	for i, w := range t.widths() {
		if number[i] {
			fixed += w
			continue
		}
		text = append(text, w)
		most = max(most, w)
	}
	for ; most > minCell; most-- {
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

// aligned formats the table as text, one line for each row.
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
			line.WriteString(cell + space + columnGap)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}
