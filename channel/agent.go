package channel

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"cairn/compactor"
	"cairn/llm"
	"cairn/memory"
	"cairn/prompts"
)

// Agent is who answers in a conversation.
type Agent struct {
	ID           string
	Instructions string                  // persona, above the system prompt
	Language     string                  // one of Languages; "": DefaultLanguage
	Provider     string                  // of Model, for people: a name or a host; "": none
	Model        llm.Model               // answers
	Worker       llm.Model               // summarizes; nil: the extractive summarizer does all the work
	Fallback     llm.Model               // summarizes where Worker cannot; nil: nobody does
	Reasoning    string                  // how hard Model thinks, one of llm.ReasoningEfforts; empty: the server's own
	MaxOutput    int                     // tokens of a reply; the window may allow less
	Recall       int                     // tokens of memories and messages that are recalled unasked; 0: none are
	Policy       func() compactor.Policy // what the settings say; valid; asked at each check
	Origin       func(key string) string // where the settings set a key of it; nil or "": nowhere, it is built in
	Toolbox      Toolbox                 // has tools of other programs; nil: there are none
	ToolServers  []string                // whose tools the agent has, beside those that every agent has
	Spawn        []string                // ids of the agents that it may give tasks to; empty: none
	TaskCalls    int                     // how often its model is asked for one task at most; 0: DefaultTaskCalls
	TaskTime     time.Duration           // after so long a task expires; 0: DefaultTaskTime
	WorkerPrompt func() string           // replaces the worker's prompt; nil or "": the one in prompts/

	task   bool    // it works on one, and talks with nobody
	speaks settled // in a conversation; the zero value: as Language says
}

func (a Agent) system() string {
	texts := prompts.In(a.language())
	system := texts.System
	if a.task {
		system = texts.Task
	}
	if a.Instructions == "" {
		return system
	}
	return a.Instructions + "\n\n" + system
}

// open loads a conversation's compactor as this agent's.
func (a Agent) open(ctx context.Context, w *window, records compactor.Records, tools []llm.Tool, o compactor.Options) (*compactor.Compactor, error) {
	o.Records, o.Tools = records, tools
	o.Worker, o.Fallback, o.Prompt, o.MaxOutput = a.Worker, a.Fallback, a.WorkerPrompt, a.MaxOutput
	o.System, o.Language, o.Window, o.Learnt = a.system(), a.language(), w.last, w.learnt
	o.Model, o.CacheTTL = a.Model.Name(), cacheTTLOf(a.Model)
	return compactor.Open(ctx, o)
}

// Engine is what a compactor of this agent's is made of, but for the conversation: to try
// settings on one that has no hub. It may ask the model's server for its window.
func (a Agent) Engine(ctx context.Context) compactor.Options {
	w := lookAt(ctx, a.Model)
	return compactor.Options{
		System: a.system(), Language: a.language(), Tools: a.weighed(), MaxOutput: a.MaxOutput,
		Window: w.last, Learnt: w.learnt, Model: a.Model.Name(), CacheTTL: cacheTTLOf(a.Model), Worker: a.Worker,
	}
}

// PolicyOf is what a conversation is compacted by: what the settings say, and over it what
// people set with /settings.
func (a Agent) PolicyOf(ctx context.Context, records *memory.Conversation) (compactor.Policy, error) {
	p := &policy{file: a.Policy, log: slog.New(slog.DiscardHandler)} // the bot logs what does not fit
	err := p.read(ctx, records)
	return p.get(), err
}

// cacheTTLOf returns what tells how long the model's provider keeps its prompt cache;
// nil if the model does not know.
func cacheTTLOf(model llm.Model) func() time.Duration {
	if c, ok := model.(llm.Cacher); ok {
		return c.CacheTTL
	}
	return nil
}

// window is a model's context window as it was last seen. Looking may ask the
// server; the engine, which must not wait, uses the last number.
type window struct {
	model  llm.Model
	tokens atomic.Int64
	own    llm.Learnt // of a model that remembers nothing itself
}

// lookAt looks at a model's window for the first time.
func lookAt(ctx context.Context, model llm.Model) *window {
	w := &window{model: model}
	w.look(ctx)
	return w
}

// learnt is what is known of the model.
func (w *window) learnt() *llm.Learnt { return llm.LearntOf(w.model, &w.own) }

func (w *window) look(ctx context.Context) int {
	n := w.model.Window(ctx).Tokens
	w.tokens.Store(int64(n))
	return n
}

func (w *window) last() int { return int(w.tokens.Load()) }

// burst is how many estimated tokens the messages of one turn may take.
func (w *window) burst() int { return compactor.BurstBudget(w.last() * 100 / w.learnt().Scale()) }

