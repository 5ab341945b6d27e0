// Background tasks of a running bot: edits of the settings, checks of models, upkeep; its hooks and traces.

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/compactor"
	"cairn/config"
	"cairn/internal/hooks"
	"cairn/internal/observe"
	"cairn/internal/otlp"
	"cairn/llm"
	"cairn/mcp"
	"cairn/memory"
	"cairn/store"
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

// watchSettings applies edits of the settings files until the bot is closed. If hup is true, SIGHUP
// rereads them, with the keys and prompts that it names.
func (b *bot) watchSettings(hup bool) {
	signals := make(chan os.Signal, 1)
	if hup {
		signal.Notify(signals, syscall.SIGHUP)
	}
	watcher := config.Watcher{File: b.flags.config, Log: b.log, Apply: b.apply, Current: b.settings}
	b.tasks.Go(func() {
		defer signal.Stop(signals)
		watcher.Run(b.ctx, signals)
	})
}

// apply puts edited settings into force in one step, or changes nothing.
func (b *bot) apply(s config.Settings) error {
	b.secrets.learn(s.Secrets()...)
	next, err := b.configured(b.flags.over(s))
	if err != nil {
		return err
	}
	changed := config.ChangedKeys(b.settings(), &next.settings)
	b.current.Store(next)
	b.tools.Update(next.servers)
	b.hooks.Update(next.hooks)
	memory.In(b.store).Share(next.settings.ShareMemories == config.ShareServer)
	b.hub.Renew(b.rules(&next.settings))
	b.log.Info("settings_applied", "changed", changed, "from", "the next turn")
	if waiting := config.NeedRestart(config.ChangedKeys(&b.started, &next.settings)); len(waiting) > 0 {
		b.log.Warn("settings_need_restart", "settings", waiting)
	}
	b.warn(&next.settings)
	b.checkWindows()
	b.checkModels()
	b.publish(config.Fingerprint(&next.settings))
	return nil
}

// checkWindows finds the window of each agent's model, which chooses a model where none is named. It
// warns about windows whose levels an empty conversation reaches and about models that no budget limits, and creates the
// models' metrics.
func (b *bot) checkWindows() {
	now := b.current.Load()
	b.tasks.Go(func() { // a request to the server may be needed
		for _, id := range slices.Sorted(maps.Keys(now.agents)) {
			if problem := now.agents[id].ValidateWindow(b.ctx); problem != "" && b.ctx.Err() == nil {
				b.log.Warn("window_too_small", "agent", id, "problem", problem)
			}
			b.metrics.expect(now.agents[id])
		}
		for _, model := range unpriced(&now.settings, now.agents) {
			b.log.Warn("model_without_price", "model", model, "effect", access.Unlimited, "hint", access.SetPrice(model))
		}
	})
}

// checkDelay is how long the check waits for models to serve a request, and need none.
const checkDelay = time.Second

// checkModels sends each model one short request in the background, except those that have already
// served one. An edit of the settings repeats the check for models that it adds.
func (b *bot) checkModels() { b.tasks.Go(b.checkOnce) }

func (b *bot) checkOnce() {
	select {
	case <-time.After(checkDelay):
	case <-b.ctx.Done():
		return
	}
	agents := b.current.Load().agents
	for _, id := range slices.Sorted(maps.Keys(agents)) {
		agent := agents[id]
		for _, model := range append([]llm.Model{agent.Model, agent.Worker}, agent.Fallback...) {
			if m, remote := model.(*located); remote && !m.checked.Swap(true) {
				agent.Model = m
				b.checkModel(agent, m)
			}
		}
	}
}

// checkModel sends m the request that a turn of agent would send, unless it has served one.
func (b *bot) checkModel(agent channel.Agent, m *located) {
	var err error
	if !m.used.Load() {
		_, err = agent.Probe(b.ctx, false)
	}
	switch {
	case b.ctx.Err() != nil:
	case err != nil && b.say != nil:
		b.say(explained(m.Name()+" does not answer", err).Error())
	case err != nil:
		b.log.Warn("model_check_failed", llm.LogAttrs(err)...)
	case b.say != nil && m.unnamed:
		b.say(fmt.Sprintf("Using %s, chosen from the models at %s; set model to use another (`cairn models` lists them)", m.Name(), m.where.Address))
	}
}

// databaseEvery is how often the bot checks that its database is still the file it opened: it takes a millisecond.
const databaseEvery = time.Minute

