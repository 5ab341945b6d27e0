// The endpoints that respond to interactions, with their deadlines.
package discordtest

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/bwmarrin/discordgo"
)

// callback handles the first response: only once, and within 3 s (Discord, Receiving and
// Responding: Responding to an Interaction).
func (w *world) callback(q query) any {
	i := w.interactions[q.PathValue("interaction")]
	refuseIf(i == nil || i.Token != q.PathValue("token") || i.Answered.IsZero() && time.Since(i.At) > w.options.AnswerWithin, unknown(10062, "interaction"))
	refuseIf(!i.Answered.IsZero(), &apiError{status: http.StatusBadRequest, code: 40060, message: "Interaction has already been acknowledged."})
	var body struct {
		Type discordgo.InteractionResponseType `json:"type"`
		Data json.RawMessage                   `json:"data"`
	}
	q.decode(&body)
	refuseIf(!slices.Contains(callbacksFor[i.Type], body.Type), invalid("type", "INTERACTION_TYPE_INVALID", "This type does not answer this interaction."))
	if len(body.Data) == 0 || string(body.Data) == "null" {
		body.Data = json.RawMessage("{}")
	}
	q.body = body.Data
	w.take(i, body.Type, q)
	i.Answered, i.Callback = time.Now(), body.Type
	return nil
}

const (
	callbackMessage       = discordgo.InteractionResponseChannelMessageWithSource
	callbackDeferred      = discordgo.InteractionResponseDeferredChannelMessageWithSource
	callbackDeferUpdate   = discordgo.InteractionResponseDeferredMessageUpdate
	callbackAutocompleted = discordgo.InteractionApplicationCommandAutocompleteResult
)

var callbacksFor = map[discordgo.InteractionType][]discordgo.InteractionResponseType{
	discordgo.InteractionApplicationCommand:             {callbackMessage, callbackDeferred},
	discordgo.InteractionMessageComponent:               {callbackMessage, callbackDeferred, callbackDeferUpdate},
	discordgo.InteractionApplicationCommandAutocomplete: {callbackAutocompleted},
}

// take applies a first response.
func (w *world) take(i *Interaction, kind discordgo.InteractionResponseType, q query) {
	if kind == callbackAutocompleted {
		var d struct {
			Choices []*discordgo.ApplicationCommandOptionChoice
		}
		q.decode(&d)
		i.Choices = d.Choices
		checkChoices(d.Choices)
		return
	}
	p := w.parsePayload(q, kind != callbackMessage, allowUsers) // a deferral cannot notify anyone
	switch kind {
	case callbackMessage:
		refuseIf(p.empty(), errEmpty)
		i.Ephemeral = p.Flags&discordgo.MessageFlagsEphemeral != 0
		i.Answer = w.answerTo(i, p)
	case callbackDeferred:
		// Discord, Receiving and Responding: Interaction Callback Data Structure.
		refuseIf(p.Flags&^discordgo.MessageFlagsEphemeral != 0, invalid("flags", "BASE_TYPE_BAD_INT", "A deferral may only have the flag EPHEMERAL."))
		i.Ephemeral = p.Flags&discordgo.MessageFlagsEphemeral != 0
		i.Loading, i.loading = true, w.answerTo(i, payload{Flags: p.Flags | discordgo.MessageFlagsLoading})
	case callbackDeferUpdate:
		i.Answer = i.source
	}
}

// answerTo creates a response. It is a message of the channel unless it is ephemeral.
func (w *world) answerTo(i *Interaction, p payload) *Message {
	m := w.newMessage(w.channel(i.Channel), w.bot, "")
	m.Type = discordgo.MessageTypeChatInputCommand
	w.fill(m, p)
	if m.Flags&discordgo.MessageFlagsEphemeral == 0 {
		w.post(m)
	}
	return m
}

func (w *world) update(m *Message, p payload) {
	w.change(m, p)
	if m.Flags&discordgo.MessageFlagsEphemeral == 0 {
		w.dispatchMessage("MESSAGE_UPDATE", m)
	}
}

// interactionOf returns the interaction of a webhook's token, which is valid for 15 min, and only
// after a first response (Discord, Receiving and Responding: Followup Messages).
func (w *world) interactionOf(q query) *Interaction {
	for _, i := range w.interactions {
		if i.Token != q.PathValue("token") || q.PathValue("app") != w.app || i.Answered.IsZero() || i.Type == discordgo.InteractionApplicationCommandAutocomplete {
			continue
		}
		refuseIf(time.Since(i.At) > w.options.TokenLife, &apiError{status: http.StatusUnauthorized, code: 50027, message: "Invalid Webhook Token"})
		return i
	}
	panic(unknown(10015, "Webhook"))
}

// webhookMessage returns the original response of a path; nil if it was deferred and not edited
// yet. The double does not support edits of followups.
func (w *world) webhookMessage(q query) (*Interaction, *Message) {
	i := w.interactionOf(q)
	which, m := q.PathValue("message"), i.Answer
	original := which == "@original" || m != nil && m.ID == which || i.loading != nil && i.loading.ID == which
	gone := m == nil && i.Callback != callbackDeferred || m != nil && m.Deleted
	refuseIf(!original || gone, unknown(10008, "Message"))
	return i, m
}

// editAnswer edits a response, or completes a deferred one. The deferral determines whether it is
// ephemeral.
func (w *world) editAnswer(q query) any {
	i, m := w.webhookMessage(q)
	p := w.parsePayload(q, m != nil, allowUsers)
	if m != nil {
		w.update(m, p)
		return m
	}
	return w.complete(i, p)
}

// complete replaces the loading message by the response.
func (w *world) complete(i *Interaction, p payload) any {
	refuseIf(p.empty(), errEmpty)
	m, now := i.loading, time.Now().UTC()
	p.Flags = p.Flags&^discordgo.MessageFlagsEphemeral | m.Flags&discordgo.MessageFlagsEphemeral
	w.fill(m, p)
	m.EditedTimestamp = &now
	i.Answer, i.Loading, i.loading = m, false, nil
	if !i.Ephemeral {
		w.dispatchMessage("MESSAGE_UPDATE", m)
	}
	return m
}

func (w *world) deleteAnswer(q query) any {
	i, m := w.webhookMessage(q)
	if m == nil {
		m = i.loading
		i.Callback, i.Loading, i.loading = 0, false, nil // the deferral is gone, so nothing is left to edit
	}
	if m.Flags&discordgo.MessageFlagsEphemeral == 0 {
		w.deleted(m)
	}
	m.Deleted = true
	return nil
}

// followUp adds a message; directly after a deferral it completes that instead (Discord, Receiving
// and Responding: Create Followup Message).
func (w *world) followUp(q query) any {
	i := w.interactionOf(q)
	p := w.parsePayload(q, false, allowUsers)
	if i.Loading {
		return w.complete(i, p)
	}
	refuseIf(p.empty(), errEmpty)
	m := w.answerTo(i, p)
	i.Followups = append(i.Followups, m)
	return m
}
