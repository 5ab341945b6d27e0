package compactor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"cairn/llm"
	"cairn/prompts"
)

// worker makes one summary with a model.
type worker struct {
	c      *Compactor
	j      *job
	record Job
	target int // tokens the summary shall have
	limit  int // tokens it may have
}

// refusal is a summary that must not land, with the reason for people.
type refusal string

func (r refusal) Error() string { return string(r) }

// The reasons for which a summary is refused.
const (
	refusedEmpty  refusal = "the model's summary was empty"
	refusedCutOff refusal = "the model's summary was cut off"
	refusedLarge  refusal = "the model's summary was hardly shorter than what it sums up"
	refusedTools  refusal = "the model wrote tool syntax instead of a summary"
	refusedCalls  refusal = "the model kept calling tools and wrote no summary"
)

// run sums up the items, in chunks of at most most tokens, which is what the
// worker's own window takes beside its answer. A chunk
// that fails fails the whole: no part is dropped silently.
func (w worker) run(ctx context.Context, items []item, most int) (Summary, error) {
	if len(items) == 0 {
		return Summary{Text: "Nothing was said in words."}, nil
	}
	text, plain, err := w.sumUp(ctx, items, most)
	if err != nil {
		return Summary{}, err
	}
	s := Summary{Text: fit(text, w.limit)}
	if plain && w.j.policy.ExtractMemories && w.j.row.Kind != Rollup {
		// The server takes no tools: memories come from the built-in summarizer.
		messages, err := readAll(ctx, w.record, w.j.row.From, w.j.row.To)
		if err != nil {
			return Summary{}, err
		}
		s.Memories = Extract(messages, minSummary, memoriesOf(w.j, messages), w.j.row.Focus).Memories
	}
	return s, nil
}

// minChunk is the least a chunk may hold, in tokens: less could not be summed up.
const minChunk = 300

func (w worker) frame() int {
	return Estimate(w.system()) + w.target + 4*perMessage + 200 // the tools' schemas
}

// sumUp sums up items in requests of at most most tokens of material. Each chunk
// is summed up to its share; if the parts together are too long, they are summed
// up once more.
func (w worker) sumUp(ctx context.Context, items []item, most int) (text string, plain bool, err error) {
	parts := chunks(items, evenly(items, most))
	var texts []string
	for _, part := range parts {
		share := w
		if len(parts) > 1 {
			share.target = max(min(max(w.target/len(parts), 3*minSummary), costOfItems(part)*4/10), minSummary)
			share.limit = 2 * share.target
		}
		t, p, err := share.chunk(ctx, part)
		if llm.KindOf(err) == llm.KindOverflow && len(part) > 1 && most > minChunk {
			t, p, err = w.sumUp(ctx, part, max(costOfItems(part)/2, minChunk))
		}
		if err != nil {
			return "", false, err
		}
		texts, plain = append(texts, t), plain || p
	}
	text = strings.Join(texts, "\n")
	if len(parts) == 1 || Estimate(text) <= w.limit {
		return text, plain, nil
	}
	joined := make([]item, len(texts))
	for i, t := range texts {
		from, to := parts[i][0].from, parts[i][len(parts[i])-1].to
		label := fmt.Sprintf("<summary from=\"%d\" to=\"%d\">%s</summary>", from, to, content(t, mostOfMessage))
		joined[i] = item{text: label, tokens: Estimate(label), turn: from, from: from, to: to}
	}
	if costOfItems(joined) >= costOfItems(items) { // no progress: what is there must do
		return fit(text, w.limit), plain, nil
	}
	text, p, err := w.sumUp(ctx, joined, most)
	return text, plain || p, err
}

// evenly is the size of chunks that are all about as large, at most most tokens: a
// small rest would be hard to sum up in fewer words.
func evenly(items []item, most int) int {
	total := costOfItems(items)
	n := (total + most - 1) / most
	return min(most, total/max(n, 1)+most/8)
}

func costOfItems(items []item) (tokens int) {
	for _, it := range items {
		tokens += it.tokens
	}
	return tokens
}

// chunk sums up items in one conversation with the model of at most max_turns calls.
func (w worker) chunk(ctx context.Context, items []item) (text string, plain bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(w.j.policy.Timeout))
	defer cancel()
	w.c.mu.Lock()
	noTools := w.c.noTools || w.c.workerLearnt().Facts().RefusesTools
	w.c.mu.Unlock()
	if !noTools {
		text, err = w.withTools(ctx, items)
		if !llm.RefusesTools(err) {
			return text, false, err
		}
		w.c.o.Log.Info("the worker's server takes no tools", "model", w.c.o.Worker.Name())
		w.c.mu.Lock()
		w.c.noTools = true
		w.c.mu.Unlock()
	}
	text, err = w.withoutTools(ctx, items)
	return text, true, err
}

