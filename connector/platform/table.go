// Tables for platforms that do not know them: an aligned code block, or a list if they are too wide for one.

package platform

import (
	"regexp"
	"strings"

	"github.com/rivo/uniseg"
)

const maxTableWidth = 60 // columns of a code block that a narrow window shows without breaking its lines

// table is one of Markdown. Each row has as many cells as the header.
type table struct {
	prefix string // of each line: that of a quote
	header []string
	align  []string // of each column: "---", ":--", "--:" or ":-:"
	rows   [][]string
}

var delimiterRow = regexp.MustCompile(`^\|?(?: *:?-+:? *\|)+(?: *:?-+:? *)?$`)

// readTable returns the table with which lines begin, and how many of them it has; 0 if they begin with none.
func readTable(lines []string) (t table, n int) {
	if len(lines) < 2 || !strings.Contains(lines[0], "|") || !strings.Contains(lines[1], "-") {
		return t, 0
	}
	t.prefix = quotePrefix.FindString(lines[0])
	row := func(line string) (string, bool) {
		line, quoted := strings.CutPrefix(line, t.prefix)
		return strings.TrimSpace(line), quoted
	}
	delimiter, quoted := row(lines[1])
	if !quoted || !delimiterRow.MatchString(delimiter) {
		return t, 0
	}
	head, _ := row(lines[0])
	t.header, t.align = cells(head), cells(delimiter)
	if len(t.header) != len(t.align) {
		return t, 0
	}
	for n = 2; n < len(lines); n++ {
		line, quoted := row(lines[n])
		if !quoted || !strings.Contains(line, "|") {
			break
		}
		all := append(cells(line), make([]string, len(t.header))...)
		t.rows = append(t.rows, all[:len(t.header)])
	}
	return t, n
}

// cells returns the cells of a row. A | after a backslash belongs to its cell, and so does one in code, which models forget to escape.
func cells(row string) (all []string) {
	row = strings.TrimPrefix(row, "|")
	cell := ""
	code := false
	for i := 0; i < len(row); i++ {
		switch c := row[i]; {
		case c == '\\' && i+1 < len(row) && row[i+1] == '|':
			cell += "|"
			i++
			continue
		case c == '`':
			code = !code && strings.Contains(row[i+1:], "`")
		case c == '|' && !code:
			all = append(all, strings.TrimSpace(cell))
			cell = ""
			continue
		}
		cell += row[i : i+1]
	}
	if strings.TrimSpace(cell) != "" || !strings.HasSuffix(row, "|") {
		all = append(all, strings.TrimSpace(cell))
	}
	return all
}

// render returns the table as a code block; as a list if it is too wide or quoted, or has links, which code does not show.
func (t table) render(m Markdown) string {
	all := [][]string{t.header}
	widths := make([]int, len(t.header))
	total := 3 * (len(t.header) - 1)
	links := false
	for _, row := range append(all, t.rows...) {
		for i, cell := range row {
			links = links || strings.Contains(cell, "](") || strings.Contains(cell, "://")
			widths[i] = max(widths[i], uniseg.StringWidth(withoutMarks(cell)))
		}
	}
	for _, w := range widths {
		total += w
	}
	if total > maxTableWidth || links || t.prefix != "" {
		return t.list(m)
	}
	var rule []string
	for _, w := range widths {
		rule = append(rule, strings.Repeat("─", max(w, 1)))
	}
	lines := []string{"```\n", t.aligned(t.header, widths), strings.Join(rule, "─┼─"), "\n"}
	for _, row := range t.rows {
		lines = append(lines, t.aligned(row, widths))
	}
	return strings.Join(append(lines, "```\n"), "")
}

func (t table) aligned(row []string, widths []int) string {
	var all []string
	for i, cell := range row {
		cell = withoutMarks(cell)
		space := widths[i] - uniseg.StringWidth(cell)
		left := 0
		switch begin, end := strings.HasPrefix(t.align[i], ":"), strings.HasSuffix(t.align[i], ":"); {
		case begin && end:
			left = space / 2
		case end:
			left = space
		}
		all = append(all, strings.Repeat(" ", left)+cell+strings.Repeat(" ", space-left))
	}
	return strings.TrimRight(strings.Join(all, " │ "), " ") + "\n"
}

// list returns an item for each row, with its first cell, and below it the others as "header: value".
func (t table) list(m Markdown) string {
	var b strings.Builder
	for _, row := range t.rows {
		mark := "- "
		for i, cell := range row {
			field := JoinField(t.header[i], cell)
			if cell != "" {
				b.WriteString(t.prefix + m.inline(mark+field) + "\n")
				mark = "  - "
			}
		}
	}
	if len(t.rows) == 0 {
		return t.prefix + "- " + strings.Join(t.header, " / ") + "\n"
	}
	return b.String()
}

var breakTag = regexp.MustCompile(`(?i) *<br ?/?> *`)

// withoutMarks returns a cell as code shows it: without marks, which would be seen.
func withoutMarks(cell string) string {
	cell = breakTag.ReplaceAllString(cell, " / ")
	spans := Splitter{Limit: len(cell)}.inlineSpans(cell)
	keep := make([]bool, len(cell))
	for i := range keep {
		keep[i] = true
	}
	for _, sp := range spans {
		if n := len(sp.mark); n > 0 && sp.end <= len(cell) {
			for i := range n {
				keep[sp.start+i] = false
				keep[sp.end-n+i] = false
			}
		}
	}
	out := make([]byte, 0, len(cell))
	for i := range keep {
		if keep[i] {
			out = append(out, cell[i])
		}
	}
	return strings.ReplaceAll(string(out), "```", "'''")
}
