package channel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"cairn/channel/access"
	"cairn/channel/report"
	"cairn/channel/sentences"
	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/observe"
	"cairn/llm"
	"cairn/llm/prices"
	"cairn/store"
	"cairn/transcript"
)

// Notices of compactions for people, if the connector does not show every step.

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

// Whisperer is implemented by connectors that can write to one person about a place where others read, too.
type Whisperer interface {
	// Whisper shows a text to a person alone, who wrote in a conversation. It may ask the platform, and ends when ctx does.
	Whisper(ctx context.Context, conversation, person, text string) error
}

// happened reports a step of a compaction. It must not block.
func (c *conversation) happened(e compactor.Event) {
	if e.State == compactor.EventPrepared || e.State == compactor.EventFailed {
		c.wake() // to save the usage
	}
	if o, ok := c.connector.(Observer); ok {
		o.Compaction(c.name, e)
	} else if c.policy.get().Notify != compactor.NotifyOff && e.State == compactor.EventApplied && e.ID != 0 &&
		e.Kind != compactor.Rollup && e.Trigger != compactor.OnRepair {
		c.unannounced = &e
		c.wake()
	}
	c.observeApplied(e)
	if c.hub.o.After != nil {
		c.hub.o.After(c.name, e)
	}
}

// announce notifies people of a compaction that made room.
func (c *conversation) announce(ctx context.Context, e *compactor.Event) {
	if c.hub.access.Rules().RespondIn(c.name) == access.RespondNever || c.paused(ctx) {
		return
	}
	switch c.policy.get().Notify {
	case compactor.NotifyMessage:
		line := fmt.Sprintf("(I summarized %d older messages. Nothing is lost.)", report.MessagesIn(e.Set))
		if e.Kind == compactor.Placeholder {
			line = fmt.Sprintf("(I hid %d older messages to make room; their summary follows. Nothing is lost.)", e.Messages)
		}
		c.tryNotify(ctx, fmt.Sprintf("landing-%d", e.ID), line)
	case compactor.NotifyReaction:
		newest := ask(c, func(*compactor.Compactor) string { return c.arrivals.newest })
		if reactor, ok := c.connector.(Reactor); ok && newest != "" {
			c.hub.owners.Go(func() {
				_, err := callConnector(c.hub.ctx, time.Minute, func(ctx context.Context) (any, error) {
					return nil, reactor.React(ctx, c.name, newest, ReactionSummarized)
				})
				if err != nil {
					c.log.Debug("mark_compaction_failed", "error", err)
				}
			})
		}
	}
}

// noticePrefixes start the ids of the bot's own notices, which answer nothing and report no failure.
var noticePrefixes = []string{"shortened-", approvalPrefix, "cutoff-", "landing-", "budget-"}

// notify posts a notice, which is not the assistant's words; its id keeps it from being posted twice. During a turn
// it goes where the answer goes, such as to a thread. Where the bot may not write, there is none.
func (c *conversation) notify(ctx context.Context, id, text string) error {
	if c.hub.cannotWrite(c.name) != "" {
		return nil
	}
	o := store.Outcome{Reply: id, Pieces: c.connector.Split(text), Failure: true}
	if turn := c.turn.Load(); turn != nil && IsNotice(Piece{Reply: id}) {
		o.To = turn.To
	}
	err := c.records.Outbox().Post(ctx, o)
	if err == nil {
		c.sender.start(c.hub.ctx)
	}
	return err
}

