package channel

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cairn/channel/access"
	"cairn/channel/report"
	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/prices"
	"cairn/store"
	"cairn/transcript"
)

// Notices for people: of compactions, if the connector does not show every step, of budgets, and of answers that are not complete.

// Reactor is implemented by connectors that can put a reaction on a message.
type Reactor interface {
	// React puts a reaction on a message, by its platform id. It may ask the platform, and ends when ctx does.
	React(ctx context.Context, conversation, id string, reaction Reaction) error
}

// Reaction is what a reaction means; connectors choose the emoji.
type Reaction string

// The reactions.
const (
	ReactionSummarized Reaction = "summarized" // the messages before this one were summarized
	ReactionUnanswered Reaction = "unanswered" // the bot may not write here
	ReactionRemembered Reaction = "remembered" // a memory was saved
)

// post puts a notice into the outbox, by an id under which it is there once. During a turn it goes where the answer goes, such as to
// a thread. Where the bot may not write, there is none.
func (s *sender) post(ctx context.Context, id, text string) error {
	if s.cannotWrite() != "" {
		return nil
	}
	var to []string
	if turn := s.loop.turn.Load(); turn != nil && IsNotice(Piece{Reply: id}) {
		to = turn.To
	}
	err := s.records.Outbox().Post(ctx, store.Outcome{Reply: id, Pieces: s.connector.Split(text), To: to, Failure: true})
	if err == nil {
		s.start()
	}
	return err
}

// try posts a notice that is not worth more than a log line if it cannot be posted.
func (s *sender) try(ctx context.Context, id, text string) {
	if err := s.post(ctx, id, s.speaker().Translate(text)); err != nil {
		s.log.Warn("notify_failed", "notice", id, "error", err)
	}
}

// announce notifies people of a compaction that made room; notify says how. newest is the newest message, by its platform id.
func (s *sender) announce(ctx context.Context, e *compactor.Event, notify, newest string) {
	if s.access.Rules().RespondIn(s.name) == access.RespondNever || s.paused(ctx) {
		return
	}
	switch notify {
	case compactor.NotifyMessage:
		line := fmt.Sprintf("(I summarized %d older messages. Nothing is lost.)", report.MessagesIn(e.Set))
		if e.Kind == compactor.Placeholder {
			line = fmt.Sprintf("(I hid %d older messages to make room; their summary follows. Nothing is lost.)", e.Messages)
		}
		s.try(ctx, replyID{kind: replyLanding, of: number(e.ID), language: s.language()}.String(), line)
	case compactor.NotifyReaction:
		s.react(newest, ReactionSummarized)
	}
}

// react puts a reaction on a message, by its platform id, without waiting; "" is none.
func (s *sender) react(id string, reaction Reaction) {
	reactor, ok := s.connector.(Reactor)
	if !ok || id == "" {
		return
	}
	s.goroutines.start(func() {
		err := callConnector(s.life, time.Minute, func(ctx context.Context) error { return reactor.React(ctx, s.name, id, reaction) })
		if err != nil {
			s.log.Debug("react_failed", "reaction", reaction, "error", err)
		}
	})
}

// warnOwner warns an owner who was answered in a turn that a budget is nearly spent: once per period, in one conversation.
func (s *sender) warnOwner(ctx context.Context, turn int64) {
	allowed, ruled := s.access.Rules().Access[connectorOf(s.name)] // only owners use a connector without rules
	byOwner := func(m chat.Message) bool { return slices.Contains(allowed.Owners, m.AuthorID) }
	for _, b := range s.access.Budgets() {
		if !b.NearlySpent() || ruled && !slices.ContainsFunc(s.loop.addressed(turn), byOwner) {
			continue
		}
		id := replyID{kind: replyBudget, of: b.Key()}.String() // of the reply; other conversations and later processes recognize it by this id
		posted, err := s.records.Store().Posted(ctx, id)
		if err == nil && !posted {
			text := "(%s is nearly used up: %s of %s. When it is used up, I stop answering until %s.)"
			if b.Spent >= b.Limit {
				text = "(%s is used up: %s of %s. I will answer again from %s on, or once it is raised.)"
			}
			ends := chat.ZonedTime(b.Ends())
			err = s.post(ctx, id, s.speaker().Sayf(text, b.Setting, prices.Money(b.Spent), prices.Money(b.Limit), ends))
		}
		if err != nil {
			s.log.Warn("notify_owner_failed", "setting", b.Setting, "error", err)
		}
	}
}

// notifyShortened tells authors of messages too long for the window that the answer may not cover all of them.
func (t *turn) notifyShortened(ctx context.Context) {
	var clipped []transcript.Clipped
	t.do(func(e *compactor.Compactor) {
		for _, m := range e.View().Turn(t.Seq) {
			if part := m.Clipped(); part != nil && m.Addressed {
				clipped = append(clipped, *part)
			}
		}
	})
	for _, m := range clipped {
		shown := fmt.Sprintf("the first %d", m.First)
		if m.Last > 0 {
			shown = fmt.Sprintf("the first %d and the last %d", m.First, m.Last)
		}
		t.sender.try(ctx, replyID{kind: replyShortened, of: number(m.Seq)}.String(),
			fmt.Sprintf("(Your message is too long for the model's context window: the model sees %s of %d characters. All of it is stored.)", shown, m.All))
	}
}

// notifyCutOff logs and tells people that an answer is not complete: what there is looks like all of it.
func (t *turn) notifyCutOff(ctx context.Context, finish string) {
	line := map[string]string{
		llm.FinishLength: "(My answer was cut off at the length limit. Ask me to continue.)",
		llm.FinishFilter: "(The model provider's filter withheld the rest of my answer.)",
	}[finish]
	if line == "" {
		return
	}
	t.log.Info("answer_cut_off", "finish", finish, "turn", t.Seq)
	t.sender.try(ctx, replyID{kind: replyCutOff, of: number(t.Seq)}.String(), line)
}
