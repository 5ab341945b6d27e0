// How tests deliver messages, run commands and wait, and what they check again and again.

package channel_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/prices"
	"cairn/store"
	"cairn/testkit/channeltest"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

var (
	ada  = access.Person{ID: "u1", Name: "Ada"}
	bo   = access.Person{ID: "u2", Name: "Bo"}
	boss = access.Person{ID: "u9", Name: "Boss", Manager: true}
)

// summary is the response of a worker that submits a summary.
func summary(text string) llm.Response {
	return llmtest.Use(llmtest.Call("s", "summarize", map[string]string{"summary": text}))
}

// summarizeRequest is a worker that submits the same summary each time.
var summarizeRequest = always(summary("They talked word by word."))

func numberedSummaries(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
	return summary(fmt.Sprintf("They talked word by word of message-%d.", n)), nil
}

func (r *rig) eventsIn(state compactor.EventState) (found []compactor.Event) {
	r.connector.note(func() {
		found = slices.DeleteFunc(slices.Clone(r.connector.events), func(e compactor.Event) bool { return e.State != state })
	})
	return found
}

func (r *rig) waitForEvent(state compactor.EventState) compactor.Event {
	r.t.Helper()
	check.Require(r.t, check.Soon(func() bool { return len(r.eventsIn(state)) > 0 }), "got no event that is %s", state)
	return r.eventsIn(state)[0]
}

// inbound returns Ada's next message.
func (r *rig) inbound(text string, addressed bool) channel.Inbound {
	r.n++
	return channel.Inbound{ID: fmt.Sprint("m", r.n), AuthorID: "u1", Author: "Ada", Text: text, Time: time.Now(), Addressed: addressed}
}

func (r *rig) say(text string, addressed bool) {
	r.t.Helper()
	r.deliverMessage(r.inbound(text, addressed))
}

func (r *rig) deliverMessage(m channel.Inbound) {
	r.t.Helper()
	check.Must(r.hub.Deliver(r.t.Context(), place, m))(r.t)
}

// post delivers a message and waits for what follows.
func (r *rig) post(m channel.Inbound) {
	r.t.Helper()
	r.deliverMessage(m)
	r.waitForReplies()
}

// overhear delivers a message that is not for the bot, and waits until it is stored.
func (r *rig) overhear(text string) { r.t.Helper(); r.post(r.inbound(text, false)) }

// sayAs delivers an unaddressed message of a person to a place, and waits for what follows.
func (r *rig) sayAs(id, name, where, text string) {
	r.t.Helper()
	r.tell(where, text, func(m *channel.Inbound) {
		m.AuthorID = id
		m.Author = name
	})
}

// deliverTo sends a message, changed by edit, to a place.
func (r *rig) deliverTo(where, text string, edit func(*channel.Inbound)) error {
	r.t.Helper()
	m := r.inbound(text, false)
	edit(&m)
	return check.ErrorOf(r.hub.Deliver(r.t.Context(), where, m))
}

// tell sends a message to a place, as deliverTo does, and waits for what follows.
func (r *rig) tell(where, text string, edit func(*channel.Inbound)) {
	r.t.Helper()
	check.NoError(r.t, r.deliverTo(where, text, edit))
	r.waitIdle(where)
}

func addressed(m *channel.Inbound) { m.Addressed = true }

func (r *rig) waitIdle(where string) {
	r.t.Helper()
	err := r.idle(where, channeltest.Patience)
	check.Require(r.t, err == nil, "%s does not settle: %v", where, err)
}

func (r *rig) idle(where string, within time.Duration) error {
	ctx, cancel := context.WithTimeout(r.t.Context(), within)
	defer cancel()
	return r.hub.Idle(ctx, where)
}

// ask asks the bot, and returns its last reply that is no notice.
func (r *rig) ask(text string) string {
	r.t.Helper()
	r.post(r.inbound(text, true))
	answers := slices.DeleteFunc(r.connector.texts(), func(sent string) bool { return strings.HasPrefix(sent, "(") })
	return append([]string{text}, answers...)[len(answers)]
}

// sendNotes sends n messages that no one answers, with 30 words each time.
func (r *rig) sendNotes(n int) {
	r.t.Helper()
	for i := range n {
		r.say(fmt.Sprintf("note %d %s", i, strings.Repeat("word ", 30)), false)
	}
	r.waitForReplies()
}

func (r *rig) askTurns(n, words int) {
	r.t.Helper()
	for i := range n {
		r.ask(fmt.Sprintf("message-%d %s", i, strings.Repeat("word ", words)))
	}
}

