package channel

import (
	"context"
	"sync/atomic"
	"time"

	"cairn/channel/command"
	"cairn/channel/sentences"
)

// voice writes the bot's own sentences in a conversation. It is safe for concurrent use.
type voice struct {
	*site
	code atomic.Pointer[string] // of the language; nil until it is known
}

// voice returns the voice in a conversation, which may not be open.
func (h *Hub) voice(conversation string) *voice {
	if c, _ := h.find(conversation, nil); c != nil {
		defer h.release(c)
		return &c.voice
	}
	return &voice{site: h.place(conversation, h.connectors[connectorOf(conversation)], nil)}
}

// SpokenIn returns the language in which the bot speaks in a conversation, one of Languages.
func SpokenIn(h *Hub, conversation string) string { return h.voice(conversation).language() }

// setting returns the value of the setting: one of Languages, or "".
func (v *voice) setting() string { return v.o.Agent(v.account()).Language }

// language returns the code of the language in use, one of prompts.Languages.
func (v *voice) language() string {
	if code := v.code.Load(); code != nil {
		return *code
	}
	return supported(v.setting())
}

// detect sets the language of a conversation being opened; after an error it is the default until then.
func (v *voice) detect(ctx context.Context) {
	if v.code.Load() != nil {
		return
	}
	if code, err := languageIn(ctx, v.records, v.setting()); err == nil {
		v.code.CompareAndSwap(nil, &code)
	}
}

// speaker writes sentences in the language of the conversation, with commands as people write them there.
func (v *voice) speaker() sentences.Speaker {
	return sentences.Speaker{Language: v.language(), Spelling: v.spell}
}

// spell replaces the commands in a text of ours with the form that they have here.
func (v *voice) spell(text string) string {
	speller, ok := v.connector.(Speller)
	if !ok {
		return text
	}
	return command.Spell(text, func(line string) string { return speller.Spell(v.name, line) })
}

// translate translates a sentence, and leaves commands as they are.
func (v *voice) translate(text string) string { return sentences.In(v.language()).Translate(text) }

// sayTimeout limits how long a notice may take, which is not worth more: the conversation waits for it.
const sayTimeout = time.Minute

// say sends a notice without the outbox, which may not be writable.
func (v *voice) say(ctx context.Context, id, text string, to ...string) {
	if v.connector == nil {
		return
	}
	piece := Piece{Reply: id, Parts: 1, To: to, Text: v.translate(text), Failure: true}
	err := callConnector(ctx, sayTimeout, func(ctx context.Context) error {
		_, err := v.connector.Reply(v.name, to).Send(ctx, piece)
		return err
	})
	if err != nil {
		v.log.Warn("send_notice_failed", "error", err)
	}
}
