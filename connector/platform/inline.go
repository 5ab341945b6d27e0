// Inline marks of Markdown: where bold text, code, links and the like begin and end, and how a message ends within them.

package platform

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// inlineSpan is a part of a text, including the marks around it. A link has no mark: it must not be split.
type inlineSpan struct {
	start, end int
	mark       string
}

const (
	maxNestedMarks = 6     // of marks within marks
	maxLink        = 1_500 // bytes of a link that is not split
)

// newBlock matches a line with which a paragraph ends: marks do not reach beyond it.
var newBlock = regexp.MustCompile(`^(?:[ \t>]*$|[ \t>]*(?:[-*+]|\d{1,9}[.)]|#{1,6})[ \t])`)

// inlineSpans returns the parts of a text between marks, ordered by start, the outer ones first.
func (s Splitter) inlineSpans(text string) []inlineSpan {
	scan := inlineScan{text: text, spoilers: s.Spoilers}
	fence := ""
	at := 0
	start := 0
	for line := range strings.Lines(text) {
		after := fenceAfter(line, fence)
		switch {
		case fence != "" || after != "":
			scan.paragraph(start, at)
			start = at + len(line)
		case newBlock.MatchString(strings.TrimRight(line, "\n")):
			scan.paragraph(start, at)
			start = at
		}
		at = at + len(line)
		fence = after
	}
	if fence == "" {
		scan.paragraph(start, at)
	}
	slices.SortStableFunc(scan.spans, func(a, b inlineSpan) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	return scan.spans
}

type inlineScan struct {
	text     string
	spoilers bool
	spans    []inlineSpan
	open     []inlineSpan // marks that may begin a span; their end is where the mark ends
	unclosed map[int]bool // lengths of runs of ` that nothing closes in this paragraph
}

func (c *inlineScan) paragraph(start, end int) {
	c.open = nil
	c.unclosed = map[int]bool{}
	if first := strings.TrimLeft(c.text[start:end], " >"); strings.HasPrefix(first, "|") && !strings.HasPrefix(first, "||") { // a table
		return
	}
	for at := start; at < end; {
		at = c.next(at, end)
	}
	for _, o := range c.open { // what follows may still close them: people see the reply while it is written
		if end == len(c.text) && len(o.mark) == 2 {
			c.spans = append(c.spans, inlineSpan{o.start, end + len(o.mark), o.mark})
		}
	}
}

// next reads what is at a position, and returns the position after it.
func (c *inlineScan) next(at, end int) int {
	rest := c.text[at:end]
	switch rest[0] {
	case '\\':
		return min(at+2, end)
	case '`':
		return c.code(at, end)
	case '[', '<', 'h':
		if n := linkAt(rest); n > 0 {
			c.spans = append(c.spans, inlineSpan{at, at + n, ""})
			return at + n
		}
	case '*', '_', '~', '|':
		n := len(rest) - len(strings.TrimLeft(rest, rest[:1]))
		c.marks(at, n, end)
		return at + n
	}
	return at + 1
}

// code notes a code span; within it nothing else is a mark.
func (c *inlineScan) code(at, end int) int {
	rest := c.text[at:end]
	n := len(rest) - len(strings.TrimLeft(rest, "`"))
	if c.unclosed[n] {
		return at + n
	}
	for i := n; i < len(rest); {
		open := strings.IndexByte(rest[i:], '`')
		if open < 0 {
			break
		}
		i += open
		run := len(rest[i:]) - len(strings.TrimLeft(rest[i:], "`"))
		i += run
		if run == n {
			c.spans = append(c.spans, inlineSpan{at, at + i, rest[:n]})
			return at + i
		}
	}
	c.unclosed[n] = true
	return at + n
}

var (
	inlineLink  = regexp.MustCompile(`^\[(?:[^\[\]\n\\]|\\.|\[[^\[\]\n]*\])*\]\((?:[^()\s\\]|\\.|\([^()\s]*\))*(?: +"[^"\n]*")?\)`)
	angleLink   = regexp.MustCompile(`^<(?:[a-zA-Z][a-zA-Z0-9+.-]*:|[@#!:]|/[^<>\s]*:)[^<>\s]*>`)
	bareAddress = regexp.MustCompile(`^https?://[^\s<>|*"]+`)
)

// linkAt returns the length of the link with which a text begins; 0 if it begins with none.
func linkAt(text string) int {
	text = text[:min(len(text), maxLink)]
	for _, pattern := range []*regexp.Regexp{inlineLink, angleLink, bareAddress} {
		if found := pattern.FindString(text); found != "" {
			return len(found)
		}
	}
	return 0
}

// marks reads a run of n equal marks: first as ends of what is open, then as a beginning.
func (c *inlineScan) marks(at, n, end int) {
	mark := c.text[at : at+1]
	double := mark == "~" || mark == "|"
	if n > 3 || double && n != 2 || mark == "|" && !c.spoilers {
		return
	}
	before, _ := utf8.DecodeLastRuneInString(c.text[:at])
	after, _ := utf8.DecodeRuneInString(c.text[at+n : end])
	spaceBefore := at == 0 || unicode.IsSpace(before)
	spaceAfter := at+n >= end || unicode.IsSpace(after)
	opens := !spaceAfter || mark == "|"
	closes := !spaceBefore || mark == "|"
	if mark == "_" { // not within words
		opens, closes = opens && !isWord(before), closes && !isWord(after)
	}
	for closes && n > 0 {
		i := len(c.open) - 1
		for i >= 0 && (c.open[i].mark[:1] != mark || len(c.open[i].mark) > n || c.open[i].end == at) {
			i--
		}
		if i < 0 {
			break
		}
		o := c.open[i]
		c.open = c.open[:i]
		at = at + len(o.mark)
		n = n - len(o.mark)
		c.spans = append(c.spans, inlineSpan{o.start, at, o.mark})
	}
	if !opens || n == 0 || len(c.open) >= maxNestedMarks {
		return
	}
	if n == 3 {
		c.open = append(c.open, inlineSpan{at, at + 1, mark})
		at = at + 1
		n = 2
	}
	c.open = append(c.open, inlineSpan{at, at + n, c.text[at : at+n]})
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// cut is where a message ends.
type cut struct {
	end     int    // of its part of the text
	closing string // marks after it
	fence   string // of the code block in which it ends
	next    int    // where the rest begins
	resume  string // what the rest begins with: a quote, and marks
}

// cut returns where the message that begins at a position ends, so that it costs at most room.
func (s Splitter) cut(text string, at int, fence string, spans []inlineSpan, room int) (c cut) {
	reserve := 0
	for {
		end, next := s.fit(text[at:], fence, room-reserve)
		c = cut{end: at + end, fence: next, next: at + end}
		if c.end == len(text) || next != "" {
			return c
		}
		c.end = s.beforeSpan(text, at, c.end, spans)
		open := c.closeSpans(text, spans)
		if cost := s.CostOf(c.closing); cost > room/4 {
			c.closing = ""
			open = nil
			c.next = c.end
		} else if s.CostOf(text[at:c.end])+cost > room {
			reserve += cost
			continue
		}
		c.setResume(text, open)
		return c
	}
}

// beforeSpan moves an end out of a link, out of marks themselves, and before what begins late and is short.
func (s Splitter) beforeSpan(text string, at, end int, spans []inlineSpan) int {
	for i := len(spans) - 1; i >= 0; i-- { // the inner ones first
		sp := spans[i]
		if sp.start >= end || sp.end <= end {
			continue
		}
		content := sp.start + len(sp.mark)
		left := strings.TrimSpace(text[at:max(at, sp.start)]) != "" // something is left if it is cut before the span
		short := s.CostOf(text[sp.start:min(sp.end, len(text))]) <= s.Limit/4
		switch {
		case left && (sp.mark == "" || short || strings.TrimSpace(text[min(content, end):end]) == ""):
			end = sp.start
		case sp.mark != "" && end > sp.end-len(sp.mark) && sp.end-len(sp.mark) > at:
			end = sp.end - len(sp.mark)
		}
	}
	return end
}

// closeSpans sets the closing marks and the beginning of the rest. It returns the spans that the rest opens again.
func (c *cut) closeSpans(text string, spans []inlineSpan) (open []inlineSpan) {
	c.next = c.end
	for _, sp := range spans {
		if sp.mark != "" && sp.start < c.end && c.end < sp.end {
			open = append(open, sp)
			c.closing = sp.mark + c.closing
		}
	}
	for n := len(open); n > 0; n = len(open) { // what ends in this piece is not opened again
		last := open[n-1]
		if strings.TrimSpace(text[c.next:last.end-min(len(last.mark), last.end-c.next)]) != "" {
			break
		}
		c.next = min(last.end, len(text))
		open = open[:n-1]
	}
	return open
}

var quotePrefix = regexp.MustCompile(`^ {0,3}(?:> ?)+`)

// setResume sets what the rest begins with: the marks of the quote in which it is, and those that are opened again.
func (c *cut) setResume(text string, open []inlineSpan) {
	marks := ""
	for _, sp := range open {
		marks += sp.mark
	}
	rest := text[c.next:]
	if marks != "" {
		rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
		c.next = len(text) - len(rest)
	}
	line := text[strings.LastIndexByte(text[:c.next], '\n')+1:]
	prefix := quotePrefix.FindString(line)
	if len(line) == len(rest) { // the rest begins with its mark
		if marks == "" {
			return
		}
		c.next += len(prefix)
	} else if len(line)-len(rest) < len(prefix) {
		return
	}
	c.resume = prefix + marks
}
