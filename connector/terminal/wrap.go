// Breaks text into rows of a terminal, between words.

package terminal

import (
	"regexp"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// unbroken replaces a hyphen while text is wrapped, because a flag or the name of a model is one word. It is a
// noncharacter: no text has it.
const unbroken = "\uFDD1"

// wrap breaks the lines of text between words; a word that is wider than a row is cut.
func wrap(text string, width int) string {
	text = strings.ReplaceAll(text, "-", unbroken)
	return strings.ReplaceAll(lipgloss.Wrap(text, max(width, 1), " "), unbroken, "-")
}

// mark matches the mark of an entry of a list, column the first column of a table, and gap what ends a column.
var (
	mark   = regexp.MustCompile(`^ *(?:[-•·]|\(\d+\)|#\d+:?|\d+[.)]) `)
	column = regexp.MustCompile(`^\S.*? {2,}`)
	gap    = regexp.MustCompile(` {2,}`)
)

// hanging is wrap for a list, or for a table of two columns: a line continues behind its mark or its first column.
func hanging(text string, width int, table bool) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		head := mark.FindString(line)
		if table {
			head = column.FindString(line)
		}
		rest := lipgloss.Width(head)
		if rest > width/2 { // there is no room for columns
			line = strings.TrimRight(head, " ") + "  " + line[len(head):]
			head = ""
			rest = 4
		}
		lines[i] = head + indent(wrap(line[len(head):], width-rest), "", strings.Repeat(" ", rest))
	}
	return strings.Join(lines, "\n")
}

// Wrap breaks the lines of text that are wider than width columns, between words. A line continues below its text: behind
// its indentation, its mark and its narrow columns. A wider word is not split: a link can be copied from a terminal then.
func Wrap(text string, width int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if lipgloss.Width(line) <= width {
			continue
		}
		head := line[:margin(line, width)]
		body := strings.TrimRight(line[len(head):], " ")
		rest := lipgloss.Width(head)
		blanks := line[len(head)+len(body):] // before an answer
		rows := ansi.Wordwrap(strings.ReplaceAll(body, "-", unbroken), width-rest, "")
		lines[i] = head + indent(strings.ReplaceAll(rows, unbroken, "-"), "", strings.Repeat(" ", rest)) + blanks
	}
	return strings.Join(lines, "\n")
}

// margin returns how many bytes at the start of a line are before its text, in less than half of the width.
func margin(line string, width int) int {
	ends := []int{len(line) - len(strings.TrimLeft(line, " ")), len(mark.FindString(line))}
	for _, at := range gap.FindAllStringIndex(line, -1) {
		ends = append(ends, at[1])
	}
	widest := 0
	for _, end := range ends {
		if lipgloss.Width(line[:end]) < width/2 {
			widest = max(widest, end)
		}
	}
	return widest
}

// Fill joins the lines of each paragraph, so that Wrap can break them anew. Lines that begin with a blank are none.
func Fill(text string) string {
	var filled []string
	inParagraph := false
	for line := range strings.SplitSeq(text, "\n") {
		isText := line != "" && line[0] != ' '
		if isText && inParagraph {
			filled[len(filled)-1] += " " + line
		} else {
			filled = append(filled, line)
		}
		inParagraph = isText
	}
	return strings.Join(filled, "\n")
}