// withTools lets the model save memories and end with `summarize`. Text alone gets
// one reminder; a second text is taken if it passes the checks.
func (w worker) withTools(ctx context.Context, items []item) (string, error) {
	var summary string
	tooLong := false
	summarize := w.summarizeTool(items, &summary, &tooLong)
	tools := []llm.Tool{summarize}
	if w.j.policy.ExtractMemories && w.j.policy.MaxMemories > 0 {
		tools = append(w.record.Tools(w.j.policy.MaxMemories), summarize)
	}
	messages := w.messages(items, w.system())
	reminded, forced := false, false
	loop := llm.Loop{
		Model: w.c.o.Worker, MaxCalls: w.j.policy.MaxTurns,
		Request: func(_ context.Context, left int) (llm.Request, error) {
			req := llm.Request{Messages: messages, Tools: tools, MaxTokens: w.answerTokens()}
			if forced = left == 1 || reminded; forced {
				req.Tools, req.ForceTool = []llm.Tool{summarize}, summarize.Name
			}
			return req, nil
		},
		Record: func(calls llm.Message, results []llm.Message) {
			messages = append(append(messages, calls), results...)
		},
	}
	resp, err := loop.Run(ctx)
	for err == nil && summary == "" {
		text, bad := w.check(resp, items)
		if reminded || loop.MaxCalls <= 1 {
			if bad != nil {
				return "", bad
			}
			return text, nil
		}
		reminded = true
		loop.MaxCalls = 2
		if said := strip(resp.Message.Text); said != "" {
			messages = append(messages, llm.Message{Role: llm.RoleAssistant, Text: said})
		}
		messages = append(messages, llm.Message{Role: llm.RoleUser, Text: prompts.Reminder})
		resp, err = loop.Run(ctx)
	}
	if errors.Is(err, llm.ErrTooManyCalls) {
		return "", refusedCalls
	}
	if llm.RefusesTools(err) && !forced { // some servers take tools and no order to call one
		w.c.workerLearnt().NoTools()
	}
	return summary, err
}

// withoutTools asks for the summary as plain text.
func (w worker) withoutTools(ctx context.Context, items []item) (string, error) {
	req := llm.Request{Messages: w.messages(items, w.system()+"\n\n"+prompts.Plain), MaxTokens: w.answerTokens()}
	resp, err := w.c.o.Worker.Generate(ctx, req, nil)
	if err != nil {
		return "", err
	}
	return w.check(resp, items)
}

// system is what the worker is told beside the material.
func (w worker) system() string {
	text := prompts.Worker
	if w.c.o.Prompt != nil {
		if own := w.c.o.Prompt(); own != "" {
			text = own
		}
	}
	if w.j.row.Kind == Rollup {
		text += "\n" + prompts.Fold
	}
	return text
}

func (w worker) messages(items []item, system string) []llm.Message {
	first, last := items[0], items[len(items)-1]
	ask := fmt.Sprintf("Sum up messages #%d to #%d in at most %d words (about %d tokens); a summary over %d tokens is refused.",
		first.from, last.to, w.target*3/4, w.target, w.limit)
	if w.j.row.Focus != "" {
		ask += " Keep above all, in detail: " + content(w.j.row.Focus, 200)
	}
	return []llm.Message{
		{Role: llm.RoleSystem, Text: system},
		{Role: llm.RoleUser, Text: transcript(items) + "\n\n" + ask},
	}
}

// answerTokens leaves room for reasoning and for arguments written as JSON: a
// summary that is cut off is worth nothing.
func (w worker) answerTokens() int { return 3*w.limit + 500 }

func (w worker) summarizeTool(items []item, summary *string, tooLong *bool) llm.Tool {
	return llm.Tool{
		Name:        "summarize",
		Description: "Hand in the summary. This ends the work.",
		Parameters:  json.RawMessage(`{"type":"object","properties":{"summary":{"type":"string","description":"the summary, dense prose that stands alone"}},"required":["summary"]}`),
		Ends:        true,
		Run: func(_ context.Context, arguments json.RawMessage) (string, error) {
			var args struct {
				Summary string `json:"summary"`
			}
			if err := json.Unmarshal(arguments, &args); err != nil {
				return "", errors.New(`give the summary as a string: {"summary": "…"}`)
			}
			text := strip(args.Summary)
			switch tokens := Estimate(text); {
			case text == "":
				return "", errors.New("the summary is empty; write it")
			case tokens*10 > costOfItems(items)*6 && tokens > minSummary,
				tokens > w.limit && !*tooLong:
				*tooLong = true
				return "", fmt.Errorf("the summary has about %d tokens; at most %d are kept: write it shorter", tokens, min(w.limit, costOfItems(items)*6/10))
			}
			*summary = text
			return "stored", nil
		},
	}
}

var (
	reasoning  = regexp.MustCompile(`(?is)<think(?:ing)?>.*?(?:</think(?:ing)?>|\z)|\[thinking\].*?(?:\[/thinking\]|\z)`)
	toolSyntax = regexp.MustCompile(`(?i)<tool_call|<function[=_]|<\|tool|"name"\s*:\s*"(?:summarize|memory_save)"|^\s*(?:summarize|memory_save)\s*\(`)
)

// strip leaves out what a model thought aloud.
func strip(text string) string { return strings.TrimSpace(reasoning.ReplaceAllString(text, "")) }

// check takes text as a summary, or refuses it.
func (w worker) check(resp llm.Response, items []item) (string, error) {
	text := strip(resp.Message.Text)
	switch tokens := Estimate(text); {
	case resp.FinishReason == llm.FinishLength:
		return "", refusedCutOff
	case text == "":
		return "", refusedEmpty
	case toolSyntax.MatchString(text):
		return "", refusedTools
	case tokens*10 > costOfItems(items)*6 && tokens > minSummary:
		return "", refusedLarge
	}
	return text, nil
}

// reasonOfModel is what a provider's failure means, in words for people.
func reasonOfModel(err error) string {
	switch llm.KindOf(err) {
	case llm.KindRateLimited, llm.KindOverloaded:
		return "the model is overloaded"
	case llm.KindUnreachable:
		return "the model cannot be reached"
	case llm.KindAuth:
		return "the model's server refused the key"
	case llm.KindOverflow:
		return "the span is too large for the worker's model"
	case llm.KindTruncated:
		return "the model's answer broke off"
	case llm.KindBadRequest:
		return "the model's server refused the request"
	}
	return ""
}
