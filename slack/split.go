// Replies are split into messages.

package slack

import "cairn/internal/platform"

// Limits of one message, in UTF-16 units, which are at least as many as characters.
const (
	maxMarkdown = 12_000 // of markdown_text
	maxPlain    = 4_000  // of text, as Slack advises, and of an edit
)

// Split splits a reply into messages that Slack accepts.
func (s *Slack) Split(text string) []string {
	if s.plain.Load() {
		return split(text, maxPlain, plainCost)
	}
	return split(text, maxMarkdown, markdownCost)
}

// markdownCost is the most units that a character takes when it is sent: see defuseMentions.
func markdownCost(r rune) int {
	switch {
	case r == '@' || r == '!':
		return 2
	case r > 0xFFFF:
		return 2
	}
	return 1
}

// plainCost is the cost of a character in escaped text.
func plainCost(r rune) int {
	switch r {
	case '&':
		return 5
	case '<', '>':
		return 4
	}
	return markdownCost(r)
}

func costOf(text string, cost func(rune) int) int { return platform.Splitter{Cost: cost}.CostOf(text) }

// split splits a text into messages that cost at most limit each, at least one.
func split(text string, limit int, cost func(rune) int) []string {
	return platform.Splitter{Limit: limit, Cost: cost}.Texts(text, "")
}
