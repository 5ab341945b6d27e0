// Puts a bot together: store, model, hub and the connector it talks through.

package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/compactor"
	"cairn/config"
	"cairn/internal/hooks"
	"cairn/internal/observe"
	"cairn/internal/otlp"
	"cairn/llm/prices"
	"cairn/mcp"
	"cairn/memory"
	"cairn/store"
)

// bot is a running hub with its store, models, tools and hooks.
type bot struct {
	flags   flags           // which take precedence over edited settings
	started config.Settings // the settings at the start
	secrets *redactor       // to mask in the log
	web     *webSide        // nil: no web server, as of an import
	readers *readers        // nil: none

	log   *slog.Logger
	hub   *channel.Hub
	store *store.Store
	rules func(*config.Settings) access.Rules

	current atomic.Pointer[runtimeConfig] // swapped when the settings file is edited

	metrics         *metrics
	traces          *otlp.Traces     // nil: traces are off
	upkeepFailure   observe.Incident // of backups and erasure
	databaseFailure observe.Incident // the database file cannot be checked
	databaseEvery   time.Duration    // see app
	patience        time.Duration    // see app

	models   *modelSet
	tools    *toolbox
	hooks    *hooks.Hooks
	say      func(line string) // prints a line for the person at the terminal; nil: it goes to the log
	ctx      context.Context   // of the background tasks
	cancel   context.CancelFunc
	trim     *time.Timer // then the heap gets less room; nil: GOGC says how much it gets
	tasks    sync.WaitGroup
	spending sync.WaitGroup // what requests for vectors have cost is written
}

// start opens the store for this process alone, and a hub on it. rules derives the hub's rules from
// the settings, now and after each edit. The context for everything that the command does with the bot
// also ends when the database is damaged or gone, with that as its cause.
func (a *app) start(ctx context.Context, log *slog.Logger, rules func(*config.Settings) access.Rules, connectors ...channel.Connector) (context.Context, *bot, error) {
	b := &bot{
		flags: a.flags, started: a.settings, secrets: &a.secrets, web: a.webSide, databaseEvery: a.databaseEvery, patience: a.patience,
		log: log, rules: rules, models: newModelSet(log), tools: new(toolbox),
	}
	first, err := b.configured(a.settings)
	if err != nil {
		return nil, nil, err
	}
	b.current.Store(first)
	b.metrics = newMetrics(func() prices.List { return b.settings().Money().Prices })
	where, err := storeOptions(&a.settings)
	if err != nil {
		return nil, nil, err
	}
	where.Log = log
	b.store, err = store.Open(ctx, where)
	if err != nil {
		return nil, nil, err
	}
	if err := b.openHub(ctx, connectors); err != nil {
		if b.web != nil {
			b.web.close()
		}
		return nil, nil, errors.Join(err, b.store.Close())
	}
	b.ctx, b.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if err := b.startEmbeddings(ctx); err != nil {
		return nil, nil, errors.Join(err, b.close())
	}
	b.warn(&first.settings)
	if first.settings.Ambiguous() {
		log.Warn("two_providers", "hint", bothProviders)
	}
	b.checkWindows()
	if os.Getenv("GOGC") == "" {
		b.trim = time.AfterFunc(settled, func() { debug.SetGCPercent(gcPercent) })
	}
	return b.watchMembership(b.watchDatabase(ctx)), b, nil
}

// withoutTurnLimit returns the rules of the settings without a limit of turns a minute: a person who can start the program needs none,
// and piped lines arrive fast.
func withoutTurnLimit(s *config.Settings) access.Rules {
	rules := s.Rules()
	rules.TurnsPerMinute = 0
	return rules
}

// gcPercent lets the heap of a running bot grow by 30 % between collections instead of Go's default
// of 100 %: with 50 busy conversations that saves 8 to 9 MiB of resident memory, for about 15 % more
// CPU time. Before settled the heap grows from nothing: a start after a kill took 30 % longer.
const (
	gcPercent = 30
	settled   = 2 * time.Second
)

// keepRoom leaves the heap the room that Go gives it: a command that works and ends needs time rather than memory.
func (b *bot) keepRoom() {
	if b.trim != nil {
		b.trim.Stop()
	}
}

