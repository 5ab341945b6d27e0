package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"cairn/compactor/judge"
	"cairn/llm"
	"cairn/transcript"
)

// withTools lets the model save memories and finish with `summarize`. Plain text gets one reminder;
// a second text is accepted if it passes the checks. If the last answer had a memory that could not
// be saved, the model gets one more call.
func (a *attempt) withTools(ctx context.Context) (string, error) {
	x := a.newExchange()
	loop := llm.Loop{
		Model: a.w.model, MaxCalls: a.calls.left(), Show: a.calls.show, Count: a.calls.count,
		Request: x.request, Record: x.record, Retry: x.retry,
	}
	resp, err := loop.Run(ctx)
	for err == nil && x.summary == "" {
		if x.why.Declines() || x.repeats {
			return "", x.why
		}
		if x.reminded || a.calls.left() <= 0 {
			return a.accept(resp)
		}
		loop.MaxCalls = min(2, a.calls.left())
		x.remind(strings.TrimSpace(resp.Message.Text))
		resp, err = loop.Run(ctx)
	}
	switch {
	case errors.Is(err, llm.ErrTooManyCalls):
		return "", cmp.Or(x.why, judge.RefusedCalls)
	case err == nil && judge.Broken(resp.FinishReason) != "": // the call is complete only by chance
		return "", judge.Broken(resp.FinishReason)
	}
	if llm.RefusesTools(err) {
		llm.LearnedOf(a.w.model, nil).NoTools()
	}
	if err == nil && x.unsaved && a.w.record.Kept() < a.memories && a.calls.left() > 0 && x.fits() {
		// The tool results say what was wrong. A failure does not lose the summary.
		loop.MaxCalls = 1
		_, _ = loop.Run(ctx)
	}
	return x.summary, err
}

// exchange is an attempt with tools, in which the model saves memories and hands in the summary. Its requests only
// grow, with the same tools: some models refuse their own reasoning if anything before it has
// changed (https://platform.claude.com/docs/build-with-claude/preserved-thinking).
type exchange struct {
	*attempt
	material []llm.Message
	rounds   [][]llm.Message // the messages after it, by round
	tools    []llm.Tool      // summarize last
	reminded bool            // words requested the summary, and nothing else
	forced   bool            // the last request forces the tool
	unforced bool            // a forced tool was refused
	anew     bool            // it began anew
	unsaved  bool            // a memory of the last answer could not be saved

	summary string        // what the model has handed in
	why     judge.Refusal // why its last summary was refused
	latest  string        // that summary
	repeats bool          // the model handed it in again as it was
}

// newExchange begins an exchange. memory_save is offered if there is a call to use it in, a memory may still be saved, and none was
// saved from these messages: a model would save them again in other words.
func (a *attempt) newExchange() *exchange {
	x := &exchange{attempt: a, material: a.messages(a.w.system)}
	left := a.memories - a.w.record.Kept()
	if left > 0 && a.calls.left() > 1 && a.items[len(a.items)-1].To > a.w.savedTo {
		x.tools = a.w.record.Tools(left)
		if a.w.Row.Kind != transcript.Rollup { // the memories of a fold are saved already
			x.material[len(x.material)-1].Text += x.askSave()
		}
	}
	submit := handIn
	submit.Run = func(_ context.Context, arguments json.RawMessage) (llm.Result, error) {
		text, err := x.submit(arguments)
		return llm.Result{Text: text}, err
	}
	x.tools = append(slices.Clip(x.tools), submit)
	return x
}

// request makes the next request. It forces the summary where the model has no other call left, or
// words requested it.
func (x *exchange) request(context.Context, int) (llm.Request, error) {
	if len(x.rounds) > 0 && !x.fits() {
		x.restart()
	}
	x.forced = x.summary == "" && (x.reminded || x.calls.left() <= 1) && !x.unforced
	req := x.attempt.request(x.messages(), x.tools)
	if x.forced {
		req.ForceTool = handIn.Name
	}
	return req, nil
}

// fits reports whether the window has room for an answer to the next request.
func (x *exchange) fits() bool { return x.w.room(x.messages(), x.tools) >= x.minAnswer() }

// restart begins the exchange anew and asks only for the summary. The memories that were saved are kept.
func (x *exchange) restart() {
	x.rounds = nil
	x.unsaved = false
	x.reminded = true
	x.anew = true
	x.tools = x.tools[len(x.tools)-1:]
	x.material = slices.Clone(x.material)
	last := &x.material[len(x.material)-1]
	last.Text = strings.TrimSuffix(last.Text, x.askSave()) + "\n\n" + x.w.Texts.Reminder
}

// askSave returns the last line of the question where memories may be saved.
func (x *exchange) askSave() string { return "\n" + x.w.Texts.AskSave }

// retry reports whether a request that the server refused may succeed in another form: without the
// forced tool, or in a new exchange. The refused one counts as no call.
func (x *exchange) retry(_ context.Context, err error) bool {
	if llm.KindOf(err) != llm.KindBadRequest {
		return false
	}
	switch {
	case x.forced:
		x.unforced = true
	case len(x.rounds) > 0 && x.summary == "" && !x.anew:
		x.w.Log.Info("worker_exchange_refused", "model", x.w.model.Name(), "error", err)
		x.restart()
	default:
		return false
	}
	x.calls.refund()
	return true
}

// record keeps a round. Before the last call it asks in words for the summary: behind the results,
// where it changes nothing that was sent before.
func (x *exchange) record(calls llm.Message, results []llm.Message) {
	x.unsaved = slices.ContainsFunc(results, func(m llm.Message) bool { return m.Tool == "memory_save" && strings.HasPrefix(m.Text, "Error: ") })
	if x.summary == "" && x.calls.left() <= 1 && len(results) > 0 {
		results[len(results)-1].Text += "\n\n" + x.w.Texts.Reminder
	}
	x.rounds = append(x.rounds, append([]llm.Message{calls}, results...))
}

// remind asks for the tool after the model answered with a text, which may be empty.
func (x *exchange) remind(text string) {
	x.reminded = true
	round := []llm.Message{{Role: llm.RoleAssistant, Text: text}, {Role: llm.RoleUser, Text: x.w.Texts.Reminder}}
	if text == "" {
		round = round[1:]
	}
	x.rounds = append(x.rounds, round)
}

func (x *exchange) messages() []llm.Message {
	return slices.Concat(append([][]llm.Message{x.material}, x.rounds...)...)
}

// submit receives a summary. A refused one is sent back with the reason; one that is merely
// longer than it should be is shortened later.
func (x *exchange) submit(arguments json.RawMessage) (string, error) {
	if x.summary != "" { // the request was for memories alone
		return "stored already", nil
	}
	text := x.review.judge.TextOf(string(arguments))
	x.why = x.refuses(text, cmp.Or(x.why, x.attempt.refused))
	x.repeats = text != "" && text == x.latest
	x.latest = text
	switch {
	case x.why.Declines(), x.why != "" && x.repeats: // it would do so again, so the exchange ends
		return "", nil
	case x.why != "":
		return "", errors.New(x.review.judge.Advice(x.why))
	}
	text, err := x.withoutContradictions(text)
	var wrong judge.Contradicted
	if errors.As(err, &wrong) {
		x.why = judge.Refusal(wrong.Error())
		return "", errors.New(wrong.Reasons() + "; correct or leave out these, and hand in the whole summary again")
	}
	x.summary = text
	return "stored", err
}
