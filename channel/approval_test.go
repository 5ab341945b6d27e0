package channel_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/internal/check"
	"cairn/internal/storetest"

	"cairn/channel"
	"cairn/channel/channeltest"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// withTools returns a rig whose agent has the tools of calc.
func withTools(t *testing.T, approve string) (*rig, *channeltest.Box) {
	b := &channeltest.Box{Approve: approve, About: "adds"}
	r := newRig(t, channeltest.Add)
	r.agent.Toolbox, r.agent.ToolServers = b, []string{"calc"}
	return r, b
}

// question waits for the n-th question and returns its buttons.
func (r *rig) question(n int) []channel.Button {
	r.t.Helper()
	var found []channel.Piece
	r.connector.until(r.t, "the question", func() bool {
		found = nil
		for _, p := range r.connector.sent {
			if len(channel.Buttons(p)) > 0 {
				found = append(found, p)
			}
		}
		return len(found) >= n
	})
	text := found[n-1].Text
	check.Contains(r.t, "the question", text, "May I call calc_add with `{\"a\":2,")
	check.Lacks(r.t, "the question", text, "a1B2a1B2")
	return channel.Buttons(found[n-1])
}

func (r *rig) lastText() string { texts := r.connector.texts(); return texts[len(texts)-1] }

func TestToolRunsAfterApproval(t *testing.T) {
	for _, c := range []struct {
		press  int
		called int
		says   string
	}{{0, 1, "five"}, {1, 0, "did not allow this call"}} {
		r, b := withTools(t, channel.ApproveAlways)
		r.say("please add", true)
		buttons := r.question(1)
		check.Len(t, "pending approvals and calls", r.hub.Operator().Approvals(place), 1)
		check.Len(t, "pending approvals and calls", b.Called(), 0)
		r.wantAnswer(buttons[c.press].Line, "Ada", "calc_add")
		r.waitForReplies()
		check.Len(t, buttons[c.press].Label+": called", b.Called(), c.called)
		check.Contains(t, buttons[c.press].Label+": r.lastText()", r.lastText(), c.says)
		r.wantAnswer(buttons[0].Line, "No such call is waiting") // an old button allows nothing
		late := r.runAsManager(buttons[1-c.press].Line)
		check.Equal(t, "only who came late is told, and who decided stays readable", late.Private, true)
	}
}

// TestQuestionShowsArgumentsLiterally: Markdown could hide a part of them.
func TestQuestionShowsArgumentsLiterally(t *testing.T) {
	r, _ := withTools(t, channel.ApproveAlways)
	arguments := "{\"text\":\"[our docs](https://evil.example) ||hidden|| `x`\\n" + strings.Repeat("=", 5000) + "\"}"
	r.model.Func = func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
		if n > 1 {
			return llmtest.Say("done"), nil
		}
		return llmtest.Use(llm.Call{ID: "1", Name: "calc_add", Arguments: arguments}), nil
	}
	r.say("please add", true)
	var pieces []channel.Piece
	r.connector.until(t, "the buttons", func() bool {
		pieces = r.connector.sent
		return len(pieces) > 0 && len(channel.Buttons(pieces[len(pieces)-1])) > 0
	})
	check.Equal(t, "a question that is too long for one message: messages", len(pieces), 2)
	text := pieces[0].Text + pieces[1].Text
	check.Contains(t, "the question", text, "with `{\"text\":\"[our docs](https://evil.example) ||hidden|| 'x'")
	check.Equal(t, "code marks", strings.Count(text, "`"), 2)
	check.Lacks(t, "the question", text, "\n")
	answer := r.runAsManager(channel.Buttons(pieces[1])[1].Line)
	check.Contains(t, "the answer", answer.Text, "with `{\"text\"")
	r.waitForReplies()
}

func TestFirstApprovalIsStored(t *testing.T) {
	r, b := withTools(t, channel.ApproveFirst)
	r.say("please add", true)
	r.wantAnswer(r.question(1)[0].Line, "allowed")
	r.waitForReplies()
	r.restart()
	r.ask("add once more")
	check.Len(t, "calls", b.Called(), 2)
	b.About = "adds, and sends what it reads elsewhere" // now it counts as a different tool
	r.restart()
	r.say("add again", true)
	r.wantAnswer(r.question(2)[1].Line, "did not allow")
	r.waitForReplies()
	check.Len(t, "calls", b.Called(), 2)
}

func TestApprovalTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, b := withTools(t, channel.ApproveAlways)
		r.say("please add", true)
		buttons := r.question(1)
		time.Sleep(5*time.Minute + time.Second)
		r.waitForReplies()
		check.Contains(t, "last piece sent", r.lastText(), "no one allowed this call within 5 minutes")
		r.wantAnswer(buttons[0].Line, "No such call is waiting")

		r.say("add, please", true)
		buttons = r.question(2)
		r.wantAnswer("/stop", "Stopped")
		r.waitForReplies()
		r.wantAnswer(buttons[0].Line, "No such call is waiting")

		r.say("do add", true) // a shutdown does not wait for an answer
		r.question(3)
		r.restart()
		buttons = r.question(4)
		r.wantAnswer(buttons[0].Line, "allowed")
		r.waitForReplies()
		check.Len(t, "calls", b.Called(), 1)
		r.stop()
	})
}

