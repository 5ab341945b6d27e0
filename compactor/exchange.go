package compactor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"cairn/compactor/summarize"
	"cairn/llm"
)

// The exchange with tools in which a worker's model saves memories and hands in the summary.

// withTools lets the model save memories and finish with `summarize`. Plain text gets one reminder;
// a second text is accepted if it passes the checks. If the last answer had a memory that could not
// be saved, the model gets one more call.
func (w worker) withTools(ctx context.Context, items []summarize.Item) (string, error) {
	t := w.talkAbout(items)
	loop := llm.Loop{Model: w.model, MaxCalls: w.left(), Show: w.show, Count: w.count, Request: t.request, Record: t.record, Retry: t.retry}
	resp, err := loop.Run(ctx)
	for err == nil && t.summary == "" {
		if t.why.Declines() || t.repeats {
			return "", t.why
		}
		if t.reminded || w.left() <= 0 {
			return w.check(resp, items)
		}
		loop.MaxCalls = min(2, w.left())
		t.remind(strings.TrimSpace(resp.Message.Text))
		resp, err = loop.Run(ctx)
	}
	switch {
	case errors.Is(err, llm.ErrTooManyCalls):
		return "", cmp.Or(t.why, summarize.RefusedCalls)
	case err == nil && summarize.Broken(resp.FinishReason) != "": // the call is complete only by chance
		return "", summarize.Broken(resp.FinishReason)
	}
	if llm.RefusesTools(err) {
		learntOf(w.model).NoTools()
	}
	if err == nil && t.unsaved && w.record.Kept() < w.memories && w.left() > 0 && t.fits() {
		// The tool results say what was wrong. A failure here does not lose the summary.
		loop.MaxCalls = 1
		_, _ = loop.Run(ctx)
	}
	return t.summary, err
}

// talk is an exchange with tools between a worker and its model about one chunk. Its requests only
// grow, with the same tools: some models refuse their own reasoning if anything before it has
// changed (https://platform.claude.com/docs/build-with-claude/preserved-thinking).
type talk struct {
	w        worker
	material []llm.Message
	rounds   [][]llm.Message // the messages after it, by round
	tools    []llm.Tool      // summarize last
	reminded bool            // the model was asked in words for the summary, and nothing else
	forced   bool            // the last request forces the tool
	unforced bool            // a forced tool was refused
	anew     bool            // it began anew
	unsaved  bool            // a memory of the last answer could not be saved

	summary string            // what the model has handed in
	why     summarize.Refusal // why its last summary was refused
	refused string            // that summary
	repeats bool              // the model handed it in again as it was
}

// talkAbout begins an exchange. memory_save is offered if there is a call to use it in, a memory may still be saved, and none was
// saved from these messages: a model would save them again in other words.
func (w worker) talkAbout(items []summarize.Item) *talk {
	t := &talk{w: w, material: w.messages(items, w.prompt)}
	most := w.memories - w.record.Kept()
	if w.j.policy.ExtractMemories && most > 0 && w.left() > 1 && items[len(items)-1].To > *w.savedTo {
		t.tools = w.record.Tools(most)
		if w.j.row.Kind != Rollup { // the memories of a fold are saved already
			t.material[len(t.material)-1].Text += t.askSave()
		}
	}
	submit := handIn
	submit.Run = func(_ context.Context, arguments json.RawMessage) (llm.Result, error) {
		text, err := t.submit(items, arguments)
		return llm.Result{Text: text}, err
	}
	t.tools = append(slices.Clip(t.tools), submit)
	return t
}

// request makes the next request. It forces the summary where the model has no other call left, or
// was asked for it in words.
func (t *talk) request(context.Context, int) (llm.Request, error) {
	if len(t.rounds) > 0 && !t.fits() {
		t.restart()
	}
	t.forced = t.summary == "" && (t.reminded || t.w.left() <= 1) && !t.unforced
	req := t.w.request(t.messages(), t.tools)
	if t.forced {
		req.ForceTool = handIn.Name
	}
	return req, nil
}

// fits reports whether the window has room for an answer to the next request.
func (t *talk) fits() bool { return t.w.room(t.messages(), t.tools) >= t.w.minAnswer() }

// restart begins the exchange anew and asks only for the summary. The memories that were saved are kept.
func (t *talk) restart() {
	t.rounds = nil
	t.unsaved = false
	t.reminded = true
	t.anew = true
	t.tools = t.tools[len(t.tools)-1:]
	t.material = slices.Clone(t.material)
	last := &t.material[len(t.material)-1]
	last.Text = strings.TrimSuffix(last.Text, t.askSave()) + "\n\n" + t.w.texts.Reminder
}

// askSave returns the last line of the question where memories may be saved.
func (t *talk) askSave() string { return "\n" + t.w.texts.AskSave }

// retry reports whether a request that the server refused may succeed in another form: without the
// forced tool, or in a new exchange. The refused one counts as no call.
func (t *talk) retry(_ context.Context, err error) bool {
	if llm.KindOf(err) != llm.KindBadRequest {
		return false
	}
	switch {
	case t.forced:
		t.unforced = true
	case len(t.rounds) > 0 && t.summary == "" && !t.anew:
		t.w.models.log.Info("worker_exchange_refused", "model", t.w.model.Name(), "error", err)
		t.restart()
	default:
		return false
	}
	t.w.refund()
	return true
}

// record keeps a round. Before the last call it asks in words for the summary: behind the results,
// where it changes nothing that was sent before.
func (t *talk) record(calls llm.Message, results []llm.Message) {
	t.unsaved = slices.ContainsFunc(results, func(m llm.Message) bool { return m.Tool == "memory_save" && strings.HasPrefix(m.Text, "Error: ") })
	if t.summary == "" && t.w.left() <= 1 && len(results) > 0 {
		results[len(results)-1].Text += "\n\n" + t.w.texts.Reminder
	}
	t.rounds = append(t.rounds, append([]llm.Message{calls}, results...))
}

// remind asks for the tool after the model answered with said, which may be empty.
func (t *talk) remind(said string) {
	t.reminded = true
	round := []llm.Message{{Role: llm.RoleAssistant, Text: said}, {Role: llm.RoleUser, Text: t.w.texts.Reminder}}
	if said == "" {
		round = round[1:]
	}
	t.rounds = append(t.rounds, round)
}

func (t *talk) messages() []llm.Message {
	return slices.Concat(append([][]llm.Message{t.material}, t.rounds...)...)
}

// submit receives a summary of items. A refused one is sent back with the reason; one that is merely
// longer than it should be is shortened later.
func (t *talk) submit(items []summarize.Item, arguments json.RawMessage) (string, error) {
	if t.summary != "" { // it was asked for memories alone
		return "stored already", nil
	}
	text := t.w.judge.TextOf(string(arguments))
	t.why = t.w.refuses(text, items, cmp.Or(t.why, t.w.refusal))
	t.repeats = text != "" && text == t.refused
	t.refused = text
	switch {
	case t.why.Declines(), t.why != "" && t.repeats: // it would do so again, so the exchange ends
		return "", nil
	case t.why != "":
		return "", errors.New(t.w.judge.Advice(t.why))
	}
	text, err := t.w.withoutContradictions(text, items)
	var wrong summarize.Contradicted
	if errors.As(err, &wrong) {
		t.why = summarize.Refusal(wrong.Error())
		return "", errors.New(wrong.Reasons() + "; correct or leave out these, and hand in the whole summary again")
	}
	t.summary = text
	return "stored", err
}
