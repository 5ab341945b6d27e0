// Blocks of Cairn's prompt, and results of tools, that a model has repeated or made up at an edge of its answer.

package clean

import (
	"strings"
	"unicode"
)

// behindBlocks returns what is behind the blocks at the front of text; "" if that is nothing, or not known yet.
func (f *Filter) behindBlocks(text string, final bool) string {
	name := f.block
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
func (f *Filter) startBlock(m mark, final bool) verdict {
	if m.closes {
		return f.strip(m.size)
	}
	inLine, more := f.isInLine(m, final)
	switch {
	case more:
		return unknown
	case inLine:
		return nothing
	}
	f.holdBlock(m)
	return handled
}

// laterBlock holds a block that begins a line back: it is the end of the answer, or text.
func (f *Filter) laterBlock(m mark, next following, final bool) bool {
	inLine, more := f.isInLine(m, final)
	if more {
		return false
	}
	if inLine || m.closes || f.blockSeen || !f.isOwnLine() {
		return f.mention(m, next)
	}
	f.holdBlock(m)
	return true
}

// isInLine reports whether a block's first mark is followed, in its line, by something other than a line break or, as
// all of the block, its end.
func (f *Filter) isInLine(m mark, final bool) (inLine, more bool) {
	const longest = 400 // bytes of a block in one line
	front := f.raw[:min(len(f.raw), longest)]
	line, _, whole := strings.Cut(front, "\n")
	if !whole && !final && len(front) < longest {
		return false, true
	}
	rest := strings.TrimSpace(line[min(m.size, len(line)):])
	if _, attributes, ok := strings.Cut(line, ">"); ok && m.size < len(line) && line[m.size-1] != '>' {
		rest = strings.TrimSpace(attributes)
	}
	return rest != "" && !strings.Contains(strings.ToLower(line), "</"+m.name+">"), false
}

func (f *Filter) holdBlock(m mark) {
	f.holding = holding{isHolding: true, block: m.name, inText: f.mode != nil}
	f.mode = (*Filter).readHeld
}
