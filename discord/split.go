// Replies are split into messages.

package discord

import (
	"strings"
	"unicode"

	"cairn/internal/platform"
)

// messages splits at the length of a message in UTF-16 units, the strictest reading of Discord's
// "2000 characters" (Message: Create Message).
var messages = platform.Splitter{Limit: 2000}

// Split splits a reply into messages.
func (d *Discord) Split(text string) []string {
	var pieces []string
	for _, p := range messages.Split(text) {
		pieces = append(pieces, strings.TrimRightFunc(p.String(), unicode.IsSpace))
	}
	if len(pieces) == 0 {
		return []string{"…"} // Discord takes no empty message
	}
	return pieces
}
