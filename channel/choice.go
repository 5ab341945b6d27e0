package channel

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/channel/report"
	"cairn/llm"
	"cairn/store"
)

// Which model people have chosen for a conversation, by /model, among those that the settings allow. It takes the place of the agent's
// own model, as an edit of the settings would: from the next turn on, and for summaries too, unless they have a model of their own.

// Choice is a model that people may choose in place of an agent's own.
type Choice struct {
	Name     string // in the settings
	Provider string // see Agent.Provider
	Model    llm.Model
}

// choice is what people chose in a conversation.
type choice struct {
	store.Override           // without a value: nothing
	own            llm.Model // the agent's model in the settings; nil: it answers
}

// isRefused reports whether the settings do not allow it any more. The agent's own model answers then.
func (c choice) isRefused() bool { return c.Value != "" && c.own == nil }

// Answering returns the models that may write answers of the agent: its own first, then the fallback, then the choices.
func (a Agent) Answering() []llm.Model {
	all := append([]llm.Model{a.Model}, a.Fallback...)
	for _, c := range a.Choices {
		if !slices.Contains(all, c.Model) {
			all = append(all, c.Model)
		}
	}
	return all
}

// chosenIn returns the agent with the model that people chose in a conversation.
func (a Agent) chosenIn(ctx context.Context, records *store.Conversation) (Agent, error) {
	chosen, err := records.Settings().Model(ctx)
	if err != nil {
		return a, err
	}
	a.choice.Override = chosen
	i := slices.IndexFunc(a.Choices, func(c Choice) bool { return c.Name == chosen.Value })
	if i < 0 {
		return a, nil
	}
	own := a.Model
	to := a.Choices[i]
	a.choice.own = own
	a.Model = to.Model
	a.Provider = to.Provider
	a.Fallback = slices.DeleteFunc(slices.Clone(a.Fallback), func(m llm.Model) bool { return m == to.Model })
	if a.Worker == own {
		a.Worker = to.Model
	}
	if a.Substitute == own {
		a.Substitute = to.Model
	}
	return a, nil
}

// describe adds to a report which model answers, and why.
func (a Agent) describe(now report.Context) report.Context {
	now.Fallback = a.StandIn()
	if a.choice.own != nil {
		now.ChosenBy = cmp.Or(a.choice.By, "somebody")
	}
	return now
}

// models returns which models may answer in place of the agent's own, and which does.
func (a Agent) models() command.Models {
	own := a.Model
	if a.choice.own != nil {
		own = a.choice.own
	}
	m := command.Models{Own: own, Answers: a.Model, Chosen: a.choice.Override, Refused: a.choice.isRefused(), Fallback: a.StandIn()}
	for _, c := range a.Choices {
		m.Choices = append(m.Choices, command.Model{Name: c.Name, Model: c.Model})
	}
	return m
}

// Models returns which models may answer in the conversation, as the settings and the records are now.
func (h commandHost) Models(ctx context.Context) (command.Models, error) {
	return modelsIn(ctx, h.hub, h.c.records)
}

func modelsIn(ctx context.Context, h *Hub, records *store.Conversation) (command.Models, error) {
	agent, err := h.agents().Of(ctx, records)
	if err != nil {
		return command.Models{}, err
	}
	return agent.models(), nil
}

// ChooseModel chooses a model for a conversation, as /model does; "default" is the agent's own.
func ChooseModel(ctx context.Context, o Operator, conversation, model string, by access.Person) error {
	records, agent, err := o.find(ctx, conversation)
	if err == nil {
		_, err = command.SetModel(ctx, records, agent.models(), model, by)
	}
	if err != nil {
		return err
	}
	o.hub.rereadAgent(records)
	o.hub.o.Log.Info("channel_model_chosen", "conversation", conversation, "model", model, "by", by.ID)
	return nil
}

// ChoicesIn returns the names with which ChooseModel chooses a model in a conversation, and the one that is chosen; none: no model may be chosen.
func ChoicesIn(ctx context.Context, o Operator, conversation string) (names []string, chosen string, err error) {
	_, agent, err := o.find(ctx, conversation)
	m := agent.models()
	if m.Refused {
		m.Chosen.Value = ""
	}
	return m.Names(), cmp.Or(m.Chosen.Value, "default"), err
}

// rereadAgent has a conversation and its threads read which tools and which model they have, before their next turns.
func (h *Hub) rereadAgent(records *store.Conversation) {
	h.post(records.Name(), (*conversation).reread)
	h.postThreads(records.Name(), (*conversation).reread)
}

// notifyRefused tells people, once for each choice, that the settings do not allow it any more. Threads follow their channel's choice.
func (t *turn) notifyRefused(ctx context.Context) {
	chosen := t.agent.choice
	if !chosen.isRefused() || t.other != nil {
		return
	}
	id := replyID{kind: replyChoice, of: fmt.Sprint(chosen.At.UnixMilli())}.String()
	posted, err := t.records.Store().Posted(ctx, id)
	if err != nil || posted {
		return // after an error, the next turn does
	}
	t.log.Warn("chosen_model_refused", "model", chosen.Value, "hint", "/model, or models under [llm] or [[agents]]")
	t.sender.try(ctx, id, fmt.Sprintf("(My settings file no longer allows the model %s, which was chosen here. %s answers. /model shows the others.)",
		chosen.Value, t.agent.Model.Name()))
}
