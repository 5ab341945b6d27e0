// The endpoints that respond to interactions, with their deadlines.
package discordtest

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"
)

// Types of first responses (Discord, Receiving and Responding: Interaction Callback Type).
const (
	CallbackMessage       = 4
	CallbackDeferred      = 5
	CallbackDeferUpdate   = 6
	CallbackAutocompleted = 8
)

// callback handles the first response: only once, and within 3 s (Discord, Receiving and
// Responding: Responding to an Interaction).
func (w *world) callback(q query) (any, error) {
	i := w.interactions[q.PathValue("interaction")]
	if i == nil || i.Token != q.PathValue("token") || i.Answered.IsZero() && time.Since(i.At) > w.options.AnswerWithin {
		return nil, unknown(10062, "interaction")
	}
	if !i.Answered.IsZero() {
		return nil, &apiError{status: http.StatusBadRequest, code: 40060, message: "Interaction has already been acknowledged."}
	}
	var body struct {
		Type int             `json:"type"`
		Data json.RawMessage `json:"data"`
	}
	if err := q.decode(&body); err != nil {
		return nil, err
	}
	if !slices.Contains(callbacksFor[i.Type], body.Type) {
		return nil, invalid("type", "INTERACTION_TYPE_INVALID", "This type does not answer this interaction.")
	}
	if len(body.Data) == 0 || string(body.Data) == "null" {
		body.Data = json.RawMessage("{}")
	}
	q.body = body.Data
	if err := w.take(i, body.Type, q); err != nil {
		return nil, err
	}
	i.Answered, i.Callback = time.Now(), body.Type
	return nil, nil
}

var callbacksFor = map[int][]int{
	InteractionCommand:      {CallbackMessage, CallbackDeferred},
	InteractionComponent:    {CallbackMessage, CallbackDeferred, CallbackDeferUpdate},
	InteractionAutocomplete: {CallbackAutocompleted},
}

// take applies a first response.
func (w *world) take(i *Interaction, kind int, q query) error {
	if kind == CallbackAutocompleted {
		var d struct {
			Choices []Choice `json:"choices"`
		}
		if err := q.decode(&d); err != nil {
			return err
		}
		i.Choices = d.Choices
		return checkChoices(d.Choices)
	}
	p, err := w.parsePayload(q, kind != CallbackMessage, allowUsers) // a deferral cannot notify anyone
	if err != nil {
		return err
	}
	switch kind {
	case CallbackMessage:
		if p.empty() {
			return errEmpty
		}
		i.Ephemeral = p.Flags&FlagEphemeral != 0
		i.Answer = w.answerTo(i, p)
	case CallbackDeferred:
		// Discord, Receiving and Responding: Interaction Callback Data Structure.
		if p.Flags&^FlagEphemeral != 0 {
			return invalid("flags", "BASE_TYPE_BAD_INT", "A deferral may only have the flag EPHEMERAL.")
		}
		i.Ephemeral = p.Flags&FlagEphemeral != 0
		i.Loading, i.loading = true, w.answerTo(i, payload{Flags: p.Flags | FlagLoading})
	case CallbackDeferUpdate:
		i.Answer = i.source
	}
	return nil
}

// answerTo creates a response. It is a message of the channel unless it is ephemeral.
func (w *world) answerTo(i *Interaction, p payload) *Message {
	m := w.newMessage(w.channel(i.Channel), w.bot, "")
	m.Type = MessageCommand
	w.fill(m, p)
	if m.Flags&FlagEphemeral == 0 {
		w.post(m)
	}
	return m
}

func (w *world) update(m *Message, p payload) error {
	if err := w.change(m, p); err != nil {
		return err
	}
	if m.Flags&FlagEphemeral == 0 {
		w.dispatchMessage("MESSAGE_UPDATE", m)
	}
	return nil
}

// interactionOf returns the interaction of a webhook's token, which is valid for 15 min, and only
// after a first response (Discord, Receiving and Responding: Followup Messages).
func (w *world) interactionOf(q query) (*Interaction, error) {
	for _, i := range w.interactions {
		switch {
		case i.Token != q.PathValue("token") || q.PathValue("app") != w.app:
		case i.Answered.IsZero() || i.Type == InteractionAutocomplete:
			return nil, unknown(10015, "Webhook")
		case time.Since(i.At) > w.options.TokenLife:
			return nil, &apiError{status: http.StatusUnauthorized, code: 50027, message: "Invalid Webhook Token"}
		default:
			return i, nil
		}
	}
	return nil, unknown(10015, "Webhook")
}

// webhookMessage returns the message of a path; nil for an original that was deferred and not
// edited yet.
func (w *world) webhookMessage(q query) (i *Interaction, m *Message, err error) {
	if i, err = w.interactionOf(q); err != nil {
		return nil, nil, err
	}
	which := q.PathValue("message")
	original := i.Answer != nil && i.Answer.ID == which || i.loading != nil && i.loading.ID == which
	if which == "@original" || original {
		m = i.Answer
		if m == nil && i.Callback != CallbackDeferred || m != nil && m.Deleted {
			return i, nil, unknown(10008, "Message")
		}
		return i, m, nil
	}
	for _, m := range i.followups {
		if m.ID == which && !m.Deleted {
			return i, m, nil
		}
	}
	return i, nil, unknown(10008, "Message")
}

// editAnswer edits a response, or completes a deferred one. The deferral determines whether it is
// ephemeral.
func (w *world) editAnswer(q query) (any, error) {
	i, m, err := w.webhookMessage(q)
	if err != nil {
		return nil, err
	}
	p, err := w.parsePayload(q, m != nil, allowUsers)
	if err != nil {
		return nil, err
	}
	if m != nil {
		err = w.update(m, p)
		return m, err
	}
	return w.complete(i, p)
}

// complete replaces the loading message by the response.
func (w *world) complete(i *Interaction, p payload) (any, error) {
	if p.empty() {
		return nil, errEmpty
	}
	m, now := i.loading, time.Now().UTC()
	p.Flags = p.Flags&^FlagEphemeral | m.Flags&FlagEphemeral
	w.fill(m, p)
	m.Edited = &now
	i.Answer, i.Loading, i.loading = m, false, nil
	if !i.Ephemeral {
		w.dispatchMessage("MESSAGE_UPDATE", m)
	}
	return m, nil
}

func (w *world) deleteAnswer(q query) (any, error) {
	i, m, err := w.webhookMessage(q)
	if err != nil {
		return nil, err
	}
	if m == nil {
		m = i.loading
		i.Callback, i.Loading, i.loading = 0, false, nil // the deferral is gone, so nothing is left to edit
	}
	if m.Flags&FlagEphemeral == 0 {
		w.deleted(m)
	}
	m.Deleted = true
	return nil, nil
}

// followUp adds a message; directly after a deferral it completes that instead (Discord, Receiving
// and Responding: Create Followup Message).
func (w *world) followUp(q query) (any, error) {
	i, err := w.interactionOf(q)
	if err != nil {
		return nil, err
	}
	p, err := w.parsePayload(q, false, allowUsers)
	if err != nil {
		return nil, err
	}
	if i.Loading {
		return w.complete(i, p)
	}
	if p.empty() {
		return nil, errEmpty
	}
	m := w.answerTo(i, p)
	i.followups = append(i.followups, m)
	return m, nil
}