// A deleted question is answered no more: nobody is asked for what it needed, and others do not wait for it.
func TestDeletionEndsTurn(t *testing.T) {
	r, b := withTools(t, channel.ApproveAlways)
	r.say("please add", true)
	buttons := r.question(1)
	check.NoError(t, r.hub.Delete(t.Context(), place, "m1"))
	check.That(t, r.becomesIdle(3*time.Second), "the turn still waits for an answer")
	r.wantAnswer(buttons[0].Line, "No such call is waiting")
	check.Equal(t, "answer to the next question", r.ask("hello"), "Hello.")
	check.Len(t, "calls", b.Called(), 0)
	check.Equal(t, "copies of the call in the outbox", storetest.Number(t, r.store, "SELECT count(*) FROM outbox WHERE text <> ''"), 0)
}

// unattendedConnector is a connector in which no one answers questions.
type unattendedConnector struct{ *connector }

func (unattendedConnector) Attended(string) bool { return false }

func TestUnattendedConnectorRefusesApproval(t *testing.T) {
	r, b := withTools(t, channel.ApproveAlways)
	r.opts.Connectors = []channel.Connector{unattendedConnector{r.connector}}
	r.reopen()
	r.ask("please add")
	check.Len(t, "calls", b.Called(), 0)
	check.Contains(t, "last piece sent", r.lastText(), "there is no one to ask here")
}

func TestApprovalRights(t *testing.T) {
	r, b := withTools(t, channel.ApproveAlways)
	r.opts.Rules.Restricted = []string{} // only managers decide about tools anyway
	r.opts.Rules.Access = map[string]channel.Access{"test": {Owners: []string{"boss"}}}
	r.reopen()
	const direct = "test:@me/7"
	run := func(name string, who channel.Person, line string) string {
		answer, _, err := r.hub.Run(t.Context(), name, who, line)
		check.NoError(t, err)
		return answer.String()
	}
	for _, name := range []string{place, direct} {
		r.connector.note(func() { r.connector.sent = nil })
		check.Must(r.hub.Deliver(t.Context(), name, r.inbound("please add", true)))(t)
		line := r.question(1)[0].Line
		stranger := channel.Person{ID: "u1", Name: "Ada", Manager: name == direct} // in a direct message everyone is a manager
		check.Lacks(t, name, run(name, stranger, line), "allowed")
		check.Contains(t, name, run(name, stranger, "/tools add calc"), "manage")
		check.Contains(t, name, run(name, channel.Person{ID: "boss", Name: "Bo"}, line), "Bo allowed")
		check.NoError(t, r.hub.Idle(t.Context(), name))
	}
	check.Len(t, "calls", b.Called(), 2)
}

func TestToolsCommand(t *testing.T) {
	r, b := withTools(t, channel.ApproveNever)
	r.agent.ToolServers = nil
	r.restart()
	r.ask("please add")
	r.wantAnswer("/tools", "calc (not here): calc_add")
	r.wantAnswer("/tools add shell", `no tools named "shell"`)
	r.wantAnswer("/tools wipe calc", "/tools add NAME")
	r.wantAnswer("/tools add", "/tools lists them")
	r.wantAnswer("/tools add calc", "calc (added here)")
	r.wantAnswer("/settings", "compaction.background_threshold")
	check.Must(r.hub.Deliver(t.Context(), place+"/thread", r.inbound("please add", true)))(t) // a thread inherits them
	check.NoError(t, r.hub.Idle(t.Context(), place+"/thread"))
	r.restart()
	r.ask("please add")
	check.Len(t, "calls", b.Called(), 2)
	r.wantAnswer("/tools remove calc", "calc (not here)")
	r.wantAnswer("/tools remove calc", `"calc" was not added here`)
	r.ask("please add")
	check.Len(t, "calls", b.Called(), 2)
}

// An approval in a thread is no decision about which tools the thread has.
func TestThreadLosesToolsOfChannel(t *testing.T) {
	const thread = place + "/thread"
	r, b := withTools(t, channel.ApproveFirst)
	r.agent.ToolServers = nil
	r.restart()
	r.wantAnswer("/tools add calc", "calc (added here)")
	say := func() {
		check.Must(r.hub.Deliver(t.Context(), thread, r.inbound("please add", true)))(t)
	}
	say()
	check.Contains(t, "answer", r.runAs(channel.Person{ID: "u1", Name: "Ada", Manager: true}, thread, r.question(1)[0].Line).String(), "allowed")
	r.waitIdle(thread)
	say() // it is not asked again
	r.waitIdle(thread)
	check.Len(t, "calls", b.Called(), 2)
	r.wantAnswer("/tools remove calc", "calc (not here)")
	say()
	r.waitIdle(thread)
	check.Len(t, "calls once the channel has lost the tool", b.Called(), 2)
}
