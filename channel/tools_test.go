package channel_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/llm"
	"cairn/testkit/channeltest"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

func (r *rig) withTools(approve string) *channeltest.Box {
	b := &channeltest.Box{Approve: approve, About: "adds"}
	r.model.Func = channeltest.Add
	r.agent.Toolbox = b
	r.agent.ToolServers = []string{"calc"}
	return b
}

func (r *rig) question(n int) []channel.Button {
	r.t.Helper()
	var found []channel.Piece
	r.connector.until(r.t, "the question", func() bool {
		found = slices.DeleteFunc(slices.Clone(r.connector.sent), func(p channel.Piece) bool { return len(channel.Buttons(p)) == 0 })
		return len(found) >= n
	})
	text := found[n-1].Text
	check.Contains(r.t, "the question", text, "May I call calc_add with `{\"a\":2,")
	check.Lacks(r.t, "the question", text, "a1B2a1B2")
	return channel.Buttons(found[n-1])
}

func TestToolRunsAfterApproval(t *testing.T) {
	for press, says := range []string{"five", "did not allow this call"} {
		r := newRig(t, nil)
		b := r.withTools(channel.ApproveAlways)
		r.say("please add", true)
		buttons := r.question(1)
		check.Len(t, "pending approvals", r.hub.Operator().Approvals(place), 1)
		check.Len(t, "calls before the answer", b.Called(), 0)
		r.wantAnswer(buttons[press].Line, "Ada", "calc_add")
		r.waitForReplies()
		check.Len(t, buttons[press].Label+": calls", b.Called(), 1-press)
		check.Contains(t, buttons[press].Label+": reply", r.lastText(), says)
		r.wantAnswer(buttons[0].Line, "No such tool call is waiting") // an old button allows nothing
		late := r.runAsManager(buttons[1-press].Line)
		check.Equal(t, "only who came late is told, and who decided stays readable", late.Private, true)
	}
}

// TestQuestionShowsArgumentsLiterally: Markdown could hide a part of them.
func TestQuestionShowsArgumentsLiterally(t *testing.T) {
	r := newRig(t, nil)
	r.withTools(channel.ApproveAlways)
	arguments := "{\"text\":\"[our docs](https://evil.example) ||hidden|| `x`\\n" + strings.Repeat("=", 5000) + "\"}"
	r.model.Func = inTurn(llmtest.Use(llm.Call{ID: "1", Name: "calc_add", Arguments: arguments}), llmtest.Say("done"))
	r.say("please add", true)
	r.connector.until(t, "the buttons", func() bool { return len(r.connector.sent) == 2 }) // it is too long for one message
	pieces := r.connector.sent
	text := pieces[0].Text + pieces[1].Text
	check.Contains(t, "the question", text, "with `{\"text\":\"[our docs](https://evil.example) ||hidden|| 'x'")
	check.Equal(t, "code marks", strings.Count(text, "`"), 2)
	check.Lacks(t, "the question", text, "\n")
	r.wantAnswer(channel.Buttons(pieces[1])[1].Line, "with `{\"text\"")
	r.waitForReplies()
}

func TestApprovalEndsUnanswered(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, r *rig) {
		b := r.withTools(channel.ApproveAlways)
		for i, end := range []func(){
			func() { r.wantAnswer("/stop", "Stopped") },
			// Nobody is asked for what a deleted message needed, and others do not wait for it.
			func() { check.NoError(t, r.hub.Delete(t.Context(), place, "m2")) },
		} {
			r.say("please add", true)
			buttons := r.question(i + 1)
			end()
			check.NoError(t, r.idle(place, 3*time.Second)) // the turn has ended
			r.wantAnswer(buttons[0].Line, "No such tool call is waiting")
		}
		check.Equal(t, "copies of calls in the outbox", storetest.Number(t, r.store, "SELECT count(*) FROM outbox WHERE text <> ''"), 0)

		r.say("do add", true) // a shutdown does not wait for an answer
		line := r.question(3)[0].Line
		r.restart()
		check.Require(t, check.Soon(func() bool { return len(r.hub.Operator().Approvals(place)) == 1 }), "the call does not wait again")
		r.wantAnswer(line, "allowed the call of calc_add with")
		r.waitForReplies()
		check.Len(t, "calls", b.Called(), 1)
		check.Len(t, "questions", slices.DeleteFunc(r.connector.texts(), func(text string) bool { return !strings.HasPrefix(text, "(May I") }), 3)
	})
}

