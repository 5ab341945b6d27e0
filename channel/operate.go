package channel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/channel/report"
	"cairn/channel/sentences"
	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
	"cairn/memory"
	"cairn/store"
)

// Operator is what the owner of the bot sees and does from outside any conversation. It checks no rights.
type Operator struct{ hub *Hub }

// Operator returns the operator's side of the hub.
func (h *Hub) Operator() Operator { return Operator{h} }

// Activity returns what an open conversation is doing, without blocking; ok is false if it is not open.
func (o Operator) Activity(name string) (g Activity, ok bool) {
	c, err := o.hub.find(name, nil)
	if c == nil || err != nil {
		return g, false
	}
	defer o.hub.release(c)
	return c.activity()
}

// Windows returns the share to which the fullest window of the open conversations is filled, and in how many of them automatic
// compaction pauses, without waiting.
func (o Operator) Windows() (fullest float64, paused int) {
	for c := range o.hub.all() {
		g, _ := c.activity()
		fullest = max(fullest, float64(g.Used)/float64(max(g.Window, 1)))
		if g.Paused {
			paused++
		}
	}
	return fullest, paused
}

// Context returns what /context shows, without model usage: the live state of an open conversation, or the stored
// state of another one. ErrNotFound means that there is no such conversation.
func (o Operator) Context(ctx context.Context, name string) (report.Context, error) {
	return o.contextIn(ctx, name, sentences.Speaker{})
}

// contextIn is Context with sentences of a speaker, if the conversation is open.
func (o Operator) contextIn(ctx context.Context, name string, speaker sentences.Speaker) (report.Context, error) {
	c, err := o.hub.find(name, nil)
	if err != nil {
		return report.Context{}, err
	}
	if c == nil {
		records, agent, err := o.find(ctx, name)
		if err != nil {
			return report.Context{}, err
		}
		return ReadContext(ctx, records, agent)
	}
	defer o.hub.release(c)
	agent, err := c.current(ctx)
	if err != nil {
		return report.Context{}, err
	}
	now := agent.describe(report.NewContext(ctx, c.status(), c.records, agent.ID, agent.Model, speaker))
	if made, limit := c.calls().InLastHour(); limit > 0 {
		now.Calls = fmt.Sprintf("%d of %d in the last hour", made, limit)
	}
	return now, nil
}

// find returns the records of a conversation and the agent that answers in it.
func (o Operator) find(ctx context.Context, name string) (*store.Conversation, Agent, error) {
	records, err := o.hub.o.Store.Find(ctx, name)
	if err != nil {
		return nil, Agent{}, err
	}
	agent, err := o.hub.agents().Of(ctx, records)
	return records, agent, err
}

// Spending returns what a conversation's models were used for, and the budgets.
func (o Operator) Spending(ctx context.Context, name string) (*report.Spending, error) {
	records, agent, err := o.find(ctx, name)
	if err != nil {
		return nil, err
	}
	return ReadSpending(ctx, records, agent, o.hub.access.Rules().Money, o.hub.access.Budgets()...)
}

// Compact requests a compaction that keeps what focus asks for, with a policy; the result shows how it starts.
func (o Operator) Compact(ctx context.Context, name, focus string, with compactor.Patch) (began Event, err error) {
	return onEngine(ctx, o, name, func(c *conversation) (Event, error) {
		started, _, err := c.compact(ctx, compactor.Requested{Trigger: compactor.OnManual, Focus: focus, With: with})
		return started, err
	})
}

// Undo reverts the last compaction.
func (o Operator) Undo(ctx context.Context, name string) (undone Event, err error) {
	return onEngine(ctx, o, name, func(c *conversation) (Event, error) { return c.undo(0) })
}

// RewriteLine replaces a line of a summary of a conversation, which people count from 1; an empty text removes it.
func RewriteLine(ctx context.Context, o Operator, name string, summary int64, line int, text string, by access.Person) (rewritten Event, err error) {
	return onEngine(ctx, o, name, func(c *conversation) (Event, error) {
		return command.RewriteLine(ctx, newCall(o.hub, c, by), summary, line, text)
	})
}

// onEngine runs do with a conversation, opened if necessary, even if its connector is not open.
func onEngine[T any](ctx context.Context, o Operator, name string, do func(c *conversation) (T, error)) (v T, err error) {
	records, err := o.hub.o.Store.Find(ctx, name)
	if err != nil {
		return v, err
	}
	c, err := o.hub.enter(ctx, name, o.hub.connectors[connectorOf(name)], records)
	if err != nil {
		return v, err
	}
	defer o.hub.release(c)
	if _, err := c.current(ctx); err != nil {
		return v, err
	}
	return do(c)
}

// StartSession requests a new session, like /new. wanted is false if there are no messages since the last session
// began; later means that the session starts once earlier messages are answered.
func (o Operator) StartSession(ctx context.Context, name string) (wanted, later bool, err error) {
	_, err = onEngine(ctx, o, name, func(c *conversation) (_ any, err error) {
		wanted, later, err = c.wantSession(ctx)
		return nil, err
	})
	return wanted, later, err
}

// Access returns what decides who may spend how much. It counts the usage of models that no conversation has used, such as that of
// embeddings, too.
func (o Operator) Access() *access.Control { return o.hub.access }

// AgentID returns the id of the agent of a conversation; for a task, of the conversation above it.
func (o Operator) AgentID(conversation string) string {
	root, _ := store.RootOf(conversation)
	return o.hub.o.Agent(root).ID
}

// Agent returns the agent that answers in a conversation.
func (o Operator) Agent(ctx context.Context, records *store.Conversation) (Agent, error) {
	return o.hub.agents().Of(ctx, records)
}

