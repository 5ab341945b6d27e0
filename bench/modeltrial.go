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
	"cairn/llm/openai"
	"cairn/store"
	"cairn/testkit/llmtest"
)

const (
	modelsWindow = 16_000
	modelsPlace  = "bench:server/models"
	modelsRecall = 600 // tokens, the default in config.toml
	modelAsks    = "Question "
	thoughtWords = 250 // length of the reasoning before an answer
	turnTakes    = time.Minute
)

// modelTrial is a conversation with one model, or with several in turn.
type modelTrial struct {
	name   string
	models []string
	window int // of each model, in tokens
}

// modelTrials returns all trials.
func modelTrials() (all []modelTrial) {
	for _, model := range llmtest.Profiles() {
		all = append(all, modelTrial{model, []string{model}, modelsWindow})
	}
	return append(all, modelTrial{"switched", []string{"qwen3", "gpt-6-astra", "claude-sonnet-4-6", "gpt-6-astra", "qwen3"}, modelsWindow})
}

// trialRun is a running trial.
type trialRun struct {
	modelTrial
	recording recording
	turns     int

	dir       string
	connector *connector
	servers   map[string]*llmtest.Server // by model
	models    map[string]llm.Model
	store     *store.Store
	beside    *store.Store // the same files as another process would read them
	hub       *channel.Hub

	dice     *rand.Rand
	said     int      // messages delivered
	asked    []string // ids of questions that still exist
	imported []string // ids of imported messages that still exist

	heads    changes  // guarded by connector.mu, like the next two
	failed   []string // why turns and summaries failed
	answered int

	mu   sync.Mutex // guards everything below
	mind serverScript
	// seen has the changes of the head before the last two requests of a turn, by model. Two, because
	// a summary can be applied at any time: the last request may have been built before it and sent
	// after it.
	seen    map[string][2]changes
	lessons map[string]int // by model: refusals that taught something
	due     []string       // ids of messages to delete in the middle of the next turn
	deleted bool           // some were deleted in the middle of the last turn
	conv    *store.Conversation
	now     channel.Agent // the agent that answers
	result  trialResult
}

// have runs the conversation and returns the result.
func (t modelTrial) have(ctx context.Context, s *screen, r recording, turns int) (result trialResult, err error) {
	b := &trialRun{
		modelTrial: t, recording: r, turns: turns, connector: newConnector(), servers: map[string]*llmtest.Server{}, dice: rand.New(rand.NewPCG(7, 1)),
		mind: serverScript{words: rand.New(rand.NewPCG(5, 5))}, seen: map[string][2]changes{}, lessons: map[string]int{}, result: trialResult{Name: t.name, Turns: turns},
	}
	b.connector.compacted = b.compacted
	b.dir, err = os.MkdirTemp(inMemory(), "cairn-bench-")
	if err != nil {
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
func (b *trialRun) serve(model string) *llmtest.Server {
	profile := llmtest.ProfileOf(model)
	profile.Window = b.window
	profile.Thought = text(rand.New(rand.NewPCG(3, 3)), thoughtWords)
	server := llmtest.NewServer(b.play)
	server.Behave(profile)
	return server
}

// open opens the store and the hub, with the learned facts from the store. The given model answers.
func (b *trialRun) open(ctx context.Context, model string) (err error) {
	b.store, err = store.Open(ctx, store.Options{Dir: b.dir})
	if err != nil {
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
		b.models[model], err = connect(server, model, b.window, notebook)
		if err != nil {
			return err
		}
	}
	_, err = b.store.Conversation(ctx, modelsPlace)
	if err != nil {
		return err
	}
	b.beside, err = store.Open(ctx, store.Options{Dir: b.dir, Shared: true})
	if err != nil {
		return err
	}
	conv, err := b.beside.Conversation(ctx, modelsPlace)
	if err != nil {
		return err
	}
	b.hub = channel.New(channel.Options{
		Store: b.store, Connectors: []channel.Connector{b.connector}, Log: discardLog,
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

func connect(server *llmtest.Server, model string, window int, notebook *llm.Notebook) (llm.Model, error) {
	if strings.HasPrefix(model, "claude-") { // the wire follows from the address
		return anthropic.New(anthropic.Options{BaseURL: server.URL, APIKey: "bench", Model: model, Window: window, Notebook: notebook})
	}
	wire := ""
	if model == "gpt-5.1" { // it accepts tools on either wire and uses the default of its provider's address
		wire = llm.WireResponses
	}
	return openai.New(openai.Options{BaseURL: server.URL, APIKey: "bench", Model: model, Wire: wire, Window: window, Notebook: notebook})
}

func (b *trialRun) agent(model string) channel.Agent {
	a := agentOf(b.models[model], b.models[model])
	a.Recall = modelsRecall
	if thinking(model) {
		a.Reasoning = "low"
	}
	return a
}

// thinking reports whether a model thinks before it answers.
func thinking(model string) bool { return model != "gemma" }

func (b *trialRun) close() (err error) {
	if b.hub != nil {
		err = b.hub.Close()
	}
	for _, server := range b.servers {
		server.Close()
	}
	return errors.Join(err, b.closeStores(), os.RemoveAll(b.dir))
}

func (b *trialRun) closeStores() (err error) {
	for _, db := range []*store.Store{b.beside, b.store} {
		if db != nil {
			err = errors.Join(err, db.Close())
		}
	}
	b.beside = nil
	b.store = nil
	return err
}

// learnPast imports the recording, which the model summarizes.
func (b *trialRun) learnPast(ctx context.Context, s *screen) error {
	for _, u := range b.recording.said {
		b.imported = append(b.imported, u.ID)
	}
	n, err := b.hub.Import(ctx, modelsPlace, b.recording.said, func(now channel.ImportProgress) {
		s.progress("%s: %d of %d messages imported", b.name, now.Stored-now.Unread, now.Total)
	})
	if err == nil && n != len(b.recording.said) {
		err = fmt.Errorf("%d of %d messages were imported", n, len(b.recording.said))
	}
	return err
}

// settle ends the conversation and compares the usage that the servers counted with the stored one.
func (b *trialRun) settle(ctx context.Context) (trialResult, error) {
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
	b.result.Answered = b.answered
	b.result.Changes = b.heads.applied + b.heads.others
	b.result.count(usage, b.servers)
	b.result.judge()
	return b.result, nil
}
