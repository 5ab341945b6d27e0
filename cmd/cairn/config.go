// cairn config check: validate the settings and list what differs from the defaults.

package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"cairn/config"
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
