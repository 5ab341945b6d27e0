// Edits of the settings file apply while the bot is running.

package main

import (
	"errors"
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"cairn/channel"
	"cairn/config"
	"cairn/hooks"
	"cairn/mcp"
	"cairn/memory"
)

// runtimeConfig is an immutable version of the settings with what is built from it.
type runtimeConfig struct {
	settings config.Settings
	agents   map[string]channel.Agent // by id
	servers  []mcp.Server
	hooks    hooks.Settings
}

// configured builds what settings describe.
func (b *bot) configured(s config.Settings) (*runtimeConfig, error) {
	c := &runtimeConfig{settings: s}
	var errs [3]error
	c.agents, errs[0] = b.models.agents(&c.settings)
	c.servers, errs[1] = s.ToolServers()
	c.hooks, errs[2] = s.HookSettings()
	return c, errors.Join(errs[:]...)
}

// settings returns the current settings.
func (b *bot) settings() *config.Settings { return &b.current.Load().settings }

// watchSettings applies edits of the settings file until the bot is closed. If hup is true, SIGHUP
// rereads the file, with the keys and prompts that it names.
func (b *bot) watchSettings(hup bool) {
	signals := make(chan os.Signal, 1)
	if hup {
		signal.Notify(signals, syscall.SIGHUP)
	}
	watcher := config.Watcher{File: b.app.config, Log: b.log, Apply: b.apply, Current: b.settings}
	b.tasks.Go(func() {
		defer signal.Stop(signals)
		watcher.Run(b.ctx, signals)
	})
}

// apply puts edited settings into force in one step, or changes nothing.
func (b *bot) apply(s config.Settings, asked bool) error {
	b.app.secrets.learn(s.Secrets()...)
	next, err := b.configured(b.app.withFlags(s))
	if err != nil {
		return err
	}
	changed := config.ChangedKeys(b.settings(), &next.settings)
	if len(changed) == 0 && !asked {
		return nil
	}
	b.current.Store(next)
	b.tools.Update(next.servers)
	b.hooks.Update(next.hooks)
	memory.In(b.store).Share(next.settings.ShareMemories == config.ShareServer)
	b.hub.Renew(b.rules(&next.settings))
	b.log.Info("settings_applied", "changed", changed, "from", "the next turn")
	if waiting := config.NeedRestart(config.ChangedKeys(&b.app.settings, &next.settings)); len(waiting) > 0 {
		b.log.Warn("settings_need_restart", "settings", waiting)
	}
	b.warn(&next.settings)
	b.checkWindows()
	if b.check != nil {
		b.check()
	}
	return nil
}

// checkWindows finds the window of each agent's model, which chooses a model where the settings name
// none. It warns about windows whose levels an empty conversation reaches, and creates the models'
// metrics.
func (b *bot) checkWindows() {
	now := b.current.Load()
	b.tasks.Go(func() { // a request to the server may be needed
		for _, id := range slices.Sorted(maps.Keys(now.agents)) {
			if problem := now.agents[id].ValidateWindow(b.ctx); problem != "" && b.ctx.Err() == nil {
				b.log.Warn("window_too_small", "agent", id, "problem", problem)
			}
			b.metrics.expect(now.agents[id])
		}
	})
}
