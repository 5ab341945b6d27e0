package channel

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"

	"cairn/channel/task"
	"cairn/compactor"
	"cairn/llm"
	"cairn/prompts"
	"cairn/store"
)

// Agent is the configuration that answers in a conversation.
type Agent struct {
	ID           string
	Instructions string                  // the persona; goes above the system prompt
	Language     string                  // one of Languages; "": DefaultLanguage. In a conversation, the one in use
	Provider     string                  // who serves Model, for people: a name or a host; "": unknown
	Model        llm.Model               // writes the answers
	Fallback     []llm.Model             // write the answers, in this order, when Model's server fails
	Choices      []Choice                // what people may choose in place of Model, see choice.go
	Worker       llm.Model               // writes the summaries; nil: the extractive summarizer does all the work
	Substitute   llm.Model               // writes summaries when Worker cannot; nil: nobody does
	Reasoning    string                  // how hard Model thinks, one of llm.ReasoningEfforts; empty: the server's default
	MaxOutput    int                     // tokens of a reply; the window may allow less
	SaveNotice   string                  // how people see that the model saved a memory; "": not, see SaveNoticeLine
	Recall       int                     // token budget for memories and messages recalled automatically; 0: no recall
	Policy       func() compactor.Policy // the policy from the settings, valid; called at each check
	Origin       func(key string) string // where the settings define a key of Policy; nil or "": the built-in default applies
	Toolbox      Toolbox                 // provides the tools of other programs; nil: no such tools
	ToolServers  []string                // tool servers the agent may use, besides those every agent may use
	Spawn        []string                // ids of the agents it may give tasks to; empty: none
	Tasks        task.Limits             // of tasks that it starts, and of those that it works on
	WorkerPrompt func() string           // replaces the worker's prompt; nil or "": the one in prompts/

	task    bool // it works on a task and talks to no one
	detects bool // Language was detected
	choice  choice
}

func (a Agent) system() string {
	texts := prompts.In(supported(a.Language))
	system := texts.System
	if a.task {
		system = texts.Task
	}
	if a.Instructions == "" {
		return system
	}
	return a.Instructions + "\n\n" + system
}

// Engine returns the options of this agent's compactor, so that settings can be tried without a hub.
func (a Agent) Engine(ctx context.Context) compactor.Options {
	return a.engine(newWindow(ctx, a.Model), a.weighed(), compactor.Options{})
}

// engine adds to the options of a compactor what this agent decides.
func (a Agent) engine(w *window, tools []llm.Tool, o compactor.Options) compactor.Options {
	o.System = a.system()
	o.Language = supported(a.Language)
	o.Tools = tools
	o.MaxOutput = a.MaxOutput
	o.Window = w.last
	o.Learned = w.learned
	o.Model = a.Model.Name()
	o.CacheTTL = llm.CacheTTLOf(a.Model)
	o.Worker = a.Worker
	o.Fallback = a.Substitute
	o.Prompt = a.WorkerPrompt
	return o
}

// PolicyOf returns the policy a conversation is compacted by: the settings file, and /settings.
func (a Agent) PolicyOf(ctx context.Context, records *store.Conversation) (compactor.Policy, error) {
	p := &policy{file: a.Policy}
	_, err := p.read(ctx, records)
	return p.get(), err
}

// window caches the size of a model's context window, for the engine, which must not wait for the server.
type window struct {
	model    llm.Model
	tokens   atomic.Int64
	fallback llm.Learned // for a model that keeps no record itself
}

func newWindow(ctx context.Context, model llm.Model) *window {
	w := &window{model: model}
	w.lookUp(ctx)
	return w
}

// learned returns what is known about the model.
func (w *window) learned() *llm.Learned { return llm.LearnedOf(w.model, &w.fallback) }

func (w *window) lookUp(ctx context.Context) int {
	n := w.model.Window(ctx).Tokens
	w.tokens.Store(int64(n))
	return n
}

func (w *window) last() int { return int(w.tokens.Load()) }

// keepLearned saves what the turn taught us about the models, after the reply has gone out.
func (a *answerer) keepLearned(ctx context.Context, log *slog.Logger, answering *llm.Learned) {
	for _, l := range []*llm.Learned{a.window.learned(), llm.LearnedOf(a.agent.Worker, nil), answering} {
		if l == nil {
			continue
		}
		if err := l.Keep(ctx); err != nil && ctx.Err() == nil {
			log.Warn("save_learned_limits_failed", "error", err)
		}
	}
}

// layers returns what the settings set in the agent's policy, without the built-in defaults.
func (a Agent) layers() compactor.Patch {
	unset := func(key string) bool { return a.Origin == nil || a.Origin(key) == "" }
	return compactor.PatchOf(a.Policy(), slices.DeleteFunc(compactor.Keys(), unset)...)
}

