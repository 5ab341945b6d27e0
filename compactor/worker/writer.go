package worker

import (
	"context"
	"errors"
	"slices"
	"strings"

	"cairn/compactor/judge"
	"cairn/compactor/summarize"
	"cairn/internal/secrets"
	"cairn/llm"
	"cairn/transcript"
)

// writer makes the summary of an assignment with a model.
type writer struct {
	*Worker
	Material
	prompt string // for a large window

	// Of the current model.
	model  llm.Model
	window int    // in tokens
	system string // its system prompt
	agent  string // the chat model's system prompt, for reference

	dropped []transcript.DroppedLine // lines left out of the texts of all parts
	beside  summarize.Beside         // what the models read around the span
	savedTo int64                    // the last message of what memories were saved from: those before it are not offered again
}

// newWriter returns a writer. It reads the agent's prompt.
func newWriter(m Material) *writer {
	prompt := m.by.Texts.Worker
	if m.by.Prompt != nil {
		if agents := m.by.Prompt(); strings.TrimSpace(agents) != "" {
			prompt = agents
		}
	}
	if m.Row.Kind == transcript.Rollup {
		prompt += "\n" + m.by.Texts.Fold
	}
	m.Around.before.Text = secrets.Mask(m.Around.before.Text)
	return &writer{Worker: m.by, Material: m, prompt: prompt, beside: m.Around.beside()}
}

const (
	maxAgentTokens = 1_000 // tokens of the agent's system prompt that the model sees
	agentShare     = 16    // and 1/16 of its window

	// smallWindow is the largest window, in tokens, for which the model gets the short instructions.
	smallWindow = 8192
)

// use prepares the requests to a model. Its window determines how long its instructions are and how much
// reference material it gets.
func (w *writer) use(ctx context.Context, model llm.Model) {
	w.model = model
	w.window = model.Window(ctx).Tokens
	w.system = w.prompt
	window := int(float64(w.window) / llm.LearnedOf(model, nil).Factor()) // in estimated tokens
	if window <= smallWindow {
		w.system = strings.Replace(w.prompt, w.Texts.Worker, w.Texts.WorkerBrief, 1)
	}
	w.agent = summarize.Content(secrets.Mask(w.System), min(maxAgentTokens, window/agentShare))
	w.Around.max = min(maxAroundTokens, window/aroundShare)
}

// Write has the model write the summary, and the fallback, from the beginning, if its server fails. Only for an
// assignment that is ByModel.
func (m Material) Write(ctx context.Context) (summarize.Summary, error) {
	w := newWriter(m)
	s, err := w.write(ctx, w.Model)
	failed := llm.KindOf(err) != "" || errors.Is(err, context.DeadlineExceeded)
	if w.Fallback == nil || !failed || ctx.Err() != nil {
		if err == nil && w.byFallback.End() {
			w.Log.Info("worker_model_recovered", "model", w.Model.Name())
		}
		return s, err
	}
	why := err
	s, err = w.write(ctx, w.Fallback)
	if err != nil {
		return s, err // reported as a failed compaction
	}
	s.Model = w.Fallback.Name()
	w.Log.Log(ctx, w.byFallback.Begin(), "worker_model_failed",
		append([]any{"worker", w.Model.Name(), "instead", s.Model}, llm.LogAttrs(why)...)...)
	return s, nil
}

// write has a model write the summary of all that the assignment is about. If a part of it fails, all of it
// fails: no part is dropped silently.
func (w *writer) write(ctx context.Context, model llm.Model) (s summarize.Summary, err error) {
	w.use(ctx, model)
	w.dropped = nil
	all := w.part(w.Target, w.Limit)
	items, err := w.read(ctx, min(all.maxMaterial()/2, summarize.MaxMessage))
	if err != nil {
		return s, err
	}
	if len(items) == 0 {
		return summarize.Summary{Text: "Nothing was said in words."}, nil
	}
	all.items = items
	if w.repairsMessages() {
		all.target = Length(summarize.CostOfItems(items), w.Percent, w.Target)
	}
	all.limit = min(all.limit, max(2*all.target, 3*transcript.MinSummary))
	text, err := all.summarize(ctx, min(all.maxMaterial(), all.timely()))
	if err != nil {
		return s, err
	}
	c := all.checked(text)
	if c.Text == "" { // the texts of the parts passed, not their summary
		return s, judge.Contradicted{Lines: c.Wrong}
	}
	s = summarize.Summary{Text: c.Text, Lines: c.Lines, Beside: w.beside}
	s = withDropped(s, slices.Concat(w.dropped, c.Wrong))
	if w.Memories > 0 && w.record.Kept() == 0 && w.Row.Kind != transcript.Rollup {
		// The server takes no tools, or the model saved nothing: many small models only
		// summarize. Memories are extracted without it.
		messages, err := w.record.Messages(ctx, w.Row.Span)
		if err != nil {
			return summarize.Summary{}, err
		}
		s.Memories = summarize.Memories(WithoutSecrets(messages), w.memoriesOf(messages))
	}
	return s, nil
}

// part returns all of the assignment as one part, without its items.
func (w *writer) part(target, limit int) *part {
	return &part{w: w, around: w.Around, target: target, limit: limit, memories: w.Memories}
}
