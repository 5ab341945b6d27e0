// Puts a bot together: store, model, hub and the door it talks through.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cairn/channel"
	"cairn/compactor"
	"cairn/memory"
)

// bot is a running hub and what it stands on.
type bot struct {
	app   *app
	log   *slog.Logger
	hub   *channel.Hub
	store *memory.Store
	rules func(*settings) channel.Rules
	begun *settings                // as they were at the start
	live  atomic.Pointer[standing] // swapped when the settings file is edited

	compactions compactions // so far

	models *modelSet
	check  func()          // whether the models answer, see checkModels; nil: nobody wants to know
	seen   []byte          // the settings file as it was last read
	unread bool            // it could not be read the last time
	ctx    context.Context // of the tasks
	cancel context.CancelFunc
	tasks  sync.WaitGroup
}

// standing is what a bot works with until its settings change. Nothing in it changes.
type standing struct {
	settings settings
	agents   map[string]channel.Agent // by id
}

// start opens the store, for this process alone, and a hub on it. rules makes those of
// the hub out of the settings, now and after each edit.
func (a *app) start(ctx context.Context, log *slog.Logger, rules func(*settings) channel.Rules, doors ...channel.Door) (*bot, error) {
	b := &bot{app: a, log: log, rules: rules, begun: &a.settings, seen: a.settings.text, models: newModelSet(log)}
	first := &standing{settings: a.settings}
	var err error
	if first.agents, err = b.agents(&first.settings); err != nil {
		return nil, err
	}
	b.live.Store(first)
	if b.store, err = memory.Open(ctx, memory.Options{Dir: a.settings.DataDir, Log: log}); err != nil {
		return nil, err
	}
	b.store.ShareMemories(a.settings.ShareMemories == shareServer)
	known, err := b.store.Models(ctx)
	if err != nil {
		return nil, errors.Join(err, b.store.Close())
	}
	b.models.notebook.Open(known, b.store.KeepModel)
	used, err := b.store.Usage(ctx, channel.MonthStart(time.Now()))
	if err != nil {
		return nil, errors.Join(err, b.store.Close())
	}
	b.hub = channel.New(channel.Options{
		Store: b.store,
		Agent: func(conversation string) channel.Agent {
			now := b.live.Load()
			return now.agents[now.settings.agentID(conversation)]
		},
		Agents: func(id string) (channel.Agent, bool) {
			agent, known := b.live.Load().agents[id]
			return agent, known
		},
		Doors:   doors,
		Rules:   rules(&first.settings),
		CatchUp: time.Duration(a.settings.CatchUp),
		Workers: a.settings.Workers,
		Log:     log,
		Used:    used,
		After:   b.compactions.happened,
	})
	b.ctx, b.cancel = context.WithCancel(context.WithoutCancel(ctx))
	b.warn(&first.settings)
	if first.settings.ambiguous() {
		log.Warn(bothProviders)
	}
	b.weigh()
	return b, nil
}

// bothProviders says which provider is used where the environment names two.
const bothProviders = `OPENAI_… and ANTHROPIC_… are both in the environment: OpenAI is used; for Anthropic set wire = "messages" under [llm]`

// warn logs what works in the settings and should be otherwise.
func (b *bot) warn(s *settings) {
	for _, w := range s.warnings {
		b.log.Warn("a setting works and should be changed", "setting", w.in(s.file))
	}
}

// close stops what still runs. What was accepted is on disk.
func (b *bot) close() error {
	b.cancel()
	b.tasks.Wait()
	return errors.Join(b.hub.Close(), b.store.Close())
}

// agents makes all that may answer by these settings. Their policy is asked for at each
// check, and is that of the settings that stand then.
func (b *bot) agents(s *settings) (map[string]channel.Agent, error) {
	made := map[string]channel.Agent{}
	for _, chosen := range s.agents() {
		agent, err := b.models.agent(s, chosen)
		if err != nil {
			return nil, err
		}
		latest := func() (*settings, agentSettings) {
			if now := b.live.Load(); now != nil {
				for _, other := range now.settings.agents() {
					if other.ID == chosen.ID {
						return &now.settings, other
					}
				}
			}
			return s, chosen
		}
		agent.Policy = func() compactor.Policy {
			_, now := latest()
			return now.Compaction
		}
		agent.Origin = func(key string) string {
			standing, now := latest()
			return standing.origin(now.ID, key)
		}
		agent.WorkerPrompt = promptFile(func() string {
			standing, now := latest()
			return standing.path(now.Compaction.PromptFile)
		}, b.log)
		made[chosen.ID] = agent
	}
	return made, nil
}

// promptFile returns what reads the agent's own prompt for the worker, each time anew
// so that an edit counts from the next job on. Settings said it can be read; should
// that have changed, it returns "", and the built-in prompt does the work. The log is
// told once, until the file can be read again.
func promptFile(path func() string, log *slog.Logger) func() string {
	var told atomic.Bool
	return func() string {
		file := path()
		if file == "" {
			return ""
		}
		text, err := readPrompt(file)
		switch {
		case err == nil:
			told.Store(false)
		case !told.Swap(true):
			log.Warn("cannot use prompt_file; the built-in prompt does", "error", err)
		}
		return text
	}
}

// readPrompt reads a prompt_file.
func readPrompt(path string) (string, error) {
	text, err := readFile(path)
	switch {
	case err != nil:
		return "", err
	case len(text) > maxPrompt:
		return "", fmt.Errorf("it has %d bytes, and at most %d are sent with each request", len(text), maxPrompt)
	case strings.TrimSpace(string(text)) == "":
		return "", errors.New("it is empty")
	}
	return string(text), nil
}

// maxPrompt bounds a prompt_file, in bytes: about 4 000 tokens.
const maxPrompt = 16 << 10
