// The endpoints that respond to interactions, with their deadlines.

package discordtest

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/bwmarrin/discordgo"
)

// callback: only one, and within 3 s (Discord, Receiving and Responding: Responding to an Interaction).
func (w *world) callback(q query) any {
	i := w.interactions[q.PathValue("interaction")]
	refuseIf(i == nil || i.Token != q.PathValue("token") || i.Answered.IsZero() && time.Since(i.At) > w.options.AnswerWithin, unknown(10062, "interaction"))
	refuseIf(!i.Answered.IsZero(), &apiError{status: http.StatusBadRequest, code: 40060, message: "Interaction has already been acknowledged."})
	var body struct {
		Type discordgo.InteractionResponseType `json:"type"`
		Data json.RawMessage                   `json:"data"`
	}
	q.decode(&body)
	wrong := invalid("type", "INTERACTION_TYPE_INVALID", "This type does not answer this interaction.")
	asMessage := i.Type == discordgo.InteractionMessageComponent && body.Type == discordgo.InteractionResponseDeferredChannelMessageWithSource
	refuseIf(callbackFor[i.Type] != body.Type && !asMessage, wrong)
	if len(body.Data) == 0 || string(body.Data) == "null" {
		body.Data = json.RawMessage("{}")
	}
	q.body = body.Data
	w.take(i, q, body.Type)
	i.Answered = time.Now()
	return nil
}

// callbackFor has the types of responses that the double supports: it has no messages that are no deferrals. To a button, a new message is
// an answer, too.
var callbackFor = map[discordgo.InteractionType]discordgo.InteractionResponseType{
	discordgo.InteractionApplicationCommand:             discordgo.InteractionResponseDeferredChannelMessageWithSource,
	discordgo.InteractionModalSubmit:                    discordgo.InteractionResponseDeferredChannelMessageWithSource,
	discordgo.InteractionMessageComponent:               discordgo.InteractionResponseDeferredMessageUpdate,
	discordgo.InteractionApplicationCommandAutocomplete: discordgo.InteractionApplicationCommandAutocompleteResult,
}

func (w *world) take(i *Interaction, q query, kind discordgo.InteractionResponseType) {
	switch kind {
	case discordgo.InteractionApplicationCommandAutocompleteResult:
		var d struct {
			Choices []*discordgo.ApplicationCommandOptionChoice
		}
		q.decode(&d)
		i.Choices = d.Choices
		checkChoices(d.Choices)
	case discordgo.InteractionResponseDeferredMessageUpdate:
		i.Answer = i.source
	default:
		p := w.parsePayload(q, true, allowUsers) // a deferral cannot notify anyone
		// Discord, Receiving and Responding: Interaction Callback Data Structure.
		refuseIf(p.Flags&^discordgo.MessageFlagsEphemeral != 0, invalid("flags", "BASE_TYPE_BAD_INT", "A deferral may only have the flag EPHEMERAL."))
		i.Answer = w.answerTo(i, payload{Flags: p.Flags | discordgo.MessageFlagsLoading})
	}
}

func (w *world) answerTo(i *Interaction, p payload) *Message {
	m := w.newMessage(w.channel(i.Channel), w.bot, "")
	m.Type = discordgo.MessageTypeChatInputCommand
	w.fill(m, p)
	w.post(m)
	return m
}

// update edits a response, or completes a deferred one. The deferral determines whether it is ephemeral.
func (w *world) update(m *Message, p payload) any {
	if m.is(discordgo.MessageFlagsLoading) {
		refuseIf(p.empty(), errEmpty)
		p.Flags = p.Flags&^discordgo.MessageFlagsEphemeral | m.Flags&discordgo.MessageFlagsEphemeral
		w.fill(m, p)
		now := time.Now().UTC()
		m.EditedTimestamp = &now
	} else {
		w.change(m, p)
	}
	w.dispatchMessage("MESSAGE_UPDATE", m)
	return m
}

// interactionOf: a token is valid for 15 min, after a first response (Discord, Receiving and Responding: Followup Messages).
func (w *world) interactionOf(q query) *Interaction {
	for _, i := range w.interactions {
		if i.Token != q.PathValue("token") || q.PathValue("app") != w.bot.ID || i.Answered.IsZero() || i.Type == discordgo.InteractionApplicationCommandAutocomplete {
			continue
		}
		refuseIf(time.Since(i.At) > w.options.TokenLife, &apiError{status: http.StatusUnauthorized, code: 50027, message: "Invalid Webhook Token"})
		return i
	}
	panic(unknown(10015, "Webhook").answer())
}

// webhookMessage returns the original response of a path. The double does not support edits of followups.
func (w *world) webhookMessage(q query) *Message {
	m := w.interactionOf(q).Answer
	which := q.PathValue("message")
	refuseIf(m == nil || m.Deleted || which != "@original" && which != m.ID, unknown(10008, "Message"))
	return m
}

func (w *world) editAnswer(q query) any {
	m := w.webhookMessage(q)
	return w.update(m, w.parsePayload(q, !m.is(discordgo.MessageFlagsLoading), allowUsers))
}

func (w *world) deleteAnswer(q query) any {
	w.deleted(w.webhookMessage(q))
	return nil
}

// followUp may complete a deferral instead (Discord, Receiving and Responding: Create Followup Message).
func (w *world) followUp(q query) any {
	i := w.interactionOf(q)
	p := w.parsePayload(q, false, allowUsers)
	if i.loading() {
		return w.update(i.Answer, p)
	}
	refuseIf(p.empty(), errEmpty)
	m := w.answerTo(i, p)
	i.Followups = append(i.Followups, m)
	return m
}

func (i *Interaction) loading() bool {
	return i.Answer != nil && !i.Answer.Deleted && i.Answer.is(discordgo.MessageFlagsLoading)
}
