// Splitting of replies into messages.

package slack

import (
	"unicode/utf8"

	"cairn/internal/platform"
)

// Limits of one message, in UTF-16 units, which are at least as many as characters.
const (
	maxMarkdown = 12_000 // of markdown_text
	maxPlain    = 4_000  // of text, as Slack recommends, and of an edit
)

// Split splits a reply into messages that Slack accepts.
func (s *Slack) Split(text string) []string {
	if s.plain.Load() {
		return split(text, maxPlain, plainCost)
	}
	return split(text, maxMarkdown, markdownCost)
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

func costOf(text string, cost func(rune) int) int { return platform.Splitter{Cost: cost}.CostOf(text) }

// split splits a text into at least one message, each of which costs at most limit.
func split(text string, limit int, cost func(rune) int) []string {
	return platform.Splitter{Limit: limit, Cost: cost}.Texts(text, "")
}
