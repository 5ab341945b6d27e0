// Edits of the settings file apply while the bot is running.
package main

import (
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"cairn/channel"
	"cairn/config"
	"cairn/memory"
)

// runtimeConfig is an immutable version of the settings with the agents built from it.
type runtimeConfig struct {
	settings config.Settings
	agents   map[string]channel.Agent // by id
}

// watchSettings applies edits of the settings file until the bot is closed. If hup is true, SIGHUP
// rereads the file, with the keys and prompts that it names.
func (b *bot) watchSettings(hup bool) {
	signals := make(chan os.Signal, 1)
	if hup {
		signal.Notify(signals, syscall.SIGHUP)
	}
	watcher := config.Watcher{File: b.app.config, Log: b.log, Apply: b.apply, Current: func() *config.Settings { return &b.current.Load().settings }}
	b.tasks.Go(func() {
		defer signal.Stop(signals)
		watcher.Run(b.ctx, signals)
	})
}

// apply puts edited settings into force in one step, or changes nothing.
func (b *bot) apply(s config.Settings, asked bool) (err error) {
	now, next := b.current.Load(), &runtimeConfig{settings: b.app.withFlags(s)}
	b.app.secrets.learn(next.settings.Secrets()...)
	if next.agents, err = b.agents(&next.settings); err != nil {
		return err
	}
	servers, err := next.settings.ToolServers()
	if err != nil {
		return err
	}
	hooked, err := next.settings.HookSettings()
	if err != nil {
		return err
	}
	changed := config.ChangedKeys(&now.settings, &next.settings)
	if len(changed) == 0 && !asked {
		return nil
	}
	b.current.Store(next)
	b.metrics.expect(next.agents)
	b.tools.Update(servers)
	b.hooks.Update(hooked)
	memory.In(b.store).Share(next.settings.ShareMemories == config.ShareServer)
	b.hub.Renew(b.rules(&next.settings))
	b.log.Info("settings_applied", "changed", changed, "from", "the next turn")
	if waiting := config.NeedRestart(config.ChangedKeys(b.first, &next.settings)); len(waiting) > 0 {
		b.log.Warn("settings_need_restart", "settings", waiting)
	}
	b.warn(&next.settings)
	b.warnSmallWindows()
	if b.check != nil {
		b.check()
	}
	return nil
}

// warnSmallWindows warns about agents whose levels are reached by an empty conversation.
func (b *bot) warnSmallWindows() {
	now := b.current.Load()
	b.tasks.Go(func() { // finding a model's window may need a request to its server
		for _, id := range slices.Sorted(maps.Keys(now.agents)) {
			if problem := now.agents[id].ValidateWindow(b.ctx); problem != "" && b.ctx.Err() == nil {
				b.log.Warn("window_too_small", "agent", id, "problem", problem)
			}
		}
	})
}
