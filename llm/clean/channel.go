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

// message is the header of a message in a channel.
type message struct {
	size      int  // in bytes; 0: there is none
	isThought bool // the message is for the model itself
	isCall    bool // it is for a tool
}

// messageAt returns the header at the front of a text.
func messageAt(text string, final bool) (head message, more bool) {
	front := text[:min(len(text), maxHeader)]
	at := channelHeader().FindStringSubmatch(front)
	if at == nil {
		arriving := len(front) < maxHeader && !strings.Contains(front, "<|message|>") && !strings.Contains(front, "\n\n")
		return message{}, arriving && !final
	}
	next, more := follow(text[len(at[0]):], final)
	if more || next.goesOn() && next.blank > 0 {
		return message{}, more
	}
	to := at[1] + at[3]
	head.size = len(at[0])
	head.isThought = to == "self" || soundsLikeThought().MatchString(strings.ToLower(at[2]))
	head.isCall = !head.isThought && to != "" && to != "user" && to != "all"
	return head, false
}

// thinkMessage is a step that begins a thought behind its header. inBody: there is text before it.
func thinkMessage(in *input, inBody bool) step {
	return think(in, &thought{name: "<|message|>", isOpen: true, inBody: inBody}, 0)
}

// startMessage handles a message at the start.
func (o *opening) startMessage(in *input, head message) step {
	switch {
	case head.size == 0:
		return step{verdict: nothing}
	case head.isCall && !in.textOnly:
		return hold(true, false)
	}
	in.skip(head.size)
	if head.isThought {
		return thinkMessage(in, false)
	}
	o.traits.channels = true
	o.stripped = true
	return step{verdict: handled}
}

// laterMessage handles a message behind some text. The text is a message before it, or, without a header, a thought.
func (b *body) laterMessage(in *input, m mark, next following) step {
	if b.text.inLine && (unicode.IsSpace(b.text.last) || !b.text.isGlued()) || b.mentions.messages || next.goesOn() {
		return b.mention(in, m, next)
	}
	head, more := messageAt(in.raw, in.final)
	switch {
	case more:
		return step{verdict: unknown}
	case head.size == 0:
		return b.mention(in, m, next)
	}
	inChannel := b.traits.channels
	ended := b.traits.messageEnded
	b.traits.messageEnded = false
	if head.isCall && !in.textOnly {
		if ended && !inChannel { // what was before has no header: a thought
			return step{verdict: takeBack, held: &held{marked: true}}
		}
		return hold(true, true)
	}
	in.skip(head.size)
	b.traits.channels = inChannel || !head.isThought
	switch {
	case head.isThought:
		return thinkMessage(in, true)
	case inChannel:
		b.text.put("\n\n")
		return step{verdict: handled}
	}
	return step{verdict: takeBack}
}
