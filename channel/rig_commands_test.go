// Checks that tests use again and again.

package channel_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cairn/channel"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// summary is the response of a worker that submits a summary.
func summary(text string) llm.Response {
	return llmtest.Use(llmtest.Call("s", "summarize", map[string]string{"summary": text}))
}

// summarizeRequest is a worker that submits the same summary each time.
func summarizeRequest(context.Context, int, llm.Request) (llm.Response, error) {
	return summary("They talked word by word."), nil
}

// numberedSummaries is a worker that numbers its summaries.
func numberedSummaries(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
	return summary(fmt.Sprintf("They talked word by word, says summary %d.", n)), nil
}

// eventsIn returns the events of one state so far. It is called under the lock.
func (d *connector) eventsIn(state compactor.EventState) (found []compactor.Event) {
	for _, e := range d.events {
		if e.State == state {
			found = append(found, e)
		}
	}
	return found
}

// eventsIn returns the events of one state so far.
func (r *rig) eventsIn(state compactor.EventState) (found []compactor.Event) {
	r.connector.mu.Lock()
	defer r.connector.mu.Unlock()
	return r.connector.eventsIn(state)
}

// waitForEvent waits for the first event of a state, and returns it.
func (r *rig) waitForEvent(state compactor.EventState) (first compactor.Event) {
	r.t.Helper()
	r.connector.until(r.t, "an event that is "+string(state), func() bool {
		found := r.connector.eventsIn(state)
		if len(found) > 0 {
			first = found[0]
		}
		return len(found) > 0
	})
	return first
}

// sayTurns sends n messages that no one answers, of this many words each.
func (r *rig) sayTurns(n, words int) {
	r.t.Helper()
	for i := range n {
		r.say(fmt.Sprintf("turn %d %s", i, strings.Repeat("the quick brown fox ", words/4)), false)
	}
	r.waitForReplies()
}

// suggest returns the suggestions that a manager gets.
func (r *rig) suggest(command, typed string) []channel.Choice {
	r.t.Helper()
	return check.Must(r.hub.Suggest(r.t.Context(), place, channel.Person{ID: "u1", Manager: true}, command, typed))(r.t)
}

// runAs runs a command for a person.
func (r *rig) runAs(who channel.Person, where, line string) channel.Answer {
	r.t.Helper()
	answer, handled, err := r.hub.Run(r.t.Context(), where, who, line)
	check.Require(r.t, err == nil && handled, "%s: handled %v, %v", line, handled, err)
	return answer
}

// runAsManager runs a command for Ada, who manages the place.
func (r *rig) runAsManager(line string) channel.Answer {
	r.t.Helper()
	return r.runAs(channel.Person{ID: "u1", Name: "Ada", Manager: true}, place, line)
}

func (r *rig) run(line string) string {
	r.t.Helper()
	return r.runAsManager(line).String()
}

// finished waits until the work that a command started has ended, and returns its last answer.
func (r *rig) finished(answer channel.Answer) string {
	r.t.Helper()
	if answer.Then != nil {
		return answer.Then(r.t.Context())
	}
	return answer.String()
}

func (r *rig) ask(text string) string {
	r.t.Helper()
	r.say(text, true)
	r.waitForReplies()
	for _, sent := range r.connector.texts() {
		if !strings.HasPrefix(sent, "(") { // a notice
			text = sent
		}
	}
	return text
}

// How tests deliver messages.

func (r *rig) inbound(text string, addressed bool) channel.Inbound {
	r.n++
	return channel.Inbound{ID: fmt.Sprint("m", r.n), AuthorID: "u1", Author: "Ada", Text: text, Time: time.Now(), Addressed: addressed}
}

func (r *rig) say(text string, addressed bool) {
	r.t.Helper()
	r.deliverMessage(r.inbound(text, addressed))
}

// deliverMessage delivers a message.
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
func (r *rig) overhear(text string) {
	r.t.Helper()
	r.say(text, false)
	r.waitForReplies()
}
