package channel

import (
	"context"
	"slices"
	"time"

	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
	"cairn/store"
)

// Messages for the running turn: the model reads them with its next request. They wait in the inbox until the outcome of the turn is
// written, so a turn that makes no further request, or is repeated, loses none: what it has not read is answered afterwards.

// classify applies the rules to a message. One that begins with /steer is for the running turn, unless the settings restrict that.
func classify(rules *access.Rules, conversation string, m *Inbound) {
	text, spoken := command.Spoken(m.Text)
	if spoken && m.Addressed && !m.Bot {
		m.Text = text
		m.Steers = true
	}
	rules.Classify(conversation, m)
	m.Steers = m.Steers && m.Addressed && !m.Optional && !rules.Restricts(command.Steer, false)
}

// steer adds the messages for this turn that wait, behind the results of tools.
func (a *attempt) steer() {
	mayWait := a.resumed // then some may have waited before
	burst := a.burst()
	a.do(func(e *compactor.Compactor) {
		mayWait = mayWait || a.loop.runs.again // whatever arrives wakes the loop
		for _, m := range e.View().Turn(a.question) {
			if m.Role == llm.RoleUser {
				burst -= m.As.Tokens
			}
		}
	})
	if !mayWait || a.task != nil {
		return
	}
	waiting, err := a.records.Inbox().Steering(a.life)
	if err != nil && a.life.Err() == nil {
		a.log.Warn("read_steering_messages_failed", "effect", "they are answered afterwards", "error", err)
	}
	for _, m := range waiting {
		if slices.ContainsFunc(a.messages, func(known chat.Message) bool { return known.Role == llm.RoleUser && known.ID == m.ID }) {
			continue
		}
		burst -= m.Tokens
		if burst < 0 {
			return // as with other messages, the rest waits for the next turn
		}
		a.do(func(e *compactor.Compactor) {
			m.Seq = e.View().Next
			m.Turn = a.question
			e.Add(m)
		})
		a.messages = append(a.messages, m)
	}
}

// leaveUnread drops the messages for this turn at its end: the model has said nothing after them, so they go on waiting.
func (t *turn) leaveUnread() {
	n := len(t.attempt.messages)
	for n > 0 && t.attempt.messages[n-1].Role == llm.RoleUser {
		n--
	}
	if n == len(t.attempt.messages) {
		return
	}
	t.do(func(e *compactor.Compactor) { e.Discard(t.attempt.messages[n].Seq) })
	t.attempt.messages = t.attempt.messages[:n]
}

// steered returns the platform ids of the messages of people in an answer.
func steered(answer []chat.Message) (ids []string) {
	for _, m := range answer {
		if m.Role == llm.RoleUser {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// SteerTo returns the conversation to which a message for the running answer goes that somebody wrote in a thread, by its platform id: that
// of the channel while people see its answer in the thread. One that was delivered before stays where it is. Any process may ask.
func SteerTo(ctx context.Context, h *Hub, thread, id string) (string, error) {
	above := chat.ParsePlace(thread)
	question := above.Thread
	above.Thread = ""
	for _, name := range []string{above.String(), thread} {
		if has, err := Has(ctx, h, name, id); err != nil || has {
			return name, err
		}
	}
	records, err := h.stored(ctx, above.String())
	if records == nil || h.access.Rules().Restricts(command.Steer, false) {
		return thread, err
	}
	turn, open, err := records.Turns().Unanswered(ctx)
	if open && h.answersIn(ctx, above.String(), turn.To, question) {
		return above.String(), err
	}
	return thread, err
}

// answersIn reports whether people see the answer to messages of a channel's conversation in a thread: it hangs on one of them, or one of
// them was written there, for an answer that was complete before it could be read.
func (h *Hub) answersIn(ctx context.Context, above string, to []string, thread string) bool {
	if slices.Contains(to, thread) {
		return true
	}
	threader, knows := h.connectors[connectorOf(above)].(Threader)
	return knows && slices.ContainsFunc(to, func(id string) bool { return threader.ThreadOf(ctx, above, id) == thread })
}

// Say delivers a message that a person wrote into a command, to the conversation whose answer people see here.
func (h commandHost) Say(ctx context.Context, who access.Person, id, text string, steers bool) (fresh bool, err error) {
	to := h.c.name
	for _, name := range h.answeredHere(ctx) {
		if steers && h.operator().turnIn(name) != nil {
			to = name
		}
	}
	message := Inbound{ID: store.OwnID + id, AuthorID: who.ID, Author: who.Name, Text: text, Time: time.Now(), Addressed: true, Steers: steers}
	if to != h.c.name {
		message.ReplyTo = chat.ParsePlace(h.c.name).Thread // where it is answered if that answer does not read it
	}
	receipts, err := h.hub.take(ctx, to, []Inbound{message})
	if err != nil {
		return false, err
	}
	return receipts[0].Fresh, nil
}
