// Splitting of replies into messages.

package slack

import (
	"unicode/utf8"

	"cairn/internal/platform"
)

// Splitters for each way to send a text, with limits in UTF-16 units, which are at least as many as
// characters.
var (
	markdown = platform.Splitter{Limit: 12_000, Cost: markdownCost} // markdown_text
	plain    = platform.Splitter{Limit: 4_000, Cost: plainCost}     // text, as Slack recommends, and an edit
	section  = platform.Splitter{Limit: 3_000, Cost: plainCost}     // a section
)

// Split splits a reply into messages that Slack accepts.
func (s *Slack) Split(text string) []string {
	if s.plain.Load() {
		return plain.Texts(text, "")
	}
	return markdown.Texts(text, "")
}

// markdownCost returns the maximum number of units that a character takes when it is sent:
// defuseMentions may add one to an @ or !.
func markdownCost(r rune) int {
	switch {
	case r == '@' || r == '!':
		return 2
	case r > 0xFFFF:
		return 2
	}
	return 1
}

// plainCost returns the maximum cost of a character in escaped text.
func plainCost(r rune) int {
	switch r {
	case '&':
		return 5
	case '<', '>':
		return 4
	}
	return markdownCost(r)
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
