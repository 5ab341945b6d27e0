// Markdown that models write and a platform does not know becomes what it knows. Code stays as it is.

package platform

import (
	"regexp"
	"strings"
)

// Markdown is what a platform knows of it.
type Markdown struct {
	Tables    bool // else they become code blocks, or lists if they are wide
	Headings  bool // of all six levels; else of three
	Tasks     bool // "- [x]"
	Underline bool // __ underlines, instead of making text bold
}

// Convert returns a text as the platform can show it.
func (m Markdown) Convert(text string) string {
	lines := strings.SplitAfter(text, "\n")
	var b, plain strings.Builder // plain: the lines before the current one that are no code and no table
	flush := func() {
		b.WriteString(m.inline(plain.String()))
		plain.Reset()
	}
	fence := ""
	for i := 0; i < len(lines); i++ {
		after := fenceAfter(lines[i], fence)
		if fence != "" || after != "" {
			flush()
			b.WriteString(lines[i])
			fence = after
			continue
		}
		if t, n := readTable(lines[i:]); n > 0 && !m.Tables {
			flush()
			b.WriteString(t.render(m))
			i += n - 1
			continue
		}
		plain.WriteString(m.line(lines[i]))
	}
	flush()
	return b.String()
}

var (
	deepHeading  = regexp.MustCompile(`^( {0,3}(?:> ?)*)#{4,6} +(.*?)(?: +#+)? *(\n?)$`)
	taskItem     = regexp.MustCompile(`^([ >]*(?:[-*+]|\d+[.)]) +)\[([ xX])\] `)
	footnoteText = regexp.MustCompile(`^\[\^([^\]\s]+)\]: +`)
)

// line converts what depends on the beginning of a line.
func (m Markdown) line(line string) string {
	if found := deepHeading.FindStringSubmatch(line); found != nil && !m.Headings && found[2] != "" {
		title := strings.NewReplacer("**", "", "__", "").Replace(found[2])
		return found[1] + "**" + title + "**" + found[3]
	}
	if found := taskItem.FindStringSubmatch(line); found != nil && !m.Tasks {
		box := "☐ "
		if found[2] != " " {
			box = "☑ "
		}
		return found[1] + box + line[len(found[0]):]
	}
	return footnoteText.ReplaceAllString(line, "[$1] ")
}

// tagMarks are the marks that mean the same as a tag of HTML; empty: the tag goes.
var tagMarks = map[string]string{
	"b": "**", "strong": "**", "i": "*", "em": "*", "s": "~~", "del": "~~", "strike": "~~", "code": "`", "kbd": "`",
	"u": "", "ins": "", "sub": "", "sup": "", "details": "", "summary": "", "center": "", "p": "", "div": "", "span": "", "mark": "", "small": "",
}

var (
	footnote  = regexp.MustCompile(`\[\^([^\]\s]+)\]`)
	lineBreak = regexp.MustCompile(`(?i)<br ?/?>\n?`)
	tag       = regexp.MustCompile(`(?i)<(/?)([a-z]+)(?: [^<>\n]*)?>`)
	dunder    = regexp.MustCompile(`^__\w+__(?:\(|\.\w)`)
)

// inline converts the marks within lines, but neither code nor links.
func (m Markdown) inline(text string) string {
	spans := Splitter{Limit: len(text)}.inlineSpans(text)
	lower := strings.ToLower(text)
	known := map[string]bool{}
	paired := func(name string) bool { // a tag without its other half is text
		if _, found := known[name]; !found {
			opened := strings.Contains(lower, "<"+name+">") || strings.Contains(lower, "<"+name+" ")
			known[name] = opened && strings.Contains(lower, "</"+name+">")
		}
		return known[name]
	}
	var b strings.Builder
	at := 0
	for _, sp := range spans {
		if sp.start < at || sp.mark != "" && sp.mark[0] != '`' {
			continue
		}
		b.WriteString(m.words(text[at:sp.start], paired))
		b.WriteString(text[sp.start:min(sp.end, len(text))])
		at = min(sp.end, len(text))
	}
	b.WriteString(m.words(text[at:], paired))
	if m.Underline {
		return boldUnderscores(b.String())
	}
	return b.String()
}

// words converts a text without code and links. paired reports whether a tag has its other half.
func (m Markdown) words(text string, paired func(name string) bool) string {
	text = footnote.ReplaceAllString(text, "[$1]")
	if !strings.Contains(text, "<") {
		return text
	}
	text = lineBreak.ReplaceAllString(text, "\n")
	return tag.ReplaceAllStringFunc(text, func(found string) string {
		name := strings.ToLower(tag.FindStringSubmatch(found)[2])
		mark, known := tagMarks[name]
		switch {
		case !known || !paired(name):
			return found
		case m.Underline && (name == "u" || name == "ins"):
			return underlined
		}
		return mark
	})
}

// underlined is replaced with __ once the marks __ of bold text are replaced. No text has this character.
const underlined = "\uE0F1"

// boldUnderscores replaces the marks __ of bold text with **, and tags of underlined text with __. Names such as __init__.py keep theirs.
func boldUnderscores(text string) string {
	out := []byte(text)
	for _, sp := range (Splitter{Limit: len(text)}).inlineSpans(text) {
		if sp.mark == "__" && sp.end <= len(text) && !dunder.MatchString(text[sp.start:]) {
			copy(out[sp.start:], "**")
			copy(out[sp.end-2:], "**")
		}
	}
	return strings.ReplaceAll(string(out), underlined, "__")
}
