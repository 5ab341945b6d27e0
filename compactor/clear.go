package compactor

import (
	"fmt"
	"slices"
	"strings"

	"cairn/llm"
)

// Old tool results are cleared from the view in batches. Which ones follows from
// one stored number, clearedTo: of the results up to it the newest stay, the
// others become a placeholder. So nothing changes between two changes of that number.

// neverCleared are the tools whose results are what the bot remembers: clearing
// them would make it ask again.
var neverCleared = []string{"context", "memory_search", "recall", "expand"}

// clearResults shows the tool results of lines up to clearedTo as p says, and
// returns the tokens that freed. It begins with the whole result each time, so
// that a restart shows the same. limit is lineOf's.
func clearResults(lines []line, clearedTo int64, p Policy, limit int) (freed int) {
	newest, kept := true, 0
	for i := len(lines) - 1; i >= 0; i-- {
		l := &lines[i]
		if l.Role != llm.RoleTool || l.Seq > clearedTo {
			continue
		}
		before := l.tokens
		*l = lineOf(l.Message, limit)
		stays := kept < p.ToolResultsKept || slices.Contains(neverCleared, l.Tool)
		kept++
		text := l.text
		switch {
		case newest:
		case stays:
			text = shorten(text, p.ToolOutputMaxLines)
		case len(text) >= p.ToolResultMinChars:
			text = placeholder(l.Tool, text)
		}
		newest = false
		if cost := shownCost(l.Message, text); cost < l.tokens {
			l.text, l.tokens = text, cost
		}
		freed += before - l.tokens
	}
	return freed
}

// placeholder stands for a cleared result. A failure keeps its first line: the
// model must not try the same again.
func placeholder(tool, text string) string {
	mark := fmt.Sprintf("[Previous: used %s]", tool)
	if first, _, _ := strings.Cut(text, "\n"); strings.HasPrefix(first, "Error: ") {
		return mark + " " + Clip(first, 60)
	}
	return mark
}

// shorten keeps the first and the last lines of a long output, most in all.
func shorten(text string, most int) string {
	lines := strings.Split(text, "\n")
	if len(lines) <= most {
		return text
	}
	head := (most + 1) / 2
	tail := most - head
	short := slices.Concat(lines[:head], []string{fmt.Sprintf("[… %d lines left out …]", len(lines)-most)}, lines[len(lines)-tail:])
	return strings.Join(short, "\n")
}

// lastResult returns the seq of the newest tool result of lines, at most upTo; 0 if there is none.
func lastResult(lines []line, upTo int64) int64 {
	for i := len(lines) - 1; i >= 0; i-- {
		if lines[i].Role == llm.RoleTool && lines[i].Seq <= upTo {
			return lines[i].Seq
		}
	}
	return 0
}
