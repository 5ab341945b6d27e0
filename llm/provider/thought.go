// The thought that a model writes in tags before its answer, if its server does not separate the two.

package provider

import (
	"regexp"
	"strings"
)

// thoughtTags begin a thought, but only at the start of a text.
var thoughtTags = []string{"<think>", "<thinking>"}

const blanks = " \t\r\n"

// thoughtFilter removes the thought, and white space behind it, from a text that arrives in pieces.
type thoughtFilter struct {
	end    string // the tag that ends the thought; "": it is not known whether there is one
	held   string // the end of what has arrived, which may be the first part of a tag
	passed bool   // the answer has begun
}

// next returns what a piece adds to the answer.
func (f *thoughtFilter) next(piece string) (answer string) {
	if f.passed {
		return piece
	}
	f.held += piece
	if f.end == "" {
		start := strings.TrimLeft(f.held, blanks)
		if start == "" { // white space before anything
			answer, f.held = f.held, ""
			return answer
		}
		for _, tag := range thoughtTags {
			if strings.HasPrefix(start, tag) {
				f.end = "</" + tag[1:]
			} else if strings.HasPrefix(tag, start) {
				return ""
			}
		}
		if f.end == "" {
			answer, f.held, f.passed = f.held, "", true
			return answer
		}
	}
	_, after, found := strings.Cut(f.held, f.end)
	if !found {
		f.held = f.held[max(0, len(f.held)-len(f.end)+1):]
		return ""
	}
	answer = strings.TrimLeft(after, blanks)
	if f.held, f.passed = "", answer != ""; !f.passed {
		f.held = f.end // what follows is still behind the thought
	}
	return answer
}

// rest returns what is held back and belongs to the answer if nothing follows.
func (f *thoughtFilter) rest() string {
	if f.end == "" {
		return f.held
	}
	return ""
}

// thoughtEnd matches the end of a thought at the end of a line.
var thoughtEnd = regexp.MustCompile(`</think(?:ing)?>[ \t]*(?:\n\s*|$)`)

// withoutThought removes a thought whose opening tag is missing: the templates of some models contain that tag, and
// their servers send only what follows. It was shown while it was written. A tag in code is part of the answer.
func withoutThought(text string) string {
	end := thoughtEnd.FindStringIndex(text)
	if end == nil {
		return text
	}
	if before := text[:end[0]]; strings.Contains(before, "<think") || strings.Count(before, "`")%2 == 1 {
		return text
	}
	return text[end[1]:]
}
