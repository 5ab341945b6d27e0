package compactor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"cairn/compactor/judge"
	"cairn/compactor/summarize"
	"cairn/internal/secrets"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/prompts"
	"cairn/transcript"
)

// worker makes one summary with a model.
type worker struct {
	models   models
	j        *job
	record   Job
	model    llm.Model
	window   int // of the model, in tokens
	texts    prompts.Texts
	prompt   string       // its system prompt
	agent    string       // the chat model's system prompt, for reference
	around   around       // what surrounds the span, for reference
	target   int          // tokens the summary should have
	limit    int          // tokens it may have
	memories int          // most memories that there may be after its part of the span
	savedTo  *int64       // the last message of what memories were saved from: those before it are not offered again
	judge    *judge.Judge // of this chunk's summaries
	refusal  judge.Refusal
	wrong    string                    // which of its lines were contradicted, for the model; "": it was refused for another reason
	lines    *lineCheck                // of this chunk's summaries
	dropped  *[]transcript.DroppedLine // lines left out of the summaries of all chunks
	most     int                       // most tokens of an accepted summary of this chunk
	calls    *callCount                // calls of the model for this chunk
	alive    func()                    // called when the model sends something
}

// newWorker returns a worker for the job. The agent's own prompt is read here, once.
func (m models) newWorker(j *job, record Job, around around, target, limit int) worker {
	w := worker{
		models: m, j: j, record: record, target: target, limit: limit, memories: j.policy.MaxMemories, savedTo: new(int64),
		texts: m.texts, agent: secrets.Mask(m.system), around: around, prompt: m.texts.Worker,
	}
	if m.prompt != nil {
		if own := m.prompt(); strings.TrimSpace(own) != "" {
			w.prompt = own
		}
	}
	if j.row.Kind == Rollup {
		w.prompt += "\n" + w.texts.Fold
	}
	return w
}

// withModel returns the worker set up for a model, and the most tokens of material in a request. The
// model's window determines how long its instructions are and how much reference material it gets.
func (w worker) withModel(ctx context.Context, model llm.Model) (_ worker, most int) {
	w.model, w.window = model, model.Window(ctx).Tokens
	window := int(float64(w.window) / learnedOf(model).Factor()) // in estimated tokens
	if window <= smallWindow {
		w.prompt = strings.Replace(w.prompt, w.texts.Worker, w.texts.WorkerBrief, 1)
	}
	w.agent = summarize.Content(w.agent, min(maxAgentTokens, window/agentShare))
	w.around.most = min(maxAroundTokens, window/aroundShare)
	return w, max(window*6/10-w.frame(), minChunk)
}

const (
	maxAgentTokens = 1_000 // tokens of the agent's system prompt that the worker sees
	agentShare     = 16    // and 1/16 of its window

	// smallWindow is the largest window, in tokens, for which the worker gets the short instructions.
	smallWindow = 8192

	// minChunk is the smallest size of a chunk, in tokens: less could not be summarized.
	minChunk = 300
)

// requestCost is the cost of the tools' schemas and of the question, in tokens.
const requestCost = 4*tokens.PerMessage + 250

// frame returns the tokens of a request without its material, answer included.
func (w worker) frame() int {
	beside := min(tokens.Estimate(w.around.before.Text), w.around.most) + tokens.Estimate(w.around.corrections())
	if len(w.around.later) > 0 {
		beside += w.around.most
	}
	return tokens.Estimate(w.prompt) + tokens.Estimate(w.agent) + beside + min(w.target, maxTarget) + requestCost
}

// run summarizes the items in chunks of at most most tokens. If a chunk fails, the whole fails: no
// part is dropped silently.
func (w worker) run(ctx context.Context, items []summarize.Item, most int) (summarize.Summary, error) {
	if len(items) == 0 {
		return summarize.Summary{Text: "Nothing was said in words."}, nil
	}
	w.dropped = new([]transcript.DroppedLine)
	text, err := w.summarizeItems(ctx, items, most)
	if err != nil {
		return summarize.Summary{}, err
	}
	c := w.checked(text, items)
	if c.Text == "" { // the parts passed, not what was made of them
		return summarize.Summary{}, judge.Contradicted{Lines: c.Wrong}
	}
	s := summarize.Summary{Text: c.Text, Lines: c.Lines, Beside: *w.around.read}
	s = withDropped(s, slices.Concat(*w.dropped, c.Wrong))
	if w.record.Kept() == 0 && w.j.policy.ExtractMemories && w.j.row.Kind != Rollup {
		// The server takes no tools, or the model saved nothing: many small models only
		// summarize. Memories are extracted without it.
		messages, err := w.record.Messages(ctx, w.j.row.Span)
		if err != nil {
			return summarize.Summary{}, err
		}
		s.Memories = summarize.Memories(withoutSecrets(messages), memoriesOf(w.j, messages))
	}
	return s, nil
}

