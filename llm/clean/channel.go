// Channels: answers in messages that have a header each, of which only some are for people (gpt-oss, Muse Glimmer).

package clean

import (
	"strings"
	"unicode"

	"cairn/internal/lazy"
)

// channelHeader parses the header of a message in a channel: <|start|>assistant to=functions.lookup<|channel|>commentary
// <|constrain|>json<|message|>. Its groups: recipient, channel, recipient.
var channelHeader = lazy.Pattern(`^(?:<\|start\|>)?\s*(?:assistant)?(?:\s*to=([\w.-]+))?\s*(?:<\|channel\|>\s*(\w+))?(?:\s*to=([\w.-]+))?` +
	`\s*(?:<\|constrain\|>)?\s*\w*\s*<\|message\|>`)

// maxHeader limits the size of a header, in bytes.
const maxHeader = 200

// closesMessage are the tokens that end a message in a channel; the last two begin the next one.
var closesMessage = set("<|end|> <|return|> <|call|> <|eom|> <|eot|> <|start|> <|channel|>")

// channelHeader handles a header at the front of raw.
func (f *Filter) channelHeader(final bool) verdict {
	front := f.raw[:min(len(f.raw), maxHeader)]
	at := channelHeader().FindStringSubmatch(front)
	if at == nil {
		if !final && len(front) < maxHeader && !strings.Contains(front, "<|message|>") && !strings.Contains(front, "\n\n") {
			return unknown
		}
		return nothing
	}
	to := at[1] + at[3]
	switch {
	case at[2] == "analysis", to == "self":
		f.skip(len(at[0]))
		f.think(mark{kind: thoughtOpens, name: "<|message|>"}, true)
	case to != "" && to != "user" && to != "all" && !f.textOnly:
		return f.hold(true)
	default:
		f.skip(len(at[0]))
		f.channels, f.stripped = true, true
	}
	return handled
}

// laterChannel handles a message behind some text. The text is a message before it, or, without a header, a thought.
func (f *Filter) laterChannel(m mark, next following, final bool) bool {
	if f.inLine && (unicode.IsSpace(f.last) || !f.isGlued()) || f.startSeen || next.goesOn() {
		return f.mention(m)
	}
	inChannel := f.channels
	switch f.channelHeader(final) {
	case unknown:
		return false
	case nothing:
		return f.mention(m)
	}
	switch {
	case f.isHolding && f.messageEnded && !inChannel: // what was before has no header: a thought
		was := f.holding
		f.takeBack()
		f.holding, f.mode = was, (*Filter).readHeld
		f.inText = false
	case f.isHolding:
	case f.isThinking:
		f.inBody = true
	case inChannel:
		f.put("\n\n")
	default:
		f.takeBack()
	}
	return true
}
