package worker

import (
	"context"
	"errors"
	"math"
	"time"

	"cairn/compactor/judge"
	"cairn/compactor/summarize"
	"cairn/internal/secrets"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/transcript"
)

// part is a part of an assignment's material, with its share of the summary.
type part struct {
	w        *writer
	items    []summarize.Item
	around   Around // what surrounds it
	target   int    // tokens its summary should have
	limit    int    // tokens it may have
	memories int    // memories that there may be after it
}

// requestCost is the cost of the tools' schemas and of the question, in tokens.
const requestCost = 4*tokens.PerMessage + 250

// frame returns the tokens of a request without its material, answer included.
func (p *part) frame() int {
	beside := min(tokens.Estimate(p.around.before.Text), p.around.max) + tokens.Estimate(p.around.newestCorrections())
	if len(p.around.later) > 0 {
		beside += p.around.max
	}
	return tokens.Estimate(p.w.system) + tokens.Estimate(p.w.agent) + beside + min(p.target, maxTarget) + requestCost
}

// minChunk is the smallest size of a chunk, in tokens: less could not be summarized.
const minChunk = 300

// maxMaterial returns how many tokens of material the model's window has room for in one request.
func (p *part) maxMaterial() int { return max(p.w.window*6/10-p.frame(), minChunk) }

// timely returns how many tokens of material one request may contain at the model's speed.
func (p *part) timely() int { return max(throughput(p.w.model)-p.frame(), minPiece) }

// How long the worker waits for its model, and how much material it sends in one request.

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

// Piece returns how many tokens to summarize ahead in one piece into percent of them: one request's material, less
// instructions and answer.
func (w *Worker) Piece(percent int) int {
	system := tokens.PerMessage + tokens.Estimate(w.System)
	fits := throughput(w.Model) - tokens.Estimate(w.Texts.Worker) - min(system, maxAgentTokens) - requestCost
	return max(fits/(100+percent)*100, minPiece)
}

// throughput returns how many tokens a model processes in the time aimed at for a piece.
func throughput(model llm.Model) int {
	speed := llm.LearnedOf(model, nil).Speed.PerSecond()
	if speed <= 0 {
		return math.MaxInt
	}
	return int(min(speed*aimedPiece.Seconds(), math.MaxInt32))
}

// summarize summarizes the part in requests of up to material tokens. Each chunk gets its share of the target,
// limited by what one answer can contain. If the texts together are too long, they are summarized once more.
func (p *part) summarize(ctx context.Context, material int) (text string, err error) {
	all := summarize.CostOfItems(p.items)
	answers := (p.target + maxTarget - 1) / maxTarget
	chunks := summarize.Chunks(p.items, evenly(all, min(material, max(all/answers*9/8, minChunk))))
	kept := p.w.record.Kept()
	read := 0
	var texts []string
	for i, items := range chunks {
		chunk := *p
		chunk.items = items
		cost := summarize.CostOfItems(items)
		read += cost
		chunk.around = p.around.of(text, chunks[i+1:])
		if len(chunks) > 1 || answers > 1 {
			chunk.target = min(max(min(max(p.target*cost/all, 3*transcript.MinSummary), cost*4/10), transcript.MinSummary), maxTarget)
			chunk.limit = min(2*chunk.target, p.limit)
			chunk.memories = kept + ((p.memories-kept)*read+all-1)/all
		}
		text, err = chunk.ask(ctx)
		if llm.KindOf(err) == llm.KindOverflow && len(items) > 1 && material > minChunk {
			text, err = chunk.summarize(ctx, max(cost/2, minChunk))
		}
		if err != nil {
			return "", err
		}
		texts = append(texts, text)
	}
	text = summarize.JoinParts(texts)
	if len(chunks) == 1 || tokens.Estimate(text) <= p.limit {
		return text, nil
	}
	again := *p
	again.items = itemsOfTexts(texts, chunks, material/2)
	if summarize.CostOfItems(again.items) >= all { // no progress: use what is there
		return summarize.ShortenSummary(text, p.limit), nil
	}
	return again.summarize(ctx, material)
}

// itemsOfTexts returns the summaries of chunks as items of up to limit tokens.
func itemsOfTexts(texts []string, chunks [][]summarize.Item, limit int) (items []summarize.Item) {
	for i, text := range texts {
		last := chunks[i][len(chunks[i])-1]
		row := transcript.Summary{Span: transcript.Span{From: chunks[i][0].From, To: last.To}, Text: text}
		items = append(items, summarize.ItemsOfRow(row, limit)...)
	}
	return items
}

// evenly returns a chunk size, up to limit tokens, with which total tokens are cut into about equal chunks: a
// small rest would be hard to summarize in fewer words.
func evenly(total, limit int) int {
	n := (total + limit - 1) / limit
	return min(limit, total/max(n, 1)+limit/8)
}

// ask has the model summarize the part in MaxCalls calls or less, as long as the model sends something from
// time to time, and measures its speed.
func (p *part) ask(ctx context.Context) (text string, err error) {
	cost := p.frame() + summarize.CostOfItems(p.items)
	started := p.w.Now()
	ctx, alive, stop := llm.WatchWork(ctx, p.w.Timeout, max(longestPiece, p.w.Timeout))
	defer stop()
	text, err = p.askTwice(ctx, alive)
	took := p.w.Now().Sub(started)
	switch {
	case err == nil:
		llm.LearnedOf(p.w.model, nil).Speed.Measured(cost+tokens.Estimate(text), took)
	case context.Cause(ctx) == llm.ErrSilent, context.Cause(ctx) == llm.ErrLate:
		err = context.Cause(ctx)
		// The next piece is half as large, or smaller if even that would have been too much.
		llm.LearnedOf(p.w.model, nil).Speed.AtMost(float64(cost) / max(2*aimedPiece, took).Seconds())
	}
	return text, err
}

// askTwice retries a refused text once, with the reason and more room for the answer. If there is no better one, a text
// that has only lost its contradicted lines is accepted.
func (p *part) askTwice(ctx context.Context, alive func()) (text string, err error) {
	a := &attempt{part: p, calls: p.w.newCalls(alive), review: &review{judge: p.judge(), maxLength: judge.MaxTokens(p.items)}}
	text, err = a.run(ctx)
	var contradicted judge.Contradicted
	var why judge.Refusal
	wrong := ""
	if errors.As(err, &contradicted) {
		wrong = contradicted.Reasons()
	}
	if errors.As(err, &why) && why.Again(a.calls.used) && a.calls.left() > 0 && (wrong != "" || a.review.rest == "") {
		p.w.Log.Debug("summary_refused", "reason", err)
		a.refused = why
		a.wrong = wrong
		text, err = a.run(ctx)
	}
	if errors.As(err, &why) && a.review.rest != "" {
		text = a.review.rest
		err = nil
	}
	if err == nil {
		p.w.dropped = append(p.w.dropped, a.review.dropped...)
	}
	return secrets.Mask(text), err
}
