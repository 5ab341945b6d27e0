// The flags of several commands.

package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"cairn/config"
)

// flags are the values of the command line that take precedence over the settings, or say where they are.
type flags struct {
	config, data, health, web string
	logLevel                  *slog.Level // nil: the command's default
}

// addAll adds the flags that every command below root has.
func (f *flags) addAll(root *cobra.Command) {
	to := root.PersistentFlags()
	to.StringVar(&f.config, "config", "", "settings `FILE` (default: config.toml, if it exists); config.local.toml beside it overrides it")
	to.StringVar(&f.data, "data", "", "folder `DIR` of the database (default: data)")
	to.Func("log-level", "lowest `LEVEL` of the log: debug, info, warn, error (default: warn; for run: info; for chat at a terminal: error)", f.setLogLevel)
}

func (f *flags) setLogLevel(text string) error {
	f.logLevel = new(slog.Level)
	if f.logLevel.UnmarshalText([]byte(text)) != nil {
		return errors.New("must be debug, info, warn or error")
	}
	return nil
}

func (f *flags) addHealth(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.health, "health", "", "serve or ask for health at `ADDRESS` (default: health in the settings)")
}

func (f *flags) addWeb(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.web, "web", "", "serve the dashboard and the HTTP API at `ADDRESS` (default: listen under [web])")
}

// over returns s with the values of the flags.
func (f *flags) over(s config.Settings) config.Settings {
	s.DataDir = cmp.Or(f.data, s.DataDir)
	s.Health = cmp.Or(f.health, s.Health)
	s.Web.Listen = cmp.Or(f.web, s.Web.Listen)
	return s
}

// sameFolder returns the flags with which another command works on the same data: " --data DIR", or "".
func (f *flags) sameFolder() (text string) {
	if f.config != "" {
		text = fmt.Sprintf(" --config %q", f.config)
	}
	if f.data != "" {
		text += fmt.Sprintf(" --data %q", f.data)
	}
	return text
}