// watchDatabase returns a context that also ends when the database is damaged or gone, with that as its cause. See start.
func (b *bot) watchDatabase(ctx context.Context) context.Context {
	ctx, lose := context.WithCancelCause(ctx)
	b.tasks.Go(func() {
		for {
			select {
			case <-time.After(cmp.Or(b.databaseEvery, databaseEvery)):
			case <-b.ctx.Done():
				return
			}
			err := b.store.Upkeep().Intact(b.ctx)
			switch {
			case b.ctx.Err() != nil:
			case errors.Is(err, store.ErrDamaged), errors.Is(err, store.ErrReplaced):
				b.log.Error("database_lost", "error", err, "effect", "the bot stops")
				lose(err)
				return
			case err != nil:
				b.log.Log(b.ctx, b.databaseFailure.Begin(), "check_database_file_failed", "error", err, "effect", "the next start may fail")
			case b.databaseFailure.End():
				b.log.Info("database_file_recovered")
			}
		}
	})
	return ctx
}

// upkeepEvery is how often the bot checks whether upkeep is due: several times in the quietest hour.
const upkeepEvery = 5 * time.Minute

// backupsOf returns the backup policy of settings.
func backupsOf(s *config.Settings) store.Backups {
	dir := cmp.Or(s.Path(s.Backup.Dir), filepath.Join(s.DataDir, store.BackupsName))
	return store.Backups{Every: time.Duration(s.Backup.Every), Keep: s.Backup.Keep, Dir: dir}
}

// runUpkeep performs due upkeep until the bot is closed.
func (b *bot) runUpkeep() {
	b.tasks.Go(func() {
		for {
			if channel.FleetOf(b.hub).DoesChores() {
				b.upkeepOnce()
			}
			select {
			case <-time.After(upkeepEvery):
			case <-b.ctx.Done():
				return
			}
		}
	})
}

// upkeepOnce performs due upkeep. It logs one warning per incident.
func (b *bot) upkeepOnce() {
	err := b.store.Upkeep().Run(b.ctx, backupsOf(b.settings()), time.Now())
	switch {
	case b.ctx.Err() != nil: // the next start repeats what was interrupted
	case err != nil:
		b.log.Log(b.ctx, b.upkeepFailure.Begin(), "upkeep_failed", "error", err, "effect", "backups and the erasure of deleted text wait; both are retried")
	case b.upkeepFailure.End():
		b.log.Info("upkeep_recovered")
	}
}

// spanOf returns the fields that the events of compactions have in common. docs/hooks.md describes all.
func spanOf(conversation string, e channel.Event) map[string]any {
	return map[string]any{
		"conversation": conversation, "trigger": e.Trigger, "kind": e.Kind, "from_seq": e.From, "to_seq": e.To,
		"messages": e.Messages, "max_tokens": e.Window,
	}
}

func (b *bot) propose(ctx context.Context, conversation string, p compactor.Proposal) (focus string, err error) {
	event := spanOf(conversation, p.Event)
	event["tokens"] = p.Tokens
	event["used_tokens"] = p.BeforeTokens
	event["focus"] = p.Focus
	v := b.hooks.Ask(ctx, hooks.Before, event)
	if v.Veto {
		return "", errors.New(v.Reason)
	}
	return v.Focus, nil
}

// ended returns the event of a compaction that was applied or has failed.
func ended(conversation string, e channel.Event) map[string]any {
	id := e.ID
	path := "/api/conversations/" + url.PathEscape(conversation) + "/summaries"
	if id == 0 && len(e.Set) > 0 {
		id = e.Set[0].ID
	}
	if id > 0 {
		path += "/" + strconv.FormatInt(id, 10)
	}
	event := spanOf(conversation, e)
	event["id"] = id
	event["state"] = e.State
	event["by"] = e.By
	event["path"] = path
	event["before_tokens"] = e.BeforeTokens
	event["after_tokens"] = e.AfterTokens
	for key, text := range map[string]string{"error": e.Error, "summary": e.Summary} {
		if text != "" {
			event[key] = text
		}
	}
	return event
}

// observers returns the observers of the bot's steps: its metrics, and traces if the environment configures them.
func (b *bot) observers(ctx context.Context) (_ []observe.Observer, err error) {
	for _, headers := range []string{os.Getenv("OTEL_EXPORTER_OTLP_HEADERS"), os.Getenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS")} {
		for header := range strings.SplitSeq(headers, ",") {
			_, value, _ := strings.Cut(header, "=")
			b.secrets.learn(strings.TrimSpace(value))
		}
	}
	var failing observe.Incident
	b.traces, err = otlp.Open(ctx, otlp.Options{Version: version(), Class: channel.FailureClass, Sent: func(err error) {
		if err != nil {
			b.log.Log(ctx, failing.Begin(), "send_traces_failed", "error", err, "effect", "traces are lost until the collector answers")
		} else if failing.End() {
			b.log.Info("send_traces_recovered")
		}
	}})
	if err != nil {
		return nil, usage(err)
	}
	if b.traces == nil {
		return []observe.Observer{b.metrics}, nil
	}
	b.log.Info("traces_sent", "endpoint", config.MaskAddress(b.traces.Endpoint))
	return []observe.Observer{b.metrics, b.traces}, nil
}