// Frame returns the estimated tokens of system prompt and tools, which every request has.
func (a Agent) Frame() int { return compactor.FrameCost(a.system(), a.weighed()) }

// Explain describes what a policy means for this agent's window, the largest number first. It may ask the model's server.
func (a Agent) Explain(ctx context.Context, p compactor.Policy) []compactor.Meaning {
	return p.Explain(a.system(), a.weighed(), a.MaxOutput, a.Model.Window(ctx).Tokens)
}

// ValidateWindow describes which levels are reached before anyone has written a message; "" if none is.
func (a Agent) ValidateWindow(ctx context.Context) string {
	return a.Policy().ValidateWindow(a.system(), a.weighed(), a.MaxOutput, a.Model.Window(ctx).Tokens)
}

// Small requests like those of a turn, to find problems before anyone waits for an answer.

// probeTokens limits the answer to a probe: the smallest limit that every provider accepts.
const probeTokens = 16

// probeFiller makes a request long enough for most caches: 1024 or 2048 tokens.
var probeFiller = strings.Repeat("This sentence only makes the prompt long enough to be cached. ", 100)

// Probe is the outcome of such a request.
type Probe struct {
	Tools bool // the request carried the tools of a turn
	Usage llm.Usage
}

// Probe asks the model one short question with the tools of a turn; a full one also has the system prompt and
// is long enough to be cached. Like a turn, it retries without tools if the server refuses them.
func (a Agent) Probe(ctx context.Context, full bool, pictures ...llm.Image) (Probe, error) {
	learned := llm.LearnedOf(a.Model, nil)
	req := llm.Request{
		Messages:  []llm.Message{{Role: llm.RoleUser, Text: "Answer with one word: are you there?", Images: pictures}},
		MaxTokens: probeTokens, Spare: -1, Reasoning: a.Reasoning,
	}
	if full {
		req.Messages[0].Text = probeFiller + "\n" + req.Messages[0].Text
		req.Messages = append([]llm.Message{{Role: llm.RoleSystem, Text: a.system()}}, req.Messages...)
		req.Head = 1
		req.CacheKey = "cairn-probe"
	}
	if !learned.Facts().RefusesTools {
		req.Tools = a.weighed()
	}
	resp, err := a.Model.Generate(ctx, req, nil)
	if req.Tools != nil && llm.RefusesTools(err) {
		learned.NoTools()
		req.Tools = nil
		resp, err = a.Model.Generate(ctx, req, nil)
	}
	var e *llm.Error // OpenAI's only complaint is that a model that thinks could not finish within the limit
	if errors.As(err, &e) && strings.Contains(e.Message, "max_tokens or model output limit was reached") {
		err = nil
	}
	return Probe{Tools: req.Tools != nil, Usage: resp.Usage}, err
}

// Agents are the agents in the settings. Both functions must be safe for concurrent use.
type Agents struct {
	In    func(conversation string) Agent    // the agent that answers there
	Named func(id string) (a Agent, ok bool) // for tasks; nil: no named agents
}

// Of returns the agent that answers in a conversation, with its language and the model that was chosen there. In a task it is the requested agent;
// its policy layers are, from the top, those of the call, of the parent and its own. Its language is that of the
// people's conversation above. Values that no longer make a valid policy are dropped.
func (a Agents) Of(ctx context.Context, records *store.Conversation) (Agent, error) {
	root, depth := store.RootOf(records.Name())
	if depth == 0 {
		agent, err := a.In(records.Name()).spokenIn(ctx, records)
		if err != nil {
			return agent, err
		}
		return agent.chosenIn(ctx, records)
	}
	t, err := records.Tasks().Self(ctx)
	if err != nil {
		return Agent{}, err
	}
	agent, known := a.named(t.Agent)
	if !known { // the settings have changed; its conversation must stay readable
		agent = a.In(root)
		agent.Toolbox = nil
		agent.Spawn = nil
	}
	layers := compactor.Spawn(t.Above, agent.layers(), t.Set)
	policy, left := layers.Fit(compactor.DefaultPolicy())
	for _, e := range left {
		delete(layers, e.Key)
	}
	agent.Policy = func() compactor.Policy { return policy }
	agent.Origin = func(key string) string {
		if _, set := layers[key]; set {
			return "what began this task"
		}
		return ""
	}
	agent.task = true
	if depth >= task.MaxDepth {
		agent.Spawn = nil
	}
	agent.Language = a.In(root).Language
	return agent.spokenIn(ctx, records)
}

func (a Agents) named(id string) (Agent, bool) {
	if a.Named == nil {
		return Agent{}, false
	}
	return a.Named(id)
}
