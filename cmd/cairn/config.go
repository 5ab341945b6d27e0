// cairn config check: validate the settings, list what differs from the defaults, explain them in tokens.

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"cairn/channel"
	"cairn/compactor"
	"cairn/config"
	"cairn/store"
)

func newConfig(a *app) *cobra.Command {
	return group("config", "Check the settings", newConfigCheck(a))
}

func newConfigCheck(a *app) *cobra.Command {
	explain, name := false, ""
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Show the mistakes in a settings file, or what it changes",
		Long: `Check a settings file, config.toml by default. It prints all mistakes with their lines. If there
are none, it names the settings that differ from the defaults, including inherited ones.

With --explain, it prints what the compaction settings mean in tokens for each agent's window,
largest first, where each is set, and what changing it affects. --channel NAME shows those of a
channel, including /settings.`,
		Example: `  cairn config check
  cairn config check /etc/cairn/config.toml --json
  cairn config check --explain --channel garden`,
		Args: args(0, 1),
		RunE: func(cmd *cobra.Command, files []string) error {
			file := a.config
			if len(files) > 0 {
				file = files[0]
			}
			if name != "" && !explain {
				return wrongUse(cmd, errors.New("--channel needs --explain"))
			}
			if explain {
				return a.explainConfig(cmd.Context(), file, name)
			}
			return a.checkConfig(file)
		},
	}
	cmd.Flags().BoolVar(&explain, "explain", false, "print what the compaction settings mean in tokens")
	cmd.Flags().StringVar(&name, "channel", "", "with --explain: the settings of the channel `NAME`")
	a.jsonFlag(cmd, "one JSON object")
	return cmd
}

// checkResult is the outcome of a check.
type checkResult struct {
	OK      bool             `json:"ok"`
	File    string           `json:"file"`    // empty: no settings file
	Changed []string         `json:"changed"` // the settings that differ from the defaults
	Faults  []config.Problem `json:"faults"`

	Warnings []config.Problem `json:"warnings,omitempty"` // settings that work but should be changed
}

func (v checkResult) String() string {
	file := v.File
	if file == "" {
		file = "no settings file, the defaults"
	}
	lines := []string{"ok: " + file}
	for _, c := range v.Changed {
		lines = append(lines, "  "+c)
	}
	for _, w := range v.Warnings {
		lines = append(lines, "warning: "+w.In(v.File))
	}
	return strings.Join(lines, "\n")
}

func (a *app) checkConfig(file string) error {
	s, err := config.Load(file)
	v := checkResult{OK: err == nil, File: s.File, Changed: []string{}, Faults: []config.Problem{}, Warnings: s.Warnings}
	var wrong *config.Error
	switch {
	case err == nil:
		v.Changed = append(v.Changed, s.Changed()...)
	case errors.As(err, &wrong) && a.json:
		v.Faults = wrong.Problems
	default:
		return usage(err)
	}
	if err != nil {
		err = usage(err)
	}
	return errors.Join(a.show(a.out, v), err)
}

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
	return strings.TrimSuffix(rows.aligned("lrrl"), "\n")
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
