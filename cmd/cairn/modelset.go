// Models, built from settings and environment: one for each server, name and key.

package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"cairn/channel"
	"cairn/channel/task"
	"cairn/compactor"
	"cairn/config"
	"cairn/llm"
	"cairn/llm/anthropic"
	"cairn/llm/openai"
	"cairn/store"
)

// modelSet builds models and caches them, so that what is learned about a model survives an edit of
// the settings. It is not safe for concurrent use; the models are.
type modelSet struct {
	log      *slog.Logger
	notebook *llm.Notebook
	cache    map[modelKey]*located
}

type modelKey struct {
	config.Target
	window int
	ttl    compactor.TTL
}

func newModelSet(log *slog.Logger) *modelSet {
	return &modelSet{log: log, notebook: new(llm.Notebook), cache: map[modelKey]*located{}}
}

// agent builds an agent. Without a server its model is the offline one, which has no worker.
func (m *modelSet) agent(s *config.Settings, chosen config.Agent) (channel.Agent, error) {
	agent := channel.Agent{
		ID: chosen.ID, Instructions: chosen.Instructions, Language: cmp.Or(chosen.Language, s.Language), MaxOutput: chosen.MaxOutputTokens,
		Recall: s.RecallTokens, SaveNotice: s.Memory.Notice, Reasoning: chosen.Reasoning, Spawn: chosen.Spawn,
		Tasks:  task.Limits{PerMessage: chosen.TasksPerMessage, Calls: chosen.TaskCalls, Time: time.Duration(chosen.TaskTime)},
		Policy: func() compactor.Policy { return chosen.Compaction },
		Origin: func(key string) string { return s.Origin(chosen.ID, key) },
	}
	if file := chosen.Compaction.PromptFile; file != "" {
		prompt, err := config.ReadPrompt(s.Path(file))
		if err != nil {
			return agent, usage(fmt.Errorf("prompt_file: %w", err))
		}
		agent.WorkerPrompt = func() string { return prompt }
	}
	t, ok, err := s.Target(chosen)
	if err != nil {
		return agent, usage(err)
	}
	if !ok {
		if t.Model != "" {
			m.log.Warn("no_model_server", "model", t.Model, "effect", "answers offline", "hint", "set OPENAI_API_KEY, ANTHROPIC_API_KEY or base_url")
		}
		agent.Model = llm.NewOffline(chosen.ContextWindow)
		return agent, nil
	}
	ttl := chosen.Compaction.CacheTTL
	model, err := m.model(t, chosen.ContextWindow, ttl)
	if err != nil {
		return agent, err
	}
	agent.Model = model
	agent.Worker = model
	agent.Provider = providerOf(t)
	if other := chosen.Compaction.Model; other != "" {
		worker, err := m.beside(s, t, other, ttl)
		if err != nil {
			return agent, err
		}
		agent.Worker = worker
		agent.Substitute = model
	}
	for _, other := range chosen.Fallback {
		fallback, err := m.beside(s, t, other, ttl)
		if err != nil {
			return agent, err
		}
		if fallback.at != model.at && !slices.Contains(agent.Fallback, llm.Model(fallback)) { // [llm]'s may name the agent's own
			agent.Fallback = append(agent.Fallback, fallback)
		}
	}
	agent.Choices, err = m.choices(s, chosen, t, model)
	return agent, err
}

// choices returns the models that people may choose for an agent whose model is own, at t.
func (m *modelSet) choices(s *config.Settings, chosen config.Agent, t config.Target, own *located) (all []channel.Choice, err error) {
	for _, name := range chosen.Models {
		other, err := m.beside(s, t, name, chosen.Compaction.CacheTTL)
		if err != nil {
			return nil, err
		}
		if other.at == own.at { // with the agent's window
			other = own
		}
		all = append(all, channel.Choice{Name: name, Provider: providerOf(other.at), Model: other})
	}
	return all, nil
}

// providerOf returns who serves a model, for people.
func providerOf(t config.Target) string {
	if at, err := url.Parse(t.BaseURL); err == nil && t.Provider == "" {
		return at.Host
	}
	return t.Provider
}

// beside returns another model of an agent whose model is t, with the window that its server states.
func (m *modelSet) beside(s *config.Settings, t config.Target, name string, ttl compactor.TTL) (*located, error) {
	other, err := s.Beside(t, name)
	if err != nil {
		return nil, usage(err)
	}
	return m.model(other, 0, ttl)
}

func (m *modelSet) agents(s *config.Settings) (map[string]channel.Agent, error) {
	built := map[string]channel.Agent{}
	for _, chosen := range s.Agents {
		agent, err := m.agent(s, chosen)
		if err != nil {
			return nil, err
		}
		built[chosen.ID] = agent
	}
	return built, nil
}

// standIns says which models answer in place of the agents' own, and why; "": none does.
func (b *bot) standIns() string {
	var all []string
	agents := b.current.Load().agents
	for _, id := range slices.Sorted(maps.Keys(agents)) {
		if other := agents[id].StandIn(); other != nil && !slices.Contains(all, other.String()) {
			all = append(all, other.String())
		}
	}
	return strings.Join(all, "; ")
}

