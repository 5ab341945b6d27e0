// Channels: answers in messages that have a header each, of which only some are for people (gpt-oss, Muse Glimmer).

package clean

import (
	"strings"
	"unicode"

	"cairn/internal/lazy"
)

// channelHeader parses the header of a message in a channel: <|start|>assistant to=functions.lookup<|channel|>commentary
// <|constrain|>json<|message|>. Its groups: recipient, channel, recipient.
var channelHeader = lazy.Pattern(`^(?i)(?:<\|start\|>)?\s*(?:assistant)?(?:\s*to=([\w.-]+))?\s*(?:<\|channel\|>\s*(\w+))?(?:\s*to=([\w.-]+))?` +
	`\s*(?:<\|constrain\|>\s*\w+|json|code|text)?\s*<\|message\|>`)

// maxHeader limits the size of a header, in bytes.
const maxHeader = 200

// closesMessage are the tokens that end a message in a channel; the last two begin the next one.
var closesMessage = set("<|end|> <|return|> <|call|> <|eom|> <|eot|> <|start|> <|channel|>")

// headerAt returns the groups of the header at the front of a text; nil if there is none.
func headerAt(text string, final bool) (at []string, more bool) {
	front := text[:min(len(text), maxHeader)]
	at = channelHeader().FindStringSubmatch(front)
	if at == nil {
		return nil, !final && len(front) < maxHeader && !strings.Contains(front, "<|message|>") && !strings.Contains(front, "\n\n")
	}
	next, more := follow(text[len(at[0]):], final)
	if next.goesOn() && next.blank > 0 {
		at = nil
	}
	return at, more
}

// channelHeader handles a header at the front of raw.
func (f *Filter) channelHeader(final bool) verdict {
	at, more := headerAt(f.raw, final)
	switch {
	case more:
		return unknown
	case at == nil:
		return nothing
	}
	to := at[1] + at[3]
	switch {
	case soundsLikeThought().MatchString(strings.ToLower(at[2])), to == "self":
		f.skip(len(at[0]))
		f.think(mark{kind: thoughtOpens, name: "<|message|>"}, true)
	case to != "" && to != "user" && to != "all" && !f.textOnly:
		return f.hold(true)
	default:
		f.skip(len(at[0]))
		f.channels = true
		f.stripped = true
	}
	return handled
}

// laterChannel handles a message behind some text. The text is a message before it, or, without a header, a thought.
func (f *Filter) laterChannel(m mark, next following, final bool) bool {
	if f.inLine && (unicode.IsSpace(f.last) || !f.isGlued()) || f.headSeen || next.goesOn() {
		return f.mention(m, next)
	}
	inChannel := f.channels
	ended := f.messageEnded
	switch f.channelHeader(final) {
	case unknown:
		return false
	case nothing:
		return f.mention(m, next)
	}
	f.messageEnded = false
	switch {
	case f.isHolding && ended && !inChannel: // what was before has no header: a thought
		was := f.holding
		f.takeBack()
		f.holding = was
		f.mode = (*Filter).readHeld
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
