package channel

import (
	"context"
	"log/slog"

	"cairn/compactor"
	"cairn/store"
)

// Agents are the agents that may answer, according to the settings. Both functions must be safe for
// concurrent use.
type Agents struct {
	In    func(conversation string) Agent    // the agent that answers there
	Named func(id string) (a Agent, ok bool) // for tasks; nil: no named agents
}

// Of returns the agent that answers in a conversation, with its language set. In a task it is the
// requested agent; its policy layers are, from the top, those of the call, of the parent and its
// own, and its language is the one set for the people's conversation above it. Values that no
// longer make a valid policy are dropped and logged.
func (a Agents) Of(ctx context.Context, records *store.Conversation, log *slog.Logger) (Agent, error) {
	root, depth := store.RootOf(records.Name())
	if depth == 0 {
		return a.In(records.Name()).spokenIn(ctx, records)
	}
	t, err := records.Tasks().Self(ctx)
	if err != nil {
		return Agent{}, err
	}
	agent, known := a.named(t.Agent)
	if !known { // the settings have changed; its conversation must stay readable
		agent = a.In(root)
		agent.Toolbox, agent.Spawn = nil, nil
	}
	layers := compactor.Spawn(t.Above, agent.layers(), t.Own)
	policy, left := layers.Fit(compactor.DefaultPolicy())
	for _, e := range left {
		log.Warn("task_setting_ignored", "conversation", records.Name(), "problem", e.Error())
		delete(layers, e.Key)
	}
	agent.Policy = func() compactor.Policy { return policy }
	agent.Origin = func(key string) string {
		if _, set := layers[key]; set {
			return "what began this task"
		}
		return ""
	}
	agent.task = true
	if depth >= maxTaskDepth {
		agent.Spawn = nil
	}
	agent.Language = a.In(root).Language
	return agent.spokenIn(ctx, records)
}

func (a Agents) named(id string) (Agent, bool) {
	if a.Named == nil {
		return Agent{}, false
	}
	return a.Named(id)
}

func (h *Hub) agentOf(ctx context.Context, records *store.Conversation) (Agent, error) {
	return Agents{h.o.Agent, h.o.Agents}.Of(ctx, records, h.o.Log)
}

func (h *Hub) agent(id string) (Agent, bool) { return Agents{h.o.Agent, h.o.Agents}.named(id) }
