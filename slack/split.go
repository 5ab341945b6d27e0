// Splitting of replies into messages.

package slack

import (
	"unicode/utf8"

	"cairn/internal/platform"
)

// Splitters, with limits in UTF-16 units, which are at least as many as characters.
var (
	messages = platform.Splitter{Limit: 4_000, Cost: cost} // as Slack recommends; an edit without Markdown may have no more
	section  = platform.Splitter{Limit: 3_000, Cost: cost} // a section
)

// Split splits a reply into messages that Slack accepts.
func (s *Slack) Split(text string) []string { return messages.Texts(text, "") }

// cost returns the maximum number of units that a character takes when it is sent: escape writes some as
// entities, and defuseMentions may add one to an @ or !.
func cost(r rune) int {
	switch {
	case r == '&':
		return 5
	case r == '<', r == '>':
		return 4
	case r == '@', r == '!', r > 0xFFFF:
		return 2
	}
	return 1
}

// blockCost returns about how many bytes a character takes in the JSON of a block.
func blockCost(r rune) int {
	switch r {
	case '&', '<', '>': // written as \u0026amp; and the like
		return 10
	case '@', '!': // see defuseMentions
		return 1 + len(wordJoiner)
	case '"', '\\', '\n', '\t':
		return 2
	}
	return utf8.RuneLen(r)
}