// ModelIn returns the name and the window of the model that answers in a conversation of people, which need not exist
// yet. It may ask the model's server.
func ModelIn(ctx context.Context, h *Hub, conversation string) (name string, window llm.Window) {
	agent := h.o.Agent(conversation)
	if records, err := h.o.Store.Find(ctx, conversation); err == nil { // otherwise nobody has chosen a model there
		agent, _ = agent.chosenIn(ctx, records) // with an error, it is the agent's own
	}
	model := agent.answers()
	window = model.Window(ctx) // before the name: if none is set, it chooses a model
	return model.Name(), window
}

// Settings returns the values a conversation is compacted by, and why some that are set here are ignored.
func (o Operator) Settings(ctx context.Context, name string) (all []report.Setting, left []string, err error) {
	records, agent, err := o.find(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	all, ignored, err := report.ReadSettings(ctx, records, agent.Policy(), agent.Origin)
	for _, e := range ignored {
		left = append(left, e.Error())
	}
	return all, left, err
}

// Set sets values for a conversation, and removes those that are nil: all or, if one is invalid, none.
func (o Operator) Set(ctx context.Context, name string, values map[string]*string, by access.Person) error {
	records, agent, err := o.find(ctx, name)
	if err != nil {
		return err
	}
	if err := command.Override(ctx, records, agent.Policy(), values, by); err != nil {
		return err
	}
	o.hub.rereadSettings(records)
	o.hub.o.Log.Info("channel_settings_changed", "conversation", name, "settings", len(values), "by", by.ID)
	return nil
}

// taskPoll is how often a waiter checks whether the tasks have ended; each takes at least one request.
const taskPoll = 100 * time.Millisecond

// Settle returns once turns and replies have ended. Summaries that are being written, and open tasks, continue at the next start.
func Settle(ctx context.Context, h *Hub) error {
	return h.whileStored(ctx, func(ctx context.Context) error { return h.waitAll(ctx, false) })
}

// DrainTasks returns once the tasks of the matching conversations have ended, including tasks they started, and their
// results are answered. It calls waits once, with the number of open tasks, and does not wait for those of a paused bot.
func (o Operator) DrainTasks(ctx context.Context, match func(conversation string) bool, waits func(open int)) error {
	var before []string // unfinished since no task has been open
	var newest int64    // the task that had begun last then
	announced := false
	for {
		open, err := o.openTasks(ctx, match)
		if err != nil || ctx.Err() != nil {
			return cmp.Or(err, ctx.Err())
		}
		if len(open) > 0 {
			if !announced {
				waits(len(open))
			}
			announced = true
			before = nil
			time.Sleep(taskPoll)
			continue
		}
		unfinished, err := o.hub.wakeUnfinished(ctx, match)
		if err != nil || len(unfinished) == 0 {
			return err
		}
		last, err := o.hub.o.Store.NewestTask(ctx)
		if err != nil || slices.Equal(unfinished, before) && last == newest { // what is left cannot be done now
			return err
		}
		if err := o.hub.Drain(ctx); err != nil {
			return err
		}
		before = unfinished // an answer may have started more tasks, which may be over already
		newest = last
	}
}

// maxUnanswered is how many messages of the inbox Unanswered reads.
const maxUnanswered = 10

// Unanswered returns the texts of the messages to the bot that wait for an answer in a conversation, oldest first.
func Unanswered(ctx context.Context, h *Hub, name string) (texts []string, err error) {
	records, err := h.stored(ctx, name)
	if records == nil {
		return nil, err
	}
	var messages []chat.Message
	turn, open, err := records.Turns().Unanswered(ctx)
	if err == nil && open {
		messages, err = records.Turns().Messages(ctx, turn.Seq)
	}
	for _, m := range messages {
		if m.Addressed {
			texts = append(texts, m.Text)
		}
	}
	waiting, failed := records.Inbox().Oldest(ctx, maxUnanswered)
	for _, m := range waiting {
		if m.Addressed {
			texts = append(texts, m.Text)
		}
	}
	return texts, errors.Join(err, failed)
}

// turnIn returns the running turn of a conversation; nil if there is none.
func (o Operator) turnIn(name string) *turn {
	c, _ := o.hub.find(name, nil)
	if c == nil {
		return nil
	}
	defer o.hub.release(c)
	return c.turn.Load()
}

// Reports of a conversation from the database alone.

// ReadContext reads how full a conversation's window is. It may ask the model's server.
func ReadContext(ctx context.Context, records *store.Conversation, agent Agent) (report.Context, error) {
	tools, err := agent.tools(ctx, records, memory.ToolOptions{}, toolHosts{})
	if err != nil {
		return report.Context{}, err
	}
	policy, err := agent.PolicyOf(ctx, records)
	if err != nil {
		return report.Context{}, err
	}
	engine, err := compactor.Open(ctx, agent.engine(newWindow(ctx, agent.Model), tools, compactor.Options{
		Records: memory.Of(records).Records().Look(), Policy: func() compactor.Policy { return policy },
	}))
	if err != nil {
		return report.Context{}, err
	}
	defer engine.Close()
	return agent.describe(report.NewContext(ctx, engine.StatusReader()(), records, agent.ID, agent.Model, sentences.Speaker{})), nil
}

// ReadSpending reads what a conversation's models were used for; agent is the one that answers in it, all are the
// budgets of the bot. It may ask the model's server.
func ReadSpending(ctx context.Context, records *store.Conversation, agent Agent, m access.Money, all ...access.Budget) (*report.Spending, error) {
	policy, err := agent.PolicyOf(ctx, records)
	if err != nil {
		return nil, err
	}
	return report.ReadSpending(ctx, records, agent.Model, policy, m.Prices, all...)
}