// summarizeItems summarizes items in requests of at most most tokens of material. Each chunk gets
// its share of the target, limited by what one answer can contain; if the parts together are too
// long, they are summarized once more.
func (w worker) summarizeItems(ctx context.Context, items []summarize.Item, most int) (text string, err error) {
	all := summarize.CostOfItems(items)
	answers := (w.target + maxTarget - 1) / maxTarget
	parts := summarize.Chunks(items, evenly(items, min(most, max(all/answers*9/8, minChunk))))
	var texts []string
	made := "" // the text of the previous part
	kept := w.record.Kept()
	read := 0
	for i, part := range parts {
		share := w
		read += summarize.CostOfItems(part)
		share.around = w.around.of(made, parts[i+1:])
		if len(parts) > 1 || answers > 1 {
			share.target = min(max(min(max(w.target*summarize.CostOfItems(part)/all, 3*transcript.MinSummary), summarize.CostOfItems(part)*4/10), transcript.MinSummary), maxTarget)
			share.limit = min(2*share.target, w.limit)
			share.memories = kept + ((w.memories-kept)*read+all-1)/all
		}
		t, err := share.chunk(ctx, part)
		if llm.KindOf(err) == llm.KindOverflow && len(part) > 1 && most > minChunk {
			t, err = share.summarizeItems(ctx, part, max(summarize.CostOfItems(part)/2, minChunk))
		}
		if err != nil {
			return "", err
		}
		made = t
		texts = append(texts, t)
	}
	text = summarize.JoinParts(texts)
	if len(parts) == 1 || tokens.Estimate(text) <= w.limit {
		return text, nil
	}
	var joined []summarize.Item
	for i, t := range texts {
		row := Summary{Span: Span{From: parts[i][0].From, To: parts[i][len(parts[i])-1].To}, Text: t}
		joined = append(joined, summarize.ItemsOfRow(row, most/2)...)
	}
	if summarize.CostOfItems(joined) >= summarize.CostOfItems(items) { // no progress: use what is there
		return summarize.ShortenSummary(text, w.limit), nil
	}
	return w.summarizeItems(ctx, joined, most)
}

// evenly returns a chunk size of at most most tokens with which all chunks are about equal: a small
// rest would be hard to summarize in fewer words.
func evenly(items []summarize.Item, most int) int {
	total := summarize.CostOfItems(items)
	n := (total + most - 1) / most
	return min(most, total/max(n, 1)+most/8)
}

// chunk summarizes items with at most max_turns calls of the model, as long as the model sends
// something from time to time, and measures its speed.
func (w worker) chunk(ctx context.Context, items []summarize.Item) (text string, err error) {
	cost := w.frame() + summarize.CostOfItems(items)
	started := w.models.now()
	silence := time.Duration(w.j.policy.Timeout)
	ctx, alive, stop := llm.WatchWork(ctx, silence, max(longestPiece, silence))
	defer stop()
	w.alive = alive
	text, err = w.chunkWithRetry(ctx, items)
	took := w.models.now().Sub(started)
	switch {
	case err == nil:
		learnedOf(w.model).Speed.Measured(cost+tokens.Estimate(text), took)
	case context.Cause(ctx) == llm.ErrSilent, context.Cause(ctx) == llm.ErrLate:
		err = context.Cause(ctx)
		// The next piece is at most half as large, and smaller if even that would have been too much.
		learnedOf(w.model).Speed.AtMost(float64(cost) / max(2*aimedPiece, took).Seconds())
	}
	return text, err
}

// chunkWithRetry retries a refused text once, with the reason and more room for the answer. If there is no better one, a text
// that has only lost its contradicted lines is accepted.
func (w worker) chunkWithRetry(ctx context.Context, items []summarize.Item) (text string, err error) {
	w.calls = new(callCount)
	w.lines = new(lineCheck)
	w.judge = w.judgeOf(items)
	w.most = judge.MaxTokens(items)
	text, err = w.attempt(ctx, items)
	var contradicted judge.Contradicted
	var why judge.Refusal
	if errors.As(err, &contradicted) {
		w.wrong = contradicted.Reasons()
	}
	if errors.As(err, &why) && why.Again(w.calls.made) && w.left() > 0 && (w.wrong != "" || w.lines.rest == "") {
		w.models.log.Debug("summary_refused", "reason", err)
		w.refusal = why
		text, err = w.attempt(ctx, items)
	}
	if errors.As(err, &why) && w.lines.rest != "" {
		text = w.lines.rest
		err = nil
	}
	if err == nil {
		*w.dropped = append(*w.dropped, w.lines.dropped...)
	}
	return secrets.Mask(text), err
}

// How long the worker waits for its model, and how much material it sends at once.

const (
	// longestPiece is the time limit for one piece of a span, with all its requests; a longer timeout
	// in the policy wins.
	longestPiece = 15 * time.Minute

	// aimedPiece is the time that a piece should take at the measured speed.
	aimedPiece = 3 * time.Minute

	// minPiece is the smallest piece, in tokens, however slow the model is: the instructions are
	// about as long.
	minPiece = 1000
)

// piece returns how many tokens of material one request may contain at the model's speed.
func (w worker) piece() int {
	return max(throughput(w.model)-w.frame(), minPiece)
}
