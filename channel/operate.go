package channel

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"cairn/compactor"
	"cairn/store"
)

// Operator is what the person who runs the bot sees and does from outside any conversation. It
// checks no rights: its caller owns the bot.
type Operator struct{ hub *Hub }

// Operator returns the operator's side of the hub.
func (h *Hub) Operator() Operator { return Operator{h} }

// Activity shows what an open conversation is doing, and how full it is.
type Activity struct {
	Used, Window int  // tokens; Used includes the reply's reserve
	Answering    bool // a turn is running
	Summarizing  bool // a compaction is running
}

// Activity returns the activity of an open conversation; ok is false if it is not open. It does not
// block.
func (o Operator) Activity(name string) (g Activity, ok bool) {
	c, err := o.hub.find(name, nil)
	if c == nil || err != nil {
		return g, false
	}
	defer o.hub.release(c)
	return c.activity()
}

func (c *conversation) activity() (g Activity, ok bool) {
	status := c.engineStatus.Load()
	if status == nil { // it is still being opened
		return g, false
	}
	now := (*status)()
	return Activity{Used: now.Used, Window: now.Window, Answering: c.turn.Load() != nil, Summarizing: now.Running != nil}, true
}

// Fullest returns the fill of the fullest window among the open conversations, as a share: 0 if
// none is open, above 1 if one is overfull. It does not wait.
func (o Operator) Fullest() (share float64) {
	for c := range o.hub.all() {
		g, _ := c.activity()
		share = max(share, float64(g.Used)/float64(max(g.Window, 1)))
	}
	return share
}

// Context returns what /context shows, without model usage: the live state of an open conversation,
// or the stored state of another one. ErrNotFound means that there is no such conversation.
func (o Operator) Context(ctx context.Context, name string) (Context, error) {
	records, agent, err := o.find(ctx, name)
	if err != nil {
		return Context{}, err
	}
	c, err := o.hub.find(name, nil)
	if err != nil {
		return Context{}, err
	}
	if c == nil {
		return ReadContext(ctx, records, agent)
	}
	defer o.hub.release(c)
	if agent, err = c.current(ctx); err != nil {
		return Context{}, err
	}
	now := newContext(ctx, (*c.engineStatus.Load())(), c.records, agent)
	now.Calls = c.callsWords()
	return now, nil
}

// find returns the records of a conversation and the agent that answers in it.
func (o Operator) find(ctx context.Context, name string) (*store.Conversation, Agent, error) {
	records, err := o.hub.o.Store.Find(ctx, name)
	if err != nil {
		return nil, Agent{}, err
	}
	agent, err := o.hub.agentOf(ctx, records)
	return records, agent, err
}

// Spending returns what a conversation's models were used for, and the budgets.
func (o Operator) Spending(ctx context.Context, name string) (*Spending, error) {
	records, agent, err := o.find(ctx, name)
	if err != nil {
		return nil, err
	}
	s, err := ReadSpending(ctx, records, agent.Model, o.hub.rules.Load().Money)
	if err == nil {
		s.Budgets = append(s.Budgets, o.Budgets()...)
	}
	return s, err
}

// Compact requests a compaction of a conversation that keeps what focus asks for; with overrides
// its policy. The result shows whether a compaction starts.
func (o Operator) Compact(ctx context.Context, name, focus string, with compactor.Patch) (began Event, err error) {
	return onEngine(ctx, o, name, func(c *conversation) (Event, error) {
		return c.compact(ctx, compactor.Requested{Trigger: compactor.OnManual, Focus: focus, With: with})
	})
}

// Undo reverts the last compaction.
func (o Operator) Undo(ctx context.Context, name string) (undone Event, err error) {
	return onEngine(ctx, o, name, (*conversation).undo)
}

// onEngine runs do with a conversation, opened if necessary, even if its connector is not open.
func onEngine[T any](ctx context.Context, o Operator, name string, do func(c *conversation) (T, error)) (v T, err error) {
	records, err := o.hub.o.Store.Find(ctx, name)
	if err != nil {
		return v, err
	}
	connector, known := o.hub.connectors[connectorOf(name)]
	if !known {
		connector = absent{}
	}
	c, err := o.hub.find(name, newConversation(o.hub, name, connector, records))
	if err != nil {
		return v, err
	}
	defer o.hub.release(c)
	if _, err := c.current(ctx); err != nil {
		return v, err
	}
	return do(c)
}

