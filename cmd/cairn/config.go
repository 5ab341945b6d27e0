// cairn config check: validate the settings, list what differs from the defaults, explain them in tokens.

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cairn/channel"
	"cairn/compactor"
	"cairn/config"
	"cairn/store"
)

func newConfigCheck(a *app) *cobra.Command {
	explain := false
	name := ""
	cmd := a.withJSON("one JSON object", &cobra.Command{
		Use:   "check [FILE]",
		Short: "Show mistakes in the settings, or which settings differ from the defaults",
		Long: `Print all mistakes of a settings file, config.toml by default, and of its local file, which is
config.local.toml, with their lines; if there are none, the settings that differ from the defaults.
--explain prints what the compaction settings mean in tokens for each agent's window, or in a
channel, where each is set, and what changing it affects.`,
		Example: `  cairn config check
  cairn config check /etc/cairn/config.toml --json
  cairn config check --explain --channel garden`,
		Args: args(0, 1),
		RunE: func(cmd *cobra.Command, files []string) error {
			if len(files) > 0 {
				a.config = files[0]
			}
			if name != "" && !explain {
				return wrongUse(cmd, errors.New("--channel needs --explain"))
			}
			if explain {
				return a.explain(cmd.Context(), name)
			}
			return a.checkConfig()
		},
	})
	cmd.Flags().BoolVar(&explain, "explain", false, "print what the compaction settings mean in tokens")
	cmd.Flags().StringVar(&name, "channel", "", "with --explain: the settings of the channel `NAME`")
	return cmd
}

type checkResult struct {
	OK      bool             `json:"ok"`
	File    string           `json:"file"`    // those that were read, "a.toml, a.local.toml"; empty: none
	Changed []string         `json:"changed"` // the settings that differ from the defaults
	Faults  []config.Problem `json:"faults"`

	Warnings []config.Problem `json:"warnings,omitempty"` // settings that work but should be changed
}

func (v checkResult) String() string {
	lines := []string{"ok: " + cmp.Or(v.File, "no settings file; using the defaults")}
	for _, c := range v.Changed {
		lines = append(lines, "  "+c)
	}
	for _, w := range v.Warnings {
		lines = append(lines, "warning: "+w.String())
	}
	return strings.Join(lines, "\n")
}

func (a *app) checkConfig() error {
	s, err := config.Load(a.config)
	v := checkResult{OK: err == nil, File: s.Files, Changed: []string{}, Faults: []config.Problem{}, Warnings: s.Warnings}
	if err == nil {
		v.Changed = append(v.Changed, s.Changed()...)
		return a.show(a.out, v)
	}
	if wrong, parsed := errors.AsType[*config.Error](err); parsed && a.json {
		v.Faults = wrong.Problems
		return errors.Join(a.show(a.out, v), usage(err))
	}
	return usage(err)
}

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

type explanation []explainedAgent

func (e explanation) String() string {
	var texts []string
	for _, one := range e {
		of := ""
		moves := ""
		if one.Channel != "" {
			of = " in " + one.Channel
		}
		rows := table{{"SETTING", "TOKENS", "VALUE", "ORIGIN", "MEANS"}}
		for _, row := range one.Rows {
			rows = append(rows, []string{row.Key, fmt.Sprint(row.Tokens), row.Value, row.Origin, row.Means})
			if row.Moves != "" {
				moves += fmt.Sprintf("\n  %s affects: %s", row.Key, row.Moves)
			}
		}
		texts = append(texts, fmt.Sprintf("agent %q%s, model %s (window: %s)\n%s%s", one.Agent, of, one.Model, one.Window,
			strings.TrimSuffix(rows.aligned("lrrl"), "\n"), moves))
	}
	return strings.Join(texts, "\n\n")
}

// explain explains the settings of all agents, or of the one that answers in a conversation.
func (a *app) explain(ctx context.Context, name string) error {
	if err := a.load(); err != nil {
		return err
	}
	if name != "" {
		return a.withAgent(ctx, name, func(_ *store.Store, conversation *store.Conversation, agent channel.Agent) error {
			overrides, err := conversation.Settings().Set(ctx)
			policy, policyErr := agent.PolicyOf(ctx, conversation)
			if err := errors.Join(err, policyErr); err != nil {
				return err
			}
			return a.show(a.out, explanation{explainAgent(ctx, &a.settings, agent, policy, overrides, conversation.Name())})
		})
	}
	agents, _, err := a.agents(ctx, nil)
	if err != nil {
		return err
	}
	all := explanation{}
	for _, set := range a.settings.Agents {
		agent, _ := agents.Named(set.ID)
		all = append(all, explainAgent(ctx, &a.settings, agent, agent.Policy(), nil, ""))
	}
	return a.show(a.out, all)
}

// explainAgent explains the policy of an agent, with the overrides of the conversation of.
func explainAgent(ctx context.Context, s *config.Settings, agent channel.Agent, policy compactor.Policy, overrides []store.Override, of string) explainedAgent {
	e := explainedAgent{Agent: agent.ID, Channel: of, Model: agent.Model.Name(), Window: agent.Model.Window(ctx).Source}
	for _, m := range agent.Explain(ctx, policy) {
		origin := "default"
		at := s.Position(agent.ID, m.Key)
		switch {
		case slices.ContainsFunc(overrides, func(o store.Override) bool { return o.Key == m.Key }):
			origin = "channel"
		case at != "":
			origin = at
		case m.Key == "context_window":
			origin = "model"
		}
		e.Rows = append(e.Rows, explainedSetting{m, origin})
	}
	return e
}