// tryNotify posts a notice that is not worth more than a log line if it cannot be posted.
func (c *conversation) tryNotify(ctx context.Context, id, text string) {
	if err := c.notify(ctx, id, c.speaker().Translate(text)); err != nil {
		c.log.Warn("notify_failed", "notice", id, "error", err)
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
		t.tryNotify(ctx, fmt.Sprint("shortened-", m.Seq),
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
	t.tryNotify(ctx, fmt.Sprint("cutoff-", t.Seq), line)
}

// warnOwner warns an owner who was answered that a budget is nearly spent: once per period, in one conversation.
func (c *conversation) warnOwner(ctx context.Context, turn store.Turn) {
	allowed, ruled := c.hub.access.Rules().Access[connectorOf(c.name)] // only owners use a connector without rules
	byOwner := func(m chat.Message) bool { return slices.Contains(allowed.Owners, m.AuthorID) }
	for _, b := range c.hub.Operator().Budgets() {
		if !b.NearlySpent() || ruled && !slices.ContainsFunc(askedIn(c, turn.Seq), byOwner) {
			continue
		}
		id := "budget-" + b.Key() // of the reply; other conversations and later processes recognize it by this id
		posted, err := c.hub.o.Store.Posted(ctx, id)
		if err == nil && !posted {
			text := "(%s is nearly used up: %s of %s. When it is used up, I stop answering until %s.)"
			if b.Spent >= b.Limit {
				text = "(%s is used up: %s of %s. I will answer again from %s on, or once it is raised.)"
			}
			ends := chat.ZonedTime(b.Ends())
			err = c.notify(ctx, id, c.speaker().Sayf(text, b.Setting, prices.Money(b.Spent), prices.Money(b.Limit), ends))
		}
		if err != nil {
			c.log.Warn("notify_owner_failed", "setting", b.Setting, "error", err)
		}
	}
}

// What observers are notified of: turns, and applied summaries.

// observeApplied reports what was applied in one step: as an event of the running turn, or a step of its own.
func (c *conversation) observeApplied(e compactor.Event) {
	if e.State != compactor.EventApplied || len(e.Set) > 0 && e.Set[0].ID != e.ID {
		return
	}
	var step *observe.Step
	if turn := c.turn.Load(); turn != nil {
		step = turn.step
	} else {
		_, step = observe.Begin(observe.In(c.hub.ctx, c.name), observe.Applied)
		defer step.End()
	}
	step.Event(observe.ContextCompaction,
		slog.String("trigger", string(e.Trigger)), slog.Int("before", e.BeforeTokens), slog.Int("after", e.AfterTokens),
		slog.Int64("id", e.ID), slog.Int("summaries", max(len(e.Set), 1)))
}

// Conversations that cannot be read or written, as on a full disk, are one incident: however many they are, the log
// gets one warning, and people are notified once in each.

// Undelivered notifies the author of a message, once per incident, each time that Deliver failed.
func (h *Hub) Undelivered(ctx context.Context, conversation string, m Inbound, err error) {
	if m.Addressed && ctx.Err() == nil && !errors.Is(err, ErrRefused) && !errors.Is(err, ErrClosed) {
		h.tellOnce(ctx, conversation, err, "I cannot store your message right now. I will keep trying, and answer once I have it.", m.ID)
	}
}

// tellOnce notifies people, once per incident, of a failure of the database.
func (h *Hub) tellOnce(ctx context.Context, conversation string, err error, otherwise string, to ...string) {
	told := false
	h.locked(func() { told, h.told[conversation] = h.told[conversation], true })
	if !told {
		h.say(ctx, conversation, "unwell", databaseWords(err, otherwise), to...)
	}
}

// failure returns what to tell the person whose command failed there.
func (h *Hub) failure(conversation string, err error) string {
	return sentences.In(h.languageOf(conversation)).Translate(databaseWords(err, "That did not work; my log says why. Try again later."))
}

// Refusal returns what to tell the author of a message that is not stored and not delivered again.
func (o Operator) Refusal(conversation string, err error) string {
	return sentences.In(o.hub.languageOf(conversation)).Translate(databaseWords(err, "Your message could not be saved, so it was not accepted. Send it again later."))
}

// databaseWords returns what people read about a failure that an operator must fix; otherwise for others.
func databaseWords(err error, otherwise string) string {
	switch {
	case errors.Is(err, store.ErrReplaced):
		return "My database was deleted or moved, so I cannot save anything. Ask the bot's operator to put it back."
	case errors.Is(err, store.ErrFull):
		return "My disk is full, so I cannot save anything. Ask the bot's operator to make room."
	case errors.Is(err, store.ErrDamaged):
		return "My database is damaged, so I cannot answer. Ask the bot's operator to run `cairn doctor`."
	}
	return otherwise
}

// stalled logs that the conversation cannot be read or written. The person who waits for an answer is
// notified, once per incident: immediately if an operator must act, else if a retry has failed too.
func (c *conversation) stalled(ctx context.Context, awaited string, again bool, err error) {
	level := slog.LevelDebug
	c.hub.locked(func() {
		if len(c.hub.stuck) == 0 {
			level = slog.LevelWarn
		}
		c.hub.stuck[c.name] = true
	})
	c.log.Log(ctx, level, "conversation_stalled", "error", err)
	if awaited != "" && (again || databaseWords(err, "") != "") {
		c.hub.tellOnce(ctx, c.name, err, "I cannot read or write my database right now. I will keep trying, and answer when I can.", awaited)
	}
}

// continues logs that the last one of the conversations that could not continue does.
func (c *conversation) continues() {
	last := false
	c.hub.locked(func() {
		last = c.hub.stuck[c.name] && len(c.hub.stuck) == 1
		delete(c.hub.stuck, c.name)
		delete(c.hub.told, c.name)
	})
	if last {
		c.log.Info("conversations_recovered")
	}
}

// say sends a notice without the outbox, which may not be writable.
func (h *Hub) say(ctx context.Context, conversation, id, text string, to ...string) {
	connector, ok := h.connectors[connectorOf(conversation)]
	if !ok {
		return
	}
	text = sentences.In(h.languageOf(conversation)).Translate(text)
	if _, err := connector.Reply(conversation, to).Send(ctx, Piece{Reply: id, Parts: 1, To: to, Text: text, Failure: true}); err != nil {
		h.o.Log.Warn("send_notice_failed", "conversation", conversation, "error", err)
	}
}