// StartSession requests a new session, like /new. wanted is false if there are no messages since
// the last session began; later means that the session starts once earlier messages are answered.
func (o Operator) StartSession(ctx context.Context, name string) (wanted, later bool, err error) {
	wanted, err = onEngine(ctx, o, name, func(c *conversation) (wanted bool, err error) {
		wanted, later, err = c.wantSession(ctx)
		return wanted, err
	})
	return wanted, later, err
}

// AgentID returns the id of the agent of a conversation; for a task, of the conversation above it.
func (o Operator) AgentID(conversation string) string {
	root, _ := store.RootOf(conversation)
	return o.hub.o.Agent(root).ID
}

// Agent returns the agent that answers in a conversation.
func (o Operator) Agent(ctx context.Context, records *store.Conversation) (Agent, error) {
	return o.hub.agentOf(ctx, records)
}

// Pause stops a conversation, or with "" the whole bot, from calling any model until Resume.
func (o Operator) Pause(ctx context.Context, name, by string) error {
	if err := o.hub.o.Store.Pauses().Pause(ctx, name, by); err != nil {
		return err
	}
	o.inScope(name, (*conversation).interrupt)
	return nil
}

// inScope runs do with the open conversations that a pause concerns: with name its tasks, too.
func (o Operator) inScope(name string, do func(*conversation)) {
	for c := range o.hub.all() {
		if name == everywhere || c.account() == name {
			do(c)
		}
	}
}

// Resume ends a pause. The tasks it held up continue immediately.
func (o Operator) Resume(ctx context.Context, name string) error {
	if err := o.hub.o.Store.Pauses().Resume(ctx, name); err != nil {
		return err
	}
	o.inScope(name, (*conversation).wake)
	return nil
}

// Paused reports whether a conversation, and whether the whole bot is paused.
func (o Operator) Paused(ctx context.Context, name string) (here, all bool, err error) {
	scopes, err := o.hub.o.Store.Pauses().List(ctx)
	return slices.Contains(scopes, name), slices.Contains(scopes, everywhere), err
}

// Setting is one value that controls how a conversation is compacted.
type Setting struct {
	Key      string `json:"key"`
	Value    any    `json:"value"`
	Origin   string `json:"origin"`   // where it is set: "built in", "config.toml:12", "set here by Ada"
	Here     bool   `json:"set_here"` // it is set for this conversation, and null removes it
	Settable bool   `json:"settable"` // false: only the settings file may set it
}

// Settings returns the values a conversation is compacted by, and why values set here that conflict
// with the settings file are ignored.
func (o Operator) Settings(ctx context.Context, name string) (all []Setting, left []string, err error) {
	records, agent, err := o.find(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	shown, err := effective(ctx, records, agent)
	if err != nil {
		return nil, nil, err
	}
	var values map[string]any
	text, err := json.Marshal(shown.policy)
	if err == nil {
		err = json.Unmarshal(text, &values)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("write policy: %w", err)
	}
	for _, key := range compactor.Keys() {
		o, set := shown.set[key]
		all = append(all, Setting{Key: key, Value: values[key], Origin: shown.origin(key), Here: set && !o.Above, Settable: !slices.Contains(fileOnly, key)})
	}
	for _, e := range shown.left {
		left = append(left, e.Error())
	}
	return all, left, nil
}

// Set sets values for a conversation, and removes those that are nil: all of them or, if the result
// is no valid policy, none.
func (o Operator) Set(ctx context.Context, name string, values map[string]*string, by string) error {
	records, agent, err := o.find(ctx, name)
	if err != nil {
		return err
	}
	if err := o.hub.override(ctx, records, agent.Policy(), values, by); err != nil {
		return err
	}
	o.hub.o.Log.Info("channel_settings_changed", "conversation", name, "settings", len(values), "by", by)
	return nil
}

// Budgets returns the state of the budgets that are set.
func (o Operator) Budgets() []Budget { return o.hub.budget.state(o.hub.rules.Load().Money, time.Now()) }