// TestApprovalIsValidForLong: people answer when nothing waits any more, also after a restart.
func TestApprovalIsValidForLong(t *testing.T) {
	for name, approve := range map[string]string{"of each call": channel.ApproveAlways, "of the first": channel.ApproveFirst} {
		inBubble(t, nil, func(t *testing.T, r *rig) {
			b := r.withTools(approve)
			r.restart()
			askInVain := func() {
				r.say("please add", true)
				time.Sleep(6 * time.Minute)
				r.waitForReplies()
			}
			askInVain()
			check.Contains(t, "the answer of the time limit", r.lastText(), "no one allowed this call within 5 minutes")
			line := r.question(1)[0].Line
			old := line
			askInVain() // the same call is asked about once more, and the first question is void
			line = r.question(2)[0].Line
			r.stop()
			time.Sleep(8 * 24 * time.Hour)
			r.start()
			r.wantAnswer(old, "No such tool call is waiting")
			r.says(bo, place, line, "only for people who manage")
			check.Len(t, name+": calls", b.Called(), 0)
			r.wantAnswer(line, "Ada allowed the call of calc_add; I go on with it.")
			r.waitForReplies()
			check.Len(t, name+": calls", b.Called(), 1)
			check.Equal(t, name+": the answer", r.lastText(), "The tool says: five")
			r.wantAnswer(line, "No such tool call is waiting")
			if approve == channel.ApproveFirst {
				r.ask("please add")
				check.Len(t, name+": calls", b.Called(), 2)
				return
			}
			askInVain()
			line = r.question(3)[1].Line
			r.restart()
			r.wantAnswer(line, "Ada refused the call of calc_add.")
			r.wantAnswer(line, "No such tool call is waiting")
			askInVain()
			line = r.question(4)[0].Line
			time.Sleep(31 * 24 * time.Hour)
			r.wantAnswer(line, "No such tool call is waiting")
			r.waitForReplies()
			check.Len(t, name+": calls", b.Called(), 1)
		})
	}
}

func TestApprovalRights(t *testing.T) {
	r := newRig(t, nil)
	b := r.withTools(channel.ApproveAlways)
	lists := map[string]access.Access{"test": {Owners: []string{"boss"}}}
	r.withRules(access.Rules{Restricted: []string{}, Access: lists}) // only managers decide about tools anyway
	const direct = "test:@me/7"
	for i, where := range []string{place, direct} {
		check.NoError(t, r.deliverTo(where, "please add", addressed))
		line := r.question(i + 1)[0].Line
		stranger := access.Person{ID: "u1", Name: "Ada", Manager: where == direct} // in a direct message everyone is a manager
		check.Lacks(t, where, r.says(stranger, where, line), "allowed")
		r.says(stranger, where, "/tools add calc", "manage")
		r.says(access.Person{ID: "boss", Name: "Bo"}, where, line, "Bo allowed")
		r.waitIdle(where)
	}
	check.Len(t, "calls", b.Called(), 2)
}

type unattendedConnector struct{ *connector }

func (unattendedConnector) Attended(string) bool { return false }

// TestToolsCommand: a conversation has the tools added to it, and each is allowed once, until its definition changes.
func TestToolsCommand(t *testing.T) {
	r := newRig(t, nil)
	b := r.withTools(channel.ApproveFirst)
	r.agent.ToolServers = nil
	r.restart()
	r.ask("please add")
	r.wantAnswer("/tools", "calc (not here): calc_add")
	r.wantAnswer("/tools add shell", `no tools named "shell"`)
	r.wantAnswer("/tools wipe calc", "/tools add NAME")
	r.wantAnswer("/tools add", "/tools lists them")
	r.wantAnswer("/tools add calc", "calc (added here)")
	r.wantAnswer("/settings", "compaction.background_threshold")
	const thread = place + "/thread" // it has the channel's tools, also once a call has been allowed there
	check.NoError(t, r.deliverTo(thread, "please add", addressed))
	r.says(access.Person{ID: "u1", Manager: true}, thread, r.question(1)[0].Line, "allowed")
	r.waitIdle(thread)
	r.restart()
	r.tell(thread, "please add", addressed)
	check.Len(t, "calls", b.Called(), 2)
	r.say("please add", true)
	r.wantAnswer(r.question(2)[0].Line, "allowed")
	r.waitForReplies()
	check.Len(t, "calls", b.Called(), 3)
	b.About = "adds, and sends what it reads elsewhere" // now it counts as a different tool
	r.restart()
	r.say("add again", true)
	r.wantAnswer(r.question(3)[1].Line, "denied the call")
	r.waitForReplies()
	r.opts.Connectors = []channel.Connector{unattendedConnector{r.connector}}
	r.reopen()
	check.Contains(t, "reply", r.ask("please add"), "there is no one to ask here")
	check.Len(t, "calls", b.Called(), 3)
	r.wantAnswer("/tools remove calc", "calc (not here)")
	r.wantAnswer("/tools remove calc", `"calc" was not added here`)
	r.ask("please add")
	r.tell(thread, "please add", addressed)
	check.Len(t, "calls", b.Called(), 3)
}

