package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"cairn/channel"
	"cairn/llm"
	"cairn/llm/anthropic"
	"cairn/llm/llmtest"
	"cairn/llm/openai"
	"cairn/memory"
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
	calm      bool // nobody edits or deletes

	dir     string
	door    *modelDoor
	witness *witness
	servers map[string]*llmtest.Server // by model
	models  map[string]llm.Model
	current string // the model that answers
	store   *memory.Store
	beside  *memory.Store // the same files as another process reads them
	hub     *channel.Hub

	dice     *rand.Rand
	said     int      // messages delivered
	asked    []string // ids of questions that are still there
	imported []string // ids of imported messages that are still there
	result   tried
}

// have has the conversation and returns what came of it.
func (t modelTrial) have(ctx context.Context, s *screen, r recording, turns int, calm bool) (result tried, err error) {
	b := &bout{
		modelTrial: t, recording: r, turns: turns, calm: calm, door: newModelDoor(), current: t.models[0],
		servers: map[string]*llmtest.Server{}, dice: rand.New(rand.NewPCG(7, 1)), result: tried{Name: t.name, Turns: turns},
	}
	b.witness = newWitness(b)
	if b.dir, err = os.MkdirTemp(inMemory(), "cairn-bench-"); err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	for _, model := range t.models {
		if b.servers[model] == nil {
			b.servers[model] = b.serve(model)
		}
	}
	if err := b.open(ctx); err != nil {
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
	server := llmtest.NewServer(b.witness.play)
	server.Behave(profile)
	return server
}

// open opens the store and the hub, with models that know what the store has kept.
func (b *bout) open(ctx context.Context) (err error) {
	if b.store, err = memory.Open(ctx, memory.Options{Dir: b.dir}); err != nil {
		return err
	}
	known, err := b.store.Models(ctx)
	if err != nil {
		return err
	}
	notebook := new(llm.Notebook)
	notebook.Open(known, b.store.KeepModel)
	b.models = map[string]llm.Model{}
	for model, server := range b.servers {
		if b.models[model], err = connect(server, model, notebook); err != nil {
			return err
		}
	}
	if _, err = b.store.Conversation(ctx, modelsPlace); err != nil {
		return err
	}
	if b.beside, err = memory.Open(ctx, memory.Options{Dir: b.dir, Shared: true}); err != nil {
		return err
	}
	conv, err := b.beside.Conversation(ctx, modelsPlace)
	if err != nil {
		return err
	}
	b.hub = channel.New(channel.Options{
		Store: b.store, Doors: []channel.Door{b.door}, Log: silence, Agent: func(string) channel.Agent { return b.witness.agent() },
	})
	b.witness.look(b.hub, conv, b.agent())
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

// agent is who answers now.
func (b *bout) agent() channel.Agent {
	model := b.models[b.current]
	a := agentOf(model, model)
	a.Recall = modelsRecall
	if thinking(b.current) {
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
	for _, store := range []*memory.Store{b.beside, b.store} {
		if store != nil {
			err = errors.Join(err, store.Close())
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
	usage, err := conv.Usage(ctx)
	if err != nil {
		return b.result, err
	}
	for _, why := range b.door.failed() {
		b.result.fail(fmt.Errorf("a summary failed: %s", why))
	}
	b.result.count(usage, b.servers)
	b.witness.tell(&b.result)
	b.result.judge()
	return b.result, nil
}
