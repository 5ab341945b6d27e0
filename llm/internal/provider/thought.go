// The thought that a model writes in tags before its answer, if its server does not separate the two.

package provider

import "strings"

// thoughtTags begin a thought, but only at the start of a text.
var thoughtTags = []string{"<think>", "<thinking>"}

const blanks = " \t\r\n"

// thoughtFilter removes the thought from a text that arrives in pieces. The zero value is ready.
type thoughtFilter struct {
	stage thoughtStage
	end   string // the tag that ends the thought
	held  string // the end of what has arrived, which may be the first part of a tag
}

type thoughtStage int

const (
	beforeThought thoughtStage = iota
	inThought
	afterThought // in the white space between the thought and the answer
	inAnswer
)

// next returns what a piece adds to the answer.
func (f *thoughtFilter) next(piece string) string {
	piece = f.held + piece
	f.held = ""
	switch f.stage {
	case beforeThought:
		return f.begin(piece)
	case inThought:
		_, after, found := strings.Cut(piece, f.end)
		if !found {
			f.held = piece[max(0, len(piece)-len(f.end)+1):]
			return ""
		}
		f.stage = afterThought
		return f.next(after)
	case afterThought:
		if piece = strings.TrimLeft(piece, blanks); piece != "" {
			f.stage = inAnswer
		}
	}
	return piece
}

// begin handles a piece before the first word.
func (f *thoughtFilter) begin(piece string) string {
	start := strings.TrimLeft(piece, blanks)
	if start == "" {
		return piece
	}
	for _, tag := range thoughtTags {
		if after, found := strings.CutPrefix(start, tag); found {
			f.stage, f.end = inThought, "</"+tag[1:]
			return f.next(after)
		}
		if strings.HasPrefix(tag, start) {
			f.held = piece
			return ""
		}
	}
	f.stage = inAnswer
	return piece
}

// rest returns what is held back and belongs to the answer if nothing follows.
func (f *thoughtFilter) rest() string {
	if f.stage == beforeThought {
		return f.held
	}
	return ""
}