func TestTools(t *testing.T) {
	calls := llmtest.Use(llmtest.Call("call_0", "memory_save", map[string]any{"content": "Ada likes tea.", "kind": "preference"}),
		llmtest.Call("call_1", "no_such_tool", map[string]any{}))
	calls.Message.Text = "Let me note that."
	r := newRig(t, inTurn(calls, llmtest.Say("Noted.")))
	r.ask("I like tea")
	request := r.model.Requests()[1].Messages
	last := request[len(request)-1]
	check.Equal(t, "call of the answer to an unknown tool", last.CallID, "call_1")
	check.HasPrefix(t, "answer to an unknown tool", last.Text, "Error: there is no tool")
	check.EqualAll(t, "sent", r.connector.texts(), []string{"Let me note that.\n\nNoted."})
	check.EqualAll(t, "memories", r.connector.memories, []string{"Ada likes tea."})
	check.Equal(t, "stored rows", len(r.transcript()), 5)
	r.wantAnswer("/memories tea", "Ada likes tea.")
}

// A memory may name whom the result of a tool or the prompt names, and nobody whom only the model names.
func TestMemoryNamesOnlyWhomAnybodyNames(t *testing.T) {
	save := func(content string) llm.Response {
		return useTool("memory_save", map[string]any{"content": content, "kind": "fact"})
	}
	r := newRig(t, nil)
	b := r.withTools("")
	b.Result = "The owner is Marta Quiroga."
	r.agent.Instructions = "You work for Zenobia."
	made := save("Ada asked Ferdinand for the owner of the cafe.")
	r.model.Func = inTurn(useTool("calc_add", map[string]any{}), save("Ada asked for the owner of the cafe, Marta Quiroga."),
		save("Ada asked Zenobia for the owner of the cafe."), made, made, llmtest.Say("Noted."), made, llmtest.Say("Noted."))
	r.restart()
	r.ask("who is the owner of the cafe?")
	check.EqualAll(t, "memories", r.connector.memories, []string{"Ada asked for the owner of the cafe, Marta Quiroga.", "Ada asked Zenobia for the owner of the cafe."})
	check.Contains(t, "refusal", texts(r.transcript()), "no message mentions Ferdinand")
	r.ask("and the owner of the bar?")
	check.Len(t, "memories", r.connector.memories, 2)
}

// A server of tools may still be connecting when a turn starts.
func TestTurnWaitsForTools(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, r *rig) {
		b := r.withTools(channel.ApproveNever)
		b.Connecting = make(chan struct{})
		r.opts.Agent = func(conversation string) channel.Agent {
			a := r.agent
			if conversation != place {
				a.ToolServers = nil
			}
			return a
		}
		r.restart()
		atOnce := func(what string, do func()) {
			t.Helper()
			began := time.Now()
			do()
			check.That(t, time.Since(began) < time.Second, "%s took %v", what, time.Since(began))
		}
		check.Equal(t, "answer without tools that do not connect", r.ask("please add"), "Hello.")
		r.say("please add", true)
		synctest.Wait()
		atOnce("/stop", func() { r.wantAnswer("/stop", "Stopped"); r.waitForReplies() })
		r.say("please add", true)
		synctest.Wait()
		atOnce("a conversation without tools", func() { r.tell(place+"2", "hello", addressed) })
		check.Equal(t, "before the tools connect", texts(r.transcript()),
			"user: please add | assistant: Hello. | user: please add | user: please add")
		r.restart() // the wait does not hold up the end of the program
		synctest.Wait()
		b.Connect(func() { r.hub.Renew(access.Rules{}) }) // as the program does
		r.waitForReplies()
		check.Len(t, "calls of the resumed turn", b.Called(), 1)
		check.Contains(t, "last piece sent", r.lastText(), "five")
		r.ask("please add")
		check.Len(t, "calls of the next turn", b.Called(), 2)
	})
}