// openHub starts the hub with what the database knows about models, the tool servers and the hooks.
func (b *bot) openHub(ctx context.Context, connectors []channel.Connector) error {
	settings := &b.started
	memory.In(b.store).Share(settings.ShareMemories == config.ShareServer)
	known, err := b.store.Models().List(ctx)
	if err != nil {
		return err
	}
	b.models.notebook.Open(known, b.store.Models().Keep)
	used, err := b.store.Usage(ctx, access.MonthStart(time.Now()))
	if err != nil {
		return err
	}
	o := b.hubOptions(connectors)
	o.Used = used
	o.Observers, err = b.observers(ctx)
	if err != nil {
		return err
	}
	if b.web != nil { // requests wait until the server runs
		if err := b.web.listen(ctx, settings, b.log); err != nil {
			return err
		}
		o.Connectors = append(o.Connectors, b.web.chat, b.web.terminals)
		o.Observers = append(o.Observers, b.web.events)
		o.Waiting = b.web.events.Asked
		o.Task = b.web.events.Task
	}
	o.Lease, err = b.join(ctx, connectors)
	if err != nil {
		return err
	}
	b.hooks = hooks.New(b.log, b.metrics.hook)
	b.hooks.Update(b.current.Load().hooks)
	b.hub = channel.New(o)
	b.tools.started = time.Now()
	b.tools.Host = mcp.Start(b.current.Load().servers, version(), b.toolsChanged, b.log)
	return nil
}

func (b *bot) hubOptions(connectors []channel.Connector) channel.Options {
	settings := &b.started
	return channel.Options{
		Store: b.store,
		Agent: func(conversation string) channel.Agent {
			now := b.current.Load()
			agent := agentIn(now.agents, &now.settings, conversation)
			agent.Toolbox, agent.ToolServers = b.tools, now.settings.ToolsFor(agent.ID, conversation)
			return agent
		},
		Agents: func(id string) (channel.Agent, bool) {
			now := b.current.Load()
			agent, known := now.agents[id]
			agent.Toolbox, agent.ToolServers = b.tools, now.settings.ToolsOf(id)
			return agent, known
		},
		Connectors: connectors,
		Rules:      b.rules(settings),
		CatchUp:    time.Duration(settings.CatchUp),
		Workers:    settings.Workers,
		Patience:   b.patience,
		Log:        b.log,
		Hooks: channel.Hooks{
			Before:     b.propose,
			After:      b.compacted,
			Remembered: b.remembered,
			Replied: func(conversation string, to []string, text string, failure bool) {
				b.hooks.Tell(hooks.OnReply, map[string]any{"conversation": conversation, "to": to, "text": text, "failure": failure})
			},
			Counted: b.metrics.add,
		},
	}
}

func (b *bot) compacted(conversation string, e channel.Event) {
	b.metrics.compaction(e)
	if b.web != nil {
		b.web.events.Compaction(conversation, e)
	}
	if e.State == compactor.EventApplied || e.State == compactor.EventFailed {
		b.hooks.Tell(hooks.After, ended(conversation, e))
	}
}

func (b *bot) remembered(conversation string, id int64, kind, content string) {
	if b.web != nil {
		b.web.events.Remembered(conversation, id, kind, content)
	}
	b.hooks.Tell(hooks.OnMemory, map[string]any{"conversation": conversation, "id": id, "kind": kind, "content": content})
}

const bothProviders = `OPENAI_… and ANTHROPIC_… are both set: using OpenAI; for Anthropic, set wire = "messages" under [llm]`

func (b *bot) warn(s *config.Settings) {
	for _, w := range s.Warnings {
		b.log.Warn("setting_should_change", "setting", w.String())
	}
}

// close stops everything that runs. Accepted messages are on disk.
func (b *bot) close() error {
	b.cancel()
	b.tasks.Wait()
	if b.web != nil {
		b.web.close() // of a server that was never started
	}
	err := b.hub.Close()
	b.hooks.Close()
	b.tools.Close()
	if b.traces != nil { // sends the queued spans
		ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), otlp.CloseTimeout)
		defer cancel()
		b.traces.Close(ctx)
	}
	b.spending.Wait()
	return errors.Join(err, b.store.Close())
}
