// Output: JSON for programs; text, tables and small charts for people.

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"cairn/chat"
	"cairn/connector/terminal"
	"cairn/simulate"
)

// console is where a command reads and writes, and the form in which it prints.
type console struct {
	in       io.Reader
	out, err io.Writer
	json     bool
}

// withJSON declares --json of a command, which then prints what.
func (c *console) withJSON(what string, cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&c.json, "json", false, "print "+what)
	return cmd
}

// show writes v to w, which leads to standard output: as JSON with --json, as String for people.
// Stored text may come from strangers, and a pipe may end at a terminal, so no control character is
// printed; JSON has them as escapes.
func (c *console) show(w io.Writer, v fmt.Stringer) error {
	if c.json {
		return printJSON(w, v)
	}
	_, err := fmt.Fprintln(w, wrapped(c.out, terminal.Printable(v.String())))
	return err
}

// wrapped breaks the lines of a text between words, if w is a terminal.
func wrapped(w io.Writer, text string) string {
	if !isTerminal(w) {
		return text
	}
	width, _, err := term.GetSize(int(w.(*os.File).Fd()))
	if err != nil || width < leastColumns {
		return text
	}
	return terminal.Wrap(text, width)
}

// leastColumns is the narrowest terminal for which lines are broken; less means an unknown width.
const leastColumns = 10

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

// escapedControls returns a line of JSON in which what terminal.Printable would drop is escaped.
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

// showTable prints items below the words of head, each as the row that cells returns. For a person it
// prints the header, drops empty columns, and cuts long cells to the width of the terminal; a program
// gets everything, with --json each item as a line.
func showTable[T any](c *console, head string, items []T, cells func(T) []string) error {
	if c.json {
		for _, item := range items {
			if err := printJSON(c.out, item); err != nil {
				return err
			}
		}
		return nil
	}
	t := table{strings.Fields(head)}
	for _, item := range items {
		row := cells(item)
		for i := range row {
			row[i] = terminal.Printable(chat.OneLine(row[i]))
		}
		t = append(t, row)
	}
	align := t.alignment()
	switch {
	case !isTerminal(c.out):
		t = t[1:]
	case len(items) > 0:
		t, align = t.filled(align)
		width, _, _ := term.GetSize(int(c.out.(*os.File).Fd())) // 0: unknown
		t.fit(width, align)
	default:
		return nil
	}
	_, err := fmt.Fprint(c.out, t.aligned(align))
	return err
}

func moment(t time.Time) string { return chat.Time(t.Local()) }

// secondsOf formats seconds for a cell: to a tenth, or to a hundredth if they are fewer, at least one.
func secondsOf(n float64) string {
	if n >= 0.05 {
		return strconv.FormatFloat(n, 'f', 1, 64)
	}
	return strconv.FormatFloat(max(n, 0.01), 'f', 2, 64)
}

// unlessZero formats a number for a cell; 0 is empty.
func unlessZero[T int | int64](n T) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// table has rows of the same length, the first of them the header; cells contain no tabs and newlines.
type table [][]string

const columnGap = "  "

// numericCell matches numbers, times and spans of messages.
var numericCell = regexp.MustCompile(`^[#0-9:. -]*$`)

// alignment returns "r" for each column that contains only numbers, which is never cut, else "l".
func (t table) alignment() string {
	align := bytes.Repeat([]byte("r"), len(t[0]))
	for _, row := range t[1:] {
		for i, cell := range row {
			if !numericCell.MatchString(cell) {
				align[i] = 'l'
			}
		}
	}
	return string(align)
}

// filled drops columns that are empty below the header.
func (t table) filled(align string) (kept table, keptAlign string) {
	kept = make(table, len(t))
	for i := range t[0] {
		if !slices.ContainsFunc(t[1:], func(row []string) bool { return row[i] != "" }) {
			continue
		}
		keptAlign += align[i : i+1]
		for n, row := range t {
			kept[n] = append(kept[n], row[i])
		}
	}
	return kept, keptAlign
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
const minCell = 5

// fit cuts the widest text cells, to minCell at least, until a line has at most width characters; 0: it cuts nothing.
func (t table) fit(width int, align string) {
	limit := width
	widths := t.widths()
	for ; limit > minCell; limit-- {
		line := len(columnGap) * (len(widths) - 1)
		for i, w := range widths {
			if align[i] == 'l' {
				w = min(w, limit)
			}
			line += w
		}
		if line <= width {
			break
		}
	}
	for _, row := range t {
		for i, cell := range row {
			if width > 0 && align[i] == 'l' && lipgloss.Width(cell) > limit {
				row[i] = lipgloss.NewStyle().MaxWidth(limit-1).Render(cell) + "…"
			}
		}
	}
}

// aligned formats the table as text, a line for each row. The last letter of align is also for the columns behind it.
func (t table) aligned(align string) string {
	var b strings.Builder
	widths := t.widths()
	for _, row := range t {
		line := ""
		for i, cell := range row {
			space := strings.Repeat(" ", widths[i]-lipgloss.Width(cell))
			if align[min(i, len(align)-1)] == 'r' {
				cell = space + cell
				space = ""
			}
			line += cell + space + columnGap
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

var blocks = []rune("▁▂▃▄▅▆▇█")

// sparkline shows how full the window was: the maximum in each column.
func sparkline(v simulate.Result, width int) string {
	if len(v.Used) == 0 {
		return ""
	}
	first := v.Used[0].At
	last := v.Used[len(v.Used)-1].At
	highest := make([]int, width)
	for _, u := range v.Used {
		column := int((u.At - first) * int64(width-1) / max(last-first, 1))
		highest[column] = max(highest[column], u.Used)
	}
	line := make([]rune, width)
	for i := range highest {
		if highest[i] == 0 && i > 0 { // no message in this column
			highest[i] = highest[i-1]
		}
		line[i] = blocks[min(highest[i]*len(blocks)/max(v.Window, 1), len(blocks)-1)]
	}
	return string(line)
}
