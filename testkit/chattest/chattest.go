// Package chattest has conversations for tests, written as lines.
package chattest

import (
	"fmt"
	"strings"
	"time"

	"cairn/chat"
	"cairn/llm"
)

// Monday is when the conversations begin.
var Monday = time.Date(2024, 3, 4, 9, 30, 0, 0, time.UTC)

// Messages returns a conversation of lines "Name: text", a minute apart, from Monday on. The bot is Cairn. A line
// "+3" skips this many days.
func Messages(lines ...string) []chat.Message {
	var messages []chat.Message
	at := Monday
	for _, line := range lines {
		var days int
		if n, _ := fmt.Sscanf(line, "+%d", &days); n == 1 {
			at = at.AddDate(0, 0, days)
			continue
		}
		name, text, _ := strings.Cut(line, ": ")
		role := llm.RoleUser
		if name == "Cairn" {
			role = llm.RoleAssistant
		}
		at = at.Add(time.Minute)
		messages = append(messages, chat.Message{Seq: int64(len(messages) + 1), Role: role, Author: name, Text: text, Time: at})
	}
	return messages
}

// Harbour is a conversation with facts, decisions and small talk.
var Harbour = Messages(
	"Ines: Hey Paul! How are you?",
	"Paul: Hi Ines! Great, thanks!",
	"Ines: Wow, Paul! I bought a wooden sailing boat from my uncle in Lisbon yesterday.",
	"Paul: That's so cool!",
	"Ines: Thanks! What about you?",
	"Paul: I decided to quit my job at the bank. We agreed that June 30 is my last day.",
	"Paul: Sounds good, see you later!",
	"+3",
	"Ines: Ok Paul, I need to repaint the hull before the regatta on May 12.",
	"Paul: I love green tea, and I'm allergic to shellfish, Ines.",
	"Cairn: The regatta starts at the old lighthouse at 08:30.",
)
