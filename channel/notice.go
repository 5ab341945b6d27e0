package channel

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/channel/access"
	"cairn/channel/report"
	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/prices"
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
)

// notices posts the bot's own notices in a conversation, which are not the assistant's words. It is safe for concurrent use.
type notices struct {
	*voice
	life       context.Context // ends when the hub closes
	access     *access.Control
	goroutines *goroutines
	sender     *sender
	shown      *published
}

// noticePrefixes start the ids of the bot's own notices, which answer nothing and report no failure.
var noticePrefixes = []string{"shortened-", approvalPrefix, "cutoff-", "landing-", "budget-"}

// post posts a notice; its id keeps it from being posted twice. During a turn it goes where the answer goes, such as to a
// thread. Where the bot may not write, there is none.
func (n *notices) post(ctx context.Context, id, text string) error {
	if n.cannotWrite() != "" {
		return nil
	}
	var to []string
	if turn := n.shown.turn.Load(); turn != nil && IsNotice(Piece{Reply: id}) {
		to = turn.To
	}
	return n.sender.post(ctx, id, text, to)
}

// try posts a notice that is not worth more than a log line if it cannot be posted.
func (n *notices) try(ctx context.Context, id, text string) {
	if err := n.post(ctx, id, n.speaker().Translate(text)); err != nil {
		n.log.Warn("notify_failed", "notice", id, "error", err)
	}
}

// announce notifies people of a compaction that made room; notify says how. newest is the newest message, by its platform id.
func (n *notices) announce(ctx context.Context, e *compactor.Event, notify, newest string) {
	if n.access.Rules().RespondIn(n.name) == access.RespondNever || n.paused(ctx) {
		return
	}
	switch notify {
	case compactor.NotifyMessage:
		line := fmt.Sprintf("(I summarized %d older messages. Nothing is lost.)", report.MessagesIn(e.Set))
		if e.Kind == compactor.Placeholder {
			line = fmt.Sprintf("(I hid %d older messages to make room; their summary follows. Nothing is lost.)", e.Messages)
		}
		n.try(ctx, fmt.Sprintf("landing-%d", e.ID), line)
	case compactor.NotifyReaction:
		if reactor, ok := n.connector.(Reactor); ok && newest != "" {
			n.goroutines.start(func() {
				_, err := callConnector(n.life, time.Minute, func(ctx context.Context) (any, error) {
					return nil, reactor.React(ctx, n.name, newest, ReactionSummarized)
				})
				if err != nil {
					n.log.Debug("mark_compaction_failed", "error", err)
				}
			})
		}
	}
}

// warnOwner warns an owner who was answered in a turn that a budget is nearly spent: once per period, in one conversation.
func (n *notices) warnOwner(ctx context.Context, in *loop, turn int64) {
	allowed, ruled := n.access.Rules().Access[connectorOf(n.name)] // only owners use a connector without rules
	byOwner := func(m chat.Message) bool { return slices.Contains(allowed.Owners, m.AuthorID) }
	for _, b := range n.access.Budgets() {
		if !b.NearlySpent() || ruled && !slices.ContainsFunc(in.addressed(turn), byOwner) {
			continue
		}
		id := "budget-" + b.Key() // of the reply; other conversations and later processes recognize it by this id
		posted, err := n.records.Store().Posted(ctx, id)
		if err == nil && !posted {
			text := "(%s is nearly used up: %s of %s. When it is used up, I stop answering until %s.)"
			if b.Spent >= b.Limit {
				text = "(%s is used up: %s of %s. I will answer again from %s on, or once it is raised.)"
			}
			ends := chat.ZonedTime(b.Ends())
			err = n.post(ctx, id, n.speaker().Sayf(text, b.Setting, prices.Money(b.Spent), prices.Money(b.Limit), ends))
		}
		if err != nil {
			n.log.Warn("notify_owner_failed", "setting", b.Setting, "error", err)
		}
	}
}

// IsNotice reports whether a piece is neither an answer nor the failure of one. A connector that looks for what an
// earlier process has shown of an answer must not take one for the other.
func IsNotice(p Piece) bool {
	return slices.ContainsFunc(noticePrefixes, func(prefix string) bool { return strings.HasPrefix(p.Reply, prefix) })
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
		t.notices.try(ctx, fmt.Sprint("shortened-", m.Seq),
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
	t.notices.try(ctx, fmt.Sprint("cutoff-", t.Seq), line)
}
