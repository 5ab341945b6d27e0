// Puts a bot together: store, model, hub and the door it talks through.
package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"cairn/channel"
	"cairn/compactor"
	"cairn/llm"
	"cairn/memory"
)

// bot is a running hub and what it stands on.
type bot struct {
	hub    *channel.Hub
	store  *memory.Store
	agents map[string]channel.Agent // by id
}

// start opens the store, for this process alone, and a hub on it.
func (a *app) start(ctx context.Context, log *slog.Logger, rules channel.Rules, doors ...channel.Door) (*bot, error) {
	notebook := new(llm.Notebook)
	agents, err := a.agents(notebook, log)
	if err != nil {
		return nil, err
	}
	store, err := memory.Open(ctx, memory.Options{Dir: a.settings.DataDir, Log: log})
	if err != nil {
		return nil, err
	}
	known, err := store.Models(ctx)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	notebook.Open(known, store.KeepModel)
	hub := channel.New(channel.Options{
		Store:   store,
		Agent:   func(conversation string) channel.Agent { return agents[a.settings.agentID(conversation)] },
		Doors:   doors,
		Rules:   rules,
		CatchUp: time.Duration(a.settings.CatchUp),
		Workers: a.settings.Workers,
		Log:     log,
	})
	return &bot{hub: hub, store: store, agents: agents}, nil
}

// close stops what still runs. What was accepted is on disk.
func (b *bot) close() error { return errors.Join(b.hub.Close(), b.store.Close()) }

// agents makes all that may answer. What is learnt about their models goes to the
// notebook.
func (a *app) agents(notebook *llm.Notebook, log *slog.Logger) (map[string]channel.Agent, error) {
	made := map[string]channel.Agent{}
	for _, chosen := range a.settings.agents() {
		agent, err := a.agent(chosen, notebook, log)
		if err != nil {
			return nil, err
		}
		made[chosen.ID] = agent
	}
	return made, nil
}

// agent makes one that answers, out of settings and environment. Without a server it
// is the offline model, which needs no worker.
func (a *app) agent(chosen agentSettings, notebook *llm.Notebook, log *slog.Logger) (channel.Agent, error) {
	s := a.settings
	key, err := s.secret(s.LLM.APIKey, modelKeyVariable)
	if err != nil {
		return channel.Agent{}, usage(err)
	}
	options := llm.OpenAIOptions{
		BaseURL: cmp.Or(chosen.BaseURL, s.LLM.BaseURL, os.Getenv("OPENAI_BASE_URL")),
		Model:   cmp.Or(chosen.Model, s.LLM.Model, os.Getenv("OPENAI_MODEL")),
		APIKey:  key,
		Window:  chosen.ContextWindow,
		Log:     log,

		Notebook: notebook,
	}
	agent := channel.Agent{
		ID:           chosen.ID,
		Instructions: chosen.Instructions,
		MaxOutput:    chosen.MaxOutputTokens,
		Policy:       func() compactor.Policy { return chosen.Compaction },
		WorkerPrompt: func() string { return workerPrompt(s.path(chosen.Compaction.PromptFile), log) },
	}
	if options.BaseURL == "" && options.APIKey == "" {
		if options.Model != "" {
			log.Warn("a model is named but no server: set OPENAI_API_KEY or base_url; answering offline", "model", options.Model)
		}
		agent.Model = llm.NewOffline(chosen.ContextWindow)
		return agent, nil
	}
	model, err := llm.NewOpenAI(options)
	if err != nil {
		return channel.Agent{}, usage(err)
	}
	agent.Model, agent.Worker = model, model
	if other := chosen.Compaction.Model; other != "" {
		options.Model, options.Window = other, 0
		if agent.Worker, err = llm.NewOpenAI(options); err != nil {
			return channel.Agent{}, usage(err)
		}
	}
	return agent, nil
}

// workerPrompt reads the agent's own prompt for the worker, each time anew so that
// an edit counts from the next job on. Settings said it can be read; should that
// have changed, the built-in prompt does the work.
func workerPrompt(path string, log *slog.Logger) string {
	if path == "" {
		return ""
	}
	text, err := readFile(path)
	if err != nil {
		log.Warn("cannot read prompt_file; using the built-in prompt", "error", err)
	}
	return string(text)
}
