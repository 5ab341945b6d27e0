// Blocks of Cairn's prompt, and results of tools, that a model has repeated or made up at an edge of its answer.

package clean

import (
	"strings"
	"unicode"
)

// behindBlocks returns what is behind the blocks at the front of text, of which the first has a name; "" if that is
// nothing, or not known yet.
func behindBlocks(text, name string, final bool) string {
	for {
		_, behind, closed := strings.Cut(text, "</"+name+">")
		text = strings.TrimLeftFunc(behind, unicode.IsSpace)
		if !closed || text == "" {
			return ""
		}
		m, more := markAt(text, final)
		switch {
		case more, m.kind == turnEnds:
			return ""
		case m.kind != block || m.closes:
			return text
		}
		name = m.name
	}
}

// startBlock holds a block at the start back until its end.
func (o *opening) startBlock(in *input, m mark) step {
	if m.closes {
		return o.strip(in, m.size)
	}
	inLine, more := isInLine(in, m)
	switch {
	case more:
		return step{verdict: unknown}
	case inLine:
		return step{verdict: nothing}
	}
	return step{verdict: holdBack, held: &held{block: m.name}}
}

// laterBlock holds a block that begins a line back: it is the end of the answer, or text.
func (b *body) laterBlock(in *input, m mark, next following) step {
	inLine, more := isInLine(in, m)
	if more {
		return step{verdict: unknown}
	}
	if inLine || m.closes || b.mentions.blocks || !b.text.isNewLine() {
		return b.mention(in, m, next)
	}
	return step{verdict: holdBack, held: &held{block: m.name, inText: true}}
}

// isInLine reports whether a block's first mark is followed, in its line, by something other than a line break or, as
// all of the block, its end.
func isInLine(in *input, m mark) (inLine, more bool) {
	const longest = 400 // bytes of a block in one line
	front := in.raw[:min(len(in.raw), longest)]
	line, _, ended := strings.Cut(front, "\n")
	if !ended && !in.final && len(front) < longest {
		return false, true
	}
	rest := strings.TrimSpace(line[min(m.size, len(line)):])
	if _, attributes, ok := strings.Cut(line, ">"); ok && m.size < len(line) && line[m.size-1] != '>' {
		rest = strings.TrimSpace(attributes)
	}
	return rest != "" && !strings.Contains(strings.ToLower(line), "</"+m.name+">"), false
}
