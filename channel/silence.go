package channel

import "strings"

// noReply is what the model answers when it has nothing to add where nobody
// addressed the bot. It never reaches people.
const noReply = "NO_REPLY"

// mayBeSilent is the line of the turn context that lets the model pass over a turn. The
// system prompt explains it.
const mayBeSilent = "nobody addressed you: with nothing to add, answer only " + noReply

// spoken is what people may see of a text: lines that say NO_REPLY are left out,
// and while the model still writes, so is a last line that may become one.
func spoken(text string, writing bool) string {
	at := strings.LastIndexByte(text, '\n') + 1
	last := strings.TrimSpace(text[at:])
	if writing && last != "" && strings.HasPrefix(noReply, strings.Trim(last, "`*\"")) {
		text = text[:at]
	}
	if !strings.Contains(text, noReply) {
		return strings.TrimSpace(text)
	}
	var kept []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.Trim(strings.TrimSpace(line), "`*\".") != noReply {
			kept = append(kept, line)
		}
	}
	return strings.TrimSpace(strings.Join(kept, "\n"))
}