// agentIn returns the agent that answers in a conversation, with the language set there.
func agentIn(agents map[string]channel.Agent, s *config.Settings, conversation string) channel.Agent {
	agent := agents[s.AgentFor(conversation)]
	agent.Language = config.LanguageIn(s, conversation)
	return agent
}

// agents returns the agents for a command that only reads, without MCP tools, and its log. The
// learned facts about their models come from db; nil: none.
func (a *app) agents(ctx context.Context, db *store.Store) (channel.Agents, *slog.Logger, error) {
	log := a.logger(a.err, slog.LevelWarn)
	models := newModelSet(log)
	if db != nil {
		known, err := db.Models().List(ctx)
		if err != nil {
			return channel.Agents{}, nil, err
		}
		models.notebook.Open(known, nil)
	}
	agents, err := models.agents(&a.settings)
	return channel.Agents{
		In:    func(conversation string) channel.Agent { return agentIn(agents, &a.settings, conversation) },
		Named: func(id string) (channel.Agent, bool) { agent, known := agents[id]; return agent, known },
	}, log, err
}

// withAgent is withConversation with the conversation's agent, for a command that only reads.
func (a *app) withAgent(ctx context.Context, name string, do func(*store.Store, *store.Conversation, channel.Agent) error) error {
	return a.withConversation(ctx, name, func(db *store.Store, conversation *store.Conversation) error {
		agents, _, err := a.agents(ctx, db)
		if err != nil {
			return err
		}
		agent, err := agents.Of(ctx, conversation)
		if err != nil {
			return err
		}
		agent.Model, err = modelOf(ctx, conversation, agent.Model)
		if err != nil {
			return err
		}
		return do(db, conversation, agent)
	})
}

// model returns the model of t, without contacting its server. ttl: for providers that offer a choice.
func (m *modelSet) model(t config.Target, window int, ttl compactor.TTL) (*located, error) {
	key := modelKey{t, window, ttl}
	if cached := m.cache[key]; cached != nil {
		return cached, nil
	}
	o := openai.Options{
		BaseURL: t.BaseURL, APIKey: t.Key, Model: t.Model, Wire: t.Wire, Window: window, CacheTTL: time.Duration(max(ttl, 0)), StreamIdle: t.StreamIdle,
		Notebook: m.notebook, Log: m.log,
	}
	var model provider
	var err error
	if t.Wire == llm.WireMessages {
		model, err = anthropic.New(o)
	} else {
		model, err = openai.New(o)
	}
	if err != nil {
		return nil, usage(err)
	}
	created := &located{provider: model, at: t, unnamed: t.Model == "", where: llm.Where{Address: config.MaskAddress(t.BaseURL), Key: t.KeyName, NoKey: t.Key == ""}}
	if created.unnamed {
		created.host = model.Name()
	}
	if t.Provider != "" {
		created.prefix = t.Provider + "/"
	}
	m.cache[key] = created
	return created, nil
}

// provider is implemented by every provider's model.
type provider interface {
	llm.Model
	llm.Learner
	llm.Cacher
	Models(ctx context.Context) ([]llm.Offered, error)
	Wire() string // of the next request
}

var _, _ provider = (*openai.Model)(nil), (*anthropic.Model)(nil)

// located is a model whose errors name its server and, if that does not know the model, those that exist.
type located struct {
	provider
	at      config.Target
	where   llm.Where
	prefix  string      // prefix of its name in the settings: "openrouter/"
	unnamed bool        // no setting names it: it was chosen from the server's list
	host    string      // of its server, which is its name until it is chosen
	used    atomic.Bool // it has been sent a request
	checked atomic.Bool // the start check is done with it
}

// Generate answers a request, see llm.Model.
func (l *located) Generate(ctx context.Context, req llm.Request, show func(string)) (llm.Response, error) {
	l.used.Store(true)
	resp, err := l.provider.Generate(ctx, req, show)
	return resp, l.locate(ctx, err)
}

// Models lists what the server offers.
func (l *located) Models(ctx context.Context) ([]llm.Offered, error) {
	offered, err := l.provider.Models(ctx)
	return offered, l.locate(ctx, err)
}

func (l *located) locate(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	where := l.where
	where.Model = l.Name()
	if llm.KindOf(err) == llm.KindUnknownModel {
		where.Offered = l.others(ctx)
	}
	return llm.Located(err, where)
}

const (
	maxOthers     = 10 // maximum number of models that an error names
	othersTimeout = 3 * time.Second
)

// others returns models that the server lists, those with the most similar names first.
func (l *located) others(ctx context.Context) (names []string) {
	ctx, cancel := context.WithTimeout(ctx, othersTimeout)
	defer cancel()
	offered, _ := l.provider.Models(ctx) // the original failure is reported; that the list is missing adds nothing
	for _, o := range offered {
		names = append(names, o.ID)
	}
	names = compactor.Nearest(l.Name(), names, maxOthers)
	for i := range names {
		names[i] = l.prefix + names[i]
	}
	return names
}