// keepLearnt writes what the turn taught about the models, after the reply went out.
func (c *conversation) keepLearnt(answering *llm.Learnt) {
	for _, l := range []*llm.Learnt{c.window.learnt(), llm.LearntOf(c.agent.Worker, new(llm.Learnt)), answering} {
		if l == nil {
			continue
		}
		if err := l.Keep(c.hub.ctx); err != nil && c.hub.ctx.Err() == nil {
			c.log.Warn("save_learned_limits_failed", "error", err)
		}
	}
}

// layers is what the settings set of the agent's policy; what is built in is no layer.
func (a Agent) layers() compactor.Patch {
	var set []string
	for _, key := range compactor.Keys() {
		if a.Origin != nil && a.Origin(key) != "" {
			set = append(set, key)
		}
	}
	return compactor.PatchOf(a.Policy(), set...)
}

// Explain says what a policy means for this agent's window, the largest number first. It may
// ask the model's server for its window.
func (a Agent) Explain(ctx context.Context, p compactor.Policy) []compactor.Meaning {
	tools := a.weighed()
	return p.Explain(a.system(), tools, a.MaxOutput, a.Model.Window(ctx).Tokens)
}

// Tight says, with numbers, which levels are reached before anybody has said anything;
// "" if none is. It may ask the model's server for its window.
func (a Agent) Tight(ctx context.Context) string {
	tools := a.weighed()
	return a.Policy().Tight(a.system(), tools, a.MaxOutput, a.Model.Window(ctx).Tokens)
}

// Person is somebody who talks to the bot.
type Person struct {
	ID      string // the platform's
	Name    string
	Roles   []string // ids of the platform's roles
	Manager bool     // the platform trusts them with the place: they may run restricted commands
}

// Store is what the hub needs of the database beside a conversation's own calls.
type Store interface {
	Conversation(ctx context.Context, name string) (*memory.Conversation, error)
	Find(ctx context.Context, name string) (*memory.Conversation, error)
	Unfinished(ctx context.Context) ([]string, error)
	Away(ctx context.Context, connector string, earlier func(newest, first string) string) ([]memory.Gap, error)
	Pauses() memory.Pauses
	OpenTasks(ctx context.Context) ([]memory.Task, error)
	People() memory.People
	WatchCopies(f func(conversation string, seqs []int64))
	Held() memory.Held
	Posted(ctx context.Context, reply string) (bool, error)
}

var _ Store = (*memory.Store)(nil)

// Small requests of the kind a turn makes: to find what is wrong before anybody waits.

// probeTokens is how long the answer to a probe may be: the least that every provider takes.
const probeTokens = 16

// probeFiller makes a request long enough for most caches: providers cache prompts from 1024
// or 2048 tokens on.
var probeFiller = strings.Repeat("This sentence only makes the prompt long enough to be cached. ", 100)

// Probe is what became of such a request.
type Probe struct {
	Tools bool // it had the tools of a turn
	Usage llm.Usage
}

// Probe asks the model one short question with the tools of a turn. A full one has the
// system prompt too, and is long enough to be cached. Like a turn it asks again without
// tools if the server refuses them. Pictures, if any, go with the question.
func (a Agent) Probe(ctx context.Context, full bool, pictures ...llm.Image) (Probe, error) {
	learnt := llm.LearntOf(a.Model, new(llm.Learnt))
	req := llm.Request{
		Messages:  []llm.Message{{Role: llm.RoleUser, Text: "Answer with one word: are you there?", Images: pictures}},
		MaxTokens: probeTokens, Reasoning: a.Reasoning,
	}
	if full {
		req.Messages[0].Text = probeFiller + "\n" + req.Messages[0].Text
		req.Messages = append([]llm.Message{{Role: llm.RoleSystem, Text: a.system()}}, req.Messages...)
		req.Head, req.CacheKey = 1, "cairn-probe"
	}
	if !learnt.Facts().RefusesTools {
		req.Tools = a.weighed()
	}
	resp, err := a.Model.Generate(ctx, req, nil)
	if req.Tools != nil && llm.RefusesTools(err) {
		learnt.NoTools()
		req.Tools = nil
		resp, err = a.Model.Generate(ctx, req, nil)
	}
	if tooShort(err) {
		err = nil
	}
	return Probe{Tools: req.Tools != nil, Usage: resp.Usage}, err
}

// tooShort reports whether a server complains only that so short an answer could not be
// finished, as OpenAI does of models that think.
func tooShort(err error) bool {
	var e *llm.Error
	return errors.As(err, &e) && strings.Contains(e.Message, "max_tokens or model output limit was reached")
}
