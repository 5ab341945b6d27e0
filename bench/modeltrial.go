package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"time"

	"cairn/channel"
	"cairn/llm"
	"cairn/llm/anthropic"
	"cairn/llm/llmtest"
	"cairn/llm/openai"
	"cairn/store"
)

const (
	modelsWindow = 16_000
	modelsPlace  = "bench:server/models"
	modelsRecall = 600 // tokens, as config.toml has it
	modelAsks    = "Question "
	thoughtWords = 250 // of reasoning before an answer
	turnTakes    = time.Minute
)

// modelTrial is a conversation with one model, or with several by turns.
type modelTrial struct {
	name   string
	models []string
}

// modelTrials are the conversations that are had.
func modelTrials() (all []modelTrial) {
	for _, model := range llmtest.Profiles() {
		all = append(all, modelTrial{model, []string{model}})
	}
	return append(all, modelTrial{"switched", []string{"qwen3", "gpt-6-astra", "claude-sonnet-4-6", "gpt-6-astra", "qwen3"}})
}

// bout is a trial that is under way.
type bout struct {
	modelTrial
	recording recording
	turns     int

	dir       string
	connector *connector
	servers   map[string]*llmtest.Server // by model
	models    map[string]llm.Model
	store     *store.Store
	beside    *store.Store // the same files as another process reads them
	hub       *channel.Hub

	dice     *rand.Rand
	said     int      // messages delivered
	asked    []string // ids of questions that are still there
	imported []string // ids of imported messages that are still there

	heads    changes  // guarded by connector.mu, as are the next two
	failed   []string // why turns and summaries failed
	answered int

	mu   sync.Mutex // guards everything below
	mind mind
	// seen are the changes of the head, by model, before the last request of a turn but one,
	// and before the last. A summary is applied at any time: the last request may have been
	// written before and have come after it.
	seen    map[string][2]changes
	lessons map[string]int // by model: refusals that taught something
	due     []func() error // to be done in the middle of the next turn
	conv    *store.Conversation
	now     channel.Agent // who answers
	result  tried
}

// have has the conversation and returns what came of it.
func (t modelTrial) have(ctx context.Context, s *screen, r recording, turns int) (result tried, err error) {
	b := &bout{
		modelTrial: t, recording: r, turns: turns, connector: newConnector(), servers: map[string]*llmtest.Server{}, dice: rand.New(rand.NewPCG(7, 1)),
		mind: mind{words: rand.New(rand.NewPCG(5, 5))}, seen: map[string][2]changes{}, lessons: map[string]int{}, result: tried{Name: t.name, Turns: turns},
	}
	b.connector.compacted = b.compacted
	if b.dir, err = os.MkdirTemp(inMemory(), "cairn-bench-"); err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	for _, model := range t.models {
		if b.servers[model] == nil {
			b.servers[model] = b.serve(model)
		}
	}
	if err := b.open(ctx, t.models[0]); err != nil {
		return result, err
	}
	if err := b.learnPast(ctx, s); err != nil {
		return result, err
	}
	for turn := range turns {
		s.progress("%s: turn %d of %d", t.name, turn+1, turns)
		if err := b.step(ctx, turn); err != nil {
			return result, err
		}
	}
	return b.settle(ctx)
}

// serve starts a server that behaves like the model.
func (b *bout) serve(model string) *llmtest.Server {
	profile := llmtest.ProfileOf(model)
	profile.Window = modelsWindow
	profile.Thought = text(rand.New(rand.NewPCG(3, 3)), thoughtWords)
	server := llmtest.NewServer(b.play)
	server.Behave(profile)
	return server
}

// open opens the store and the hub, with models that know what the store has kept. This one answers.
func (b *bout) open(ctx context.Context, model string) (err error) {
	if b.store, err = store.Open(ctx, store.Options{Dir: b.dir}); err != nil {
		return err
	}
	known, err := b.store.Models().List(ctx)
	if err != nil {
		return err
	}
	notebook := new(llm.Notebook)
	notebook.Open(known, b.store.Models().Keep)
	b.models = map[string]llm.Model{}
	for model, server := range b.servers {
		if b.models[model], err = connect(server, model, notebook); err != nil {
			return err
		}
	}
	if _, err = b.store.Conversation(ctx, modelsPlace); err != nil {
		return err
	}
	if b.beside, err = store.Open(ctx, store.Options{Dir: b.dir, Shared: true}); err != nil {
		return err
	}
	conv, err := b.beside.Conversation(ctx, modelsPlace)
	if err != nil {
		return err
	}
	b.hub = channel.New(channel.Options{
		Store: b.store, Connectors: []channel.Connector{b.connector}, Log: silence,
		Agent: func(string) channel.Agent {
			b.mu.Lock()
			defer b.mu.Unlock()
			return b.now
		},
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.conv, b.now = conv, b.agent(model)
	return nil
}

func connect(server *llmtest.Server, model string, notebook *llm.Notebook) (llm.Model, error) {
	if strings.HasPrefix(model, "claude-") { // as the address says
		return anthropic.New(anthropic.Options{BaseURL: server.URL, APIKey: "bench", Model: model, Window: modelsWindow, Notebook: notebook})
	}
	wire := ""
	if model == "gpt-5.1" { // which takes tools on either wire, and has the one of its provider's address
		wire = llm.WireResponses
	}
	return openai.New(openai.Options{BaseURL: server.URL, APIKey: "bench", Model: model, Wire: wire, Window: modelsWindow, Notebook: notebook})
}

func (b *bout) agent(model string) channel.Agent {
	a := agentOf(b.models[model], b.models[model])
	a.Recall = modelsRecall
	if thinking(model) {
		a.Reasoning = "low"
	}
	return a
}

// thinking reports whether a model thinks before it answers.
func thinking(model string) bool { return model != "gemma" }

func (b *bout) close() (err error) {
	if b.hub != nil {
		err = b.hub.Close()
	}
	for _, server := range b.servers {
		server.Close()
	}
	return errors.Join(err, b.closeStores(), os.RemoveAll(b.dir))
}

func (b *bout) closeStores() (err error) {
	for _, db := range []*store.Store{b.beside, b.store} {
		if db != nil {
			err = errors.Join(err, db.Close())
		}
	}
	b.beside, b.store = nil, nil
	return err
}

// learnPast imports the recording, which the model summarizes.
func (b *bout) learnPast(ctx context.Context, s *screen) error {
	for _, u := range b.recording.said {
		b.imported = append(b.imported, u.ID)
	}
	n, err := b.hub.Import(ctx, modelsPlace, b.recording.inOrder(), func(n int) { s.progress("%s: %d of %d messages imported", b.name, n, len(b.recording.said)) })
	if err == nil && n != len(b.recording.said) {
		err = fmt.Errorf("%d of %d messages were imported", n, len(b.recording.said))
	}
	return err
}

// settle ends the conversation and compares the books.
func (b *bout) settle(ctx context.Context) (tried, error) {
	if err := b.rest(ctx); err != nil {
		return b.result, err
	}
	if err := b.hub.Close(); err != nil { // what is left of the usage is written then
		return b.result, err
	}
	conv, err := b.store.Conversation(ctx, modelsPlace)
	if err != nil {
		return b.result, err
	}
	usage, err := conv.Turns().Usage(ctx)
	if err != nil {
		return b.result, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, why := range b.failed {
		b.result.fail(errors.New(why))
	}
	b.result.Answered, b.result.Changes = b.answered, b.heads.applied+b.heads.others
	b.result.count(usage, b.servers)
	b.result.judge()
	return b.result, nil
}