func (r *rig) suggest(command, typed string) []command.Choice {
	r.t.Helper()
	return check.Must(r.hub.Suggest(r.t.Context(), place, access.Person{ID: "u1", Manager: true}, command, typed))(r.t)
}

func (r *rig) runAs(who access.Person, where, line string) command.Answer {
	r.t.Helper()
	answer, handled, err := r.hub.Run(r.t.Context(), where, who, line)
	check.Require(r.t, err == nil && handled, "%s: handled %v, %v", line, handled, err)
	return answer
}

// runAsManager runs a command for Ada, who manages the place.
func (r *rig) runAsManager(line string) command.Answer {
	r.t.Helper()
	return r.runAs(access.Person{ID: "u1", Name: "Ada", Manager: true}, place, line)
}

func (r *rig) run(line string) string { r.t.Helper(); return r.runAsManager(line).String() }

// finished waits until the work that a command started has ended, and returns its last answer.
func (r *rig) finished(answer command.Answer) string {
	r.t.Helper()
	if answer.Then != nil {
		return answer.Then(r.t.Context()).Text
	}
	return answer.String()
}

// says checks and returns the last answer to a person's command in a place.
func (r *rig) says(who access.Person, where, line string, want ...string) string {
	r.t.Helper()
	answer := r.finished(r.runAs(who, where, line))
	check.Contains(r.t, fmt.Sprintf("%s of %s in %s", line, who.ID, where), answer, want...)
	return answer
}

// wantAnswer checks and returns the first answer to a manager's command.
func (r *rig) wantAnswer(line string, want ...string) string {
	r.t.Helper()
	answer := r.run(line)
	check.Contains(r.t, line, answer, want...)
	return answer
}

func (r *rig) lastText() string { texts := r.connector.texts(); return texts[len(texts)-1] }

func (r *rig) compact() {
	r.t.Helper()
	r.finished(r.runAsManager("/compact"))
	r.waitForEvent(compactor.EventApplied)
}

// promptText returns what the model gets next.
func (r *rig) promptText() string {
	r.t.Helper()
	r.ask("and now?")
	return r.lastRequestText()
}

func after(pause time.Duration, f script) script { return while(func(int) { time.Sleep(pause) }, f) }

// while returns a model that runs f first, with the number of the request.
func while(f func(n int), then script) script {
	return func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		f(n)
		return then(ctx, n, req)
	}
}

// repeatLast is a model that repeats the last message, such as the result of a tool.
func repeatLast(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
	return llmtest.Say("I see: " + lastText(req)), nil
}

func (r *rig) lastRequestText() string {
	r.t.Helper()
	all := r.model.Requests()
	check.Require(r.t, len(all) != 0, "the model was not asked")
	return textOf(all[len(all)-1])
}

func textOf(req llm.Request) string {
	var b strings.Builder
	for _, m := range req.Messages {
		fmt.Fprintf(&b, "%s: %s\n", m.Role, m.Text)
	}
	return b.String()
}

// withBilledTokens returns a model's answer with a server's token counts.
func withBilledTokens(resp llm.Response, used llm.Usage) llm.Response {
	resp.Usage = used
	return resp
}

// cutOff is a model without an answer that is billed for this many input tokens.
func cutOff(tokens int) script {
	return returning(withBilledTokens(llm.Response{}, llm.Usage{Prompt: tokens, Completion: 1}), &llm.Error{Kind: llm.KindTruncated, Message: "cut"})
}

// priced charges 1 per input token: 1,000,000 per million.
var priced = prices.List{"scripted": {Rates: prices.Rates{Input: 1e6, Cached: 1e5, Write: 2e6, Output: 0}}, "worker": {Rates: prices.Rates{Input: 1e6, Cached: 1e5, Write: 2e6}}}

// usageRows returns the stored rows as "day kind model requests input cached written output".
func (r *rig) usageRows() []string {
	r.t.Helper()
	return storetest.Map(check.Must(r.store.Usage(r.t.Context(), ""))(r.t), func(u store.Usage) string {
		return strings.TrimSpace(fmt.Sprintln(u.Day, u.Kind, u.Model, u.Requests, u.Input, u.Cached, u.Written, u.Output))
	})
}

// wantUsage fails unless there is one row, of today, with these numbers.
func (r *rig) wantUsage(when, want string) {
	r.t.Helper()
	check.EqualAll(r.t, when+": rows", r.usageRows(), []string{store.Day(time.Now()) + " " + want})
}

// restartCounting restarts the bot as the program does: with the earlier usage.
func (r *rig) restartCounting() {
	r.t.Helper()
	r.opts.Used = check.Must(r.store.Usage(r.t.Context(), access.MonthStart(time.Now())))(r.t)
	r.restart()
}
