// cairn config check --explain: show the settings in tokens.

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"cairn/channel"
	"cairn/compactor"
	"cairn/store"
)

// explainedAgent has the settings of one agent, in tokens.
type explainedAgent struct {
	Agent   string             `json:"agent"`
	Channel string             `json:"channel,omitempty"`
	Model   string             `json:"model"`
	Window  string             `json:"window_source"` // where the size of the window comes from
	Rows    []explainedSetting `json:"settings"`      // largest first
}

type explainedSetting struct {
	compactor.Meaning
	Origin string `json:"origin"` // "default", "FILE:LINE", or "channel"
}

// explanation has one entry for each agent.
type explanation []explainedAgent

func (e explanation) String() string {
	var b strings.Builder
	for i, one := range e {
		if i > 0 {
			b.WriteString("\n\n")
		}
		of := ""
		if one.Channel != "" {
			of = " in " + one.Channel
		}
		fmt.Fprintf(&b, "agent %q%s, model %s (window: %s)\n", one.Agent, of, one.Model, one.Window)
		b.WriteString(one.table())
		for _, row := range one.Rows {
			if row.Moves != "" {
				fmt.Fprintf(&b, "\n  %s affects: %s", row.Key, row.Moves)
			}
		}
	}
	return b.String()
}

func (e explainedAgent) table() string {
	rows := table{{"SETTING", "TOKENS", "VALUE", "ORIGIN", "MEANS"}}
	for _, row := range e.Rows {
		rows = append(rows, []string{row.Key, fmt.Sprint(row.Tokens), row.Value, row.Origin, row.Means})
	}
	return strings.TrimSuffix(rows.aligned([]bool{false, true, true, false, false}), "\n")
}

func (a *app) explainConfig(ctx context.Context, file, name string) error {
	a.config = file
	if name != "" {
		return a.withConversation(ctx, name, func(db *store.Store, conversation *store.Conversation) error {
			return a.explain(ctx, db, conversation)
		})
	}
	if err := a.load(); err != nil {
		return err
	}
	return a.explain(ctx, nil, nil)
}

// explain explains the settings of all agents, or of the one that answers in a conversation of db.
func (a *app) explain(ctx context.Context, db *store.Store, conversation *store.Conversation) error {
	agents, _, err := a.agents(ctx, db)
	if err != nil {
		return err
	}
	all := explanation{}
	for _, set := range a.settings.Agents {
		agent, _ := agents.Named(set.ID)
		policy, own, of := agent.Policy(), map[string]bool{}, ""
		if conversation != nil {
			if a.settings.AgentFor(conversation.Name()) != set.ID {
				continue
			}
			of = conversation.Name()
			overrides, err := conversation.Settings().Set(ctx)
			for _, o := range overrides {
				own[o.Key] = true
			}
			changed, policyErr := agent.PolicyOf(ctx, conversation)
			if err := errors.Join(err, policyErr); err != nil {
				return err
			}
			policy = changed
		}
		all = append(all, a.explainAgent(ctx, agent, policy, own, of))
	}
	return a.show(a.out, all)
}

func (a *app) explainAgent(ctx context.Context, agent channel.Agent, policy compactor.Policy, own map[string]bool, of string) explainedAgent {
	e := explainedAgent{Agent: agent.ID, Channel: of, Model: agent.Model.Name(), Window: agent.Model.Window(ctx).Source}
	for _, m := range agent.Explain(ctx, policy) {
		row := explainedSetting{Meaning: m, Origin: "default"}
		line := a.settings.Line(agent.ID, m.Key)
		switch {
		case own[m.Key]:
			row.Origin = "channel"
		case line > 0:
			row.Origin = fmt.Sprintf("%s:%d", filepath.Base(a.settings.File), line)
		case m.Key == "context_window":
			row.Origin = "model"
		}
		e.Rows = append(e.Rows, row)
	}
	return e
}
