// Threads that the bot opens from questions.

package discord

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/llm"
	"cairn/testkit/channeltest"
	"cairn/testkit/check"
	"cairn/testkit/discordtest"
	"cairn/testkit/llmtest"
)

// threaded has the bot open threads, and gives it the permission in the square.
func threaded(t *testing.T, tune ...func(*Discord)) *rig {
	t.Helper()
	r := newRig(t, discordtest.Options{}, tune...)
	r.opts.Threads = threadsMention
	r.Allow(r.square, discordgo.PermissionCreatePublicThreads)
	return r
}

func TestAQuestionOpensAThread(t *testing.T) {
	r := threaded(t).start()
	question := r.ask(r.square, "where shall we go?\nTurin or Rome")
	r.answersLast(question.ID, 1, "echo: where shall we go?\nTurin or Rome")
	check.Len(t, "answers in the channel", r.contents(r.square), 0)
	check.Equal(t, "the name of the thread", r.connector.state.place(question.ID).Name, "where shall we go?")
	check.Len(t, "messages of the channel's conversation", r.Transcript(r.place(r.square)), 2)

	follow := r.Say(question.ID, r.ann.ID, "and when?") // without a mention
	r.answersLast(question.ID, 2, "echo: and when?")
	check.Equal(t, "it refers to", r.sent(question.ID)[1].MessageReference.MessageID, follow.ID)
	prompt := r.Model.Requests()[1]
	check.Contains(t, "what the thread begins with", promptText(prompt), "where shall we go?")
	check.Contains(t, "what the thread begins with", promptText(prompt), "You answered: echo: where shall we go?")
	check.Len(t, "messages of the thread's conversation", r.Transcript(r.place(r.square)+"/"+question.ID), 2)

	missed := r.ask(r.square, "one more thing")
	r.answersLast(missed.ID, 1, "echo: one more thing")
	r.Idle(r.place(r.square))
	r.restart(func() { r.Say(missed.ID, r.ann.ID, "said while it was away") })
	r.answersLast(missed.ID, 2, "echo: said while it was away")

	r.Say(r.square, r.ann.ID, "chatter")
	r.converse(question.ID, "in the thread", 3)
	direct := r.Direct(r.ann.ID).ID
	r.Say(direct, r.ann.ID, "hello")
	r.answersLast(direct, 1, "echo: hello")
	reply := r.Post(r.square, r.ann.ID, discordtest.Post{Content: "a reply", ReplyTo: question.ID})
	check.Equal(t, "a person's thread", r.StartThread(r.square, reply.ID, r.ann.ID, "mine").ID, reply.ID)
	r.Say(reply.ID, r.ann.ID, "nobody asked the bot")
	r.heard(r.place(r.square)+"/"+reply.ID, 1)
	r.Idle(r.place(r.square) + "/" + reply.ID)
	check.Len(t, "answers in a person's thread", r.contents(reply.ID), 0)
	check.Len(t, "threads", r.Requests("POST /channels/*/messages/*/threads"), 2)
}

func promptText(req llm.Request) (all string) {
	for _, m := range req.Messages {
		all += "\n" + m.Text
	}
	return all
}

func TestARetryOpensNoSecondThread(t *testing.T) {
	r := threaded(t)
	r.Fail(
		discordtest.Fault{Of: "POST /channels/*/messages/*/threads", Done: true, Cut: true},          // nobody knows that it is there
		discordtest.Fault{Of: "POST /channels/*/messages", Times: -1, Status: http.StatusBadGateway}, // and nothing is posted
	)
	r.start()
	question := r.ask(r.square, "once")
	r.until("the thread", func() bool { return r.count("POST /channels/*/messages") > 0 })
	r.restart(r.Clear)
	r.answersLast(question.ID, 1, "echo: once")
	check.Len(t, "answers in the channel", r.contents(r.square), 0)

	sent := r.ask(r.square, "twice") // it arrives, and nobody knows
	r.Fail(discordtest.Fault{Of: "POST /channels/" + sent.ID + "/messages", Times: -1, Done: true, Status: http.StatusBadGateway})
	r.until("the answer", func() bool { return len(r.contents(sent.ID)) > 0 })
	r.restart(r.Clear)
	r.converse(sent.ID, "and now?", 2)
	check.EqualAll(t, "the answers", r.contents(sent.ID), []string{"echo: twice", "echo: and now?"})

	r.Deny(r.square, discordgo.PermissionCreatePublicThreads)
	r.until("the permission to go", func() bool {
		can, _ := r.connector.state.granted(r.connector.state.place(r.square))
		return can&toOpen != toOpen
	})
	r.Fail(discordtest.Fault{Of: "POST /channels/" + r.square + "/messages", Times: -1, Done: true, Status: http.StatusBadGateway})
	below := r.ask(r.square, "thrice") // the same in the channel, and then it may open threads
	r.until("the answer", func() bool { return len(r.contents(r.square)) > 0 })
	r.restart(r.Clear, func() { r.Allow(r.square, discordgo.PermissionCreatePublicThreads) })
	r.until("the thread", func() bool { return r.connector.state.place(below.ID).ID != "" })
	r.Idle(r.place(r.square))
	check.EqualAll(t, "the channel", r.contents(r.square), []string{"echo: thrice"})
	check.Len(t, "the thread", r.contents(below.ID), 0)
}

func TestWithoutThePermissionTheAnswerGoesToTheChannel(t *testing.T) {
	r := threaded(t)
	r.Deny(r.square, discordgo.PermissionCreatePublicThreads)
	r.start()
	r.converse(r.square, "one", 1)
	r.converse(r.square, "two", 2)
	check.Equal(t, "lines in the log", strings.Count(r.Log.String(), "thread_refused"), 1)
	check.Len(t, "threads that it tried to open", r.Requests("POST /channels/*/messages/*/threads"), 0)
	facts := strings.Join(check.Must(r.connector.Check(t.Context()))(t), "\n")
	check.Contains(t, "the doctor", facts, "warning: the bot opens no threads in #square · town")
	r.Allow(r.square, discordgo.PermissionCreatePublicThreads)
	r.until("the permission", func() bool {
		can, _ := r.connector.state.granted(r.connector.state.place(r.square))
		return can&toOpen == toOpen
	})
	question := r.ask(r.square, "three")
	r.answersLast(question.ID, 1, "echo: three")
	r.Fail(discordtest.Fault{Of: "POST /channels/*/messages/*/threads", Status: http.StatusBadRequest, Code: 160006}) // too many are active
	r.converse(r.square, "four", 3)
}

func TestAnAnswerWhoseThreadIsGoneGoesToTheChannel(t *testing.T) {
	r := threaded(t, quick).start()
	question := r.ask(r.square, "one")
	r.answersLast(question.ID, 1, "echo: one")
	r.Idle(r.place(r.square))
	w := r.connector.Reply(r.place(r.square), []string{question.ID})
	w.Show("half of")
	r.until("the draft", func() bool { return len(r.contents(question.ID)) == 2 })
	r.RemoveThread(question.ID)
	r.sendAll(w, "half of it", question.ID)
	check.EqualAll(t, "the channel", r.contents(r.square), []string{"half of it"})
}

func TestADraftInAThreadIsTakenOver(t *testing.T) {
	r := threaded(t, quick).start()
	question := r.Say(r.square, r.ann.ID, "<@"+r.Bot.ID+"> question")
	r.answersLast(question.ID, 1, "echo: question")
	other := r.ask(r.square, "another")
	r.answersLast(other.ID, 1, "echo: another")
	r.Idle(r.place(r.square))
	r.StartThread(r.square, r.Say(r.square, r.ann.ID, "x").ID, r.Bot.ID, "x")
	draft := check.Must(r.connector.poster.create(r.ctx, question.ID, newPost(question.ID, "half", "", nonce("half")), false))(t).ID
	time.Sleep(5 * time.Millisecond)                 // so that the draft is older than the process
	r.connector.shards.list()[0].opened = time.Now() // a new process
	w := r.connector.Reply(r.place(r.square), []string{question.ID})
	r.sendAll(w, "half and half", question.ID)
	check.EqualAll(t, "the thread", r.contents(question.ID), []string{"echo: question", "half and half"})
	check.Equal(t, "the message", r.sent(question.ID)[1].ID, draft)

	check.Must(r.connector.poster.create(r.ctx, other.ID, newPost(other.ID, "left", "", nonce("left")), false))(t)
	time.Sleep(5 * time.Millisecond)
	r.connector.shards.list()[0].opened = time.Now()
	r.connector.Reply(r.place(r.square), []string{other.ID}).Cancel()
	check.EqualAll(t, "what is left of a withdrawn answer", r.contents(other.ID), []string{"echo: another"})
}

func TestAnAnswerInAThreadIsStoppedThere(t *testing.T) {
	r := threaded(t, quick)
	slowly(r, 2000, 20*time.Millisecond)
	r.start().registered()
	question := r.ask(r.square, "tell me slowly")
	r.until("the draft", func() bool { return len(r.sent(question.ID)) > 0 })
	draft := r.sent(question.ID)[0]
	check.Contains(t, "its buttons", string(check.Must(json.Marshal(draft.Components))(t)), "/stop")
	_, rest, _ := strings.Cut(string(check.Must(json.Marshal(draft.Components))(t)), `"custom_id":"`)
	stop, _, _ := strings.Cut(rest, `"`)
	r.Click(question.ID, r.ann.ID, draft.ID, stop)
	r.Idle(r.place(r.square))
	r.until("the end", func() bool { all := r.sent(question.ID); return len(all[0].Components) == 0 })
	check.That(t, len(strings.Join(r.contents(question.ID), " ")) < len(wordsOf(2000)), "it was not stopped")
}

func TestInThreadsItAnswersWhatIsAddressed(t *testing.T) {
	r := threaded(t)
	r.Rules.Access = map[string]access.Access{"discord": {RespondInThreads: access.RespondMention}}
	r.Rules.Respond = func(string) access.Respond { return access.RespondAll }
	r.start()
	question := r.ask(r.square, "one")
	r.answersLast(question.ID, 1, "echo: one")
	r.Say(question.ID, r.ann.ID, "among us")
	r.converse(question.ID, "two", 2)
	r.Say(question.ID, r.ann.ID, "among us again")
	reply := r.Post(question.ID, r.ann.ID, discordtest.Post{Content: "three", ReplyTo: r.sent(question.ID)[1].ID})
	r.answers(question.ID, 3)
	check.Equal(t, "the third answers", r.sent(question.ID)[2].MessageReference.MessageID, reply.ID)
}

// TestAnAnswerInAThreadKeepsItsButtons checks that what is pressed in the thread reaches the channel's conversation, which asks and answers.
func TestAnAnswerInAThreadKeepsItsButtons(t *testing.T) {
	r := threaded(t)
	box := &channeltest.Box{Approve: channel.ApproveAlways}
	r.Tools = box
	r.Model.Func = channeltest.Add
	r.Rules.Access = map[string]access.Access{"discord": {Owners: []string{r.ann.ID}}}
	r.start().registered()
	question := r.ask(r.square, "please add")
	check.Contains(t, "what it asks in the thread", r.answers(question.ID, 1)[0], "May I call calc_add")
	asks := r.sent(question.ID)[0]
	r.Click(question.ID, r.ann.ID, asks.ID, buttonsOf(t, &asks)["Allow"])
	r.until("the answer", func() bool {
		all := r.contents(question.ID)
		return strings.Contains(all[len(all)-1], "The tool says: five")
	})
	r.Idle(r.place(r.square))
	answer := r.sent(question.ID)[1]
	pinned := r.answered(r.Menu(question.ID, r.ann.ID, answer.ID, "Pin this")).Answer
	check.Contains(t, "the answer is pinned", pinned.Content, "is pinned")
	check.Contains(t, "pins of the channel", r.tell("/pins").String(), "The tool says: five")
	check.Len(t, "what it says in the channel", r.contents(r.square), 0)
}

func TestSourcesOfAnAnswerInAThread(t *testing.T) {
	r := threaded(t)
	r.Model.Func = func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
		if req.Messages[len(req.Messages)-1].Role == llm.RoleTool {
			return llmtest.Say("It is on Friday."), nil
		}
		return llmtest.Use(llmtest.Call("1", "recall", map[string]string{"query": "launch"})), nil
	}
	r.start().registered()
	r.Say(r.square, r.ann.ID, "The launch is on Friday.")
	r.heard(r.place(r.square), 1)
	question := r.ask(r.square, "when is the launch?")
	r.answersLast(question.ID, 1, "It is on Friday.")
	r.Idle(r.place(r.square))
	answer := r.sent(question.ID)[0]
	shown := r.answered(r.Click(question.ID, r.ann.ID, answer.ID, buttonsOf(t, &answer)["Sources"])).Answer
	check.Contains(t, "sources", shown.Content, "The launch is on Friday.")
}

func TestWhereItMayWriteInThreadsOnly(t *testing.T) {
	r := threaded(t)
	r.Deny(r.square, discordgo.PermissionSendMessages)
	r.Rules.Respond = func(string) access.Respond { return access.RespondAll }
	r.start().registered()
	direct := r.Direct(r.ann.ID).ID
	question := r.ask(r.square, "where shall we go?")
	r.answersLast(question.ID, 1, "echo: where shall we go?")
	r.Say(question.ID, r.ann.ID, "and when?")
	r.answersLast(question.ID, 2, "echo: and when?")
	unasked := r.Say(r.square, r.ann.ID, "who comes?") // it answers all
	r.answersLast(unasked.ID, 1, "echo: who comes?")
	check.Equal(t, "the name of its thread", r.connector.state.place(unasked.ID).Name, "who comes?")
	r.ask(r.square, "/help")
	check.Contains(t, "a command is answered in a direct message", r.answers(direct, 1)[0], "/compact")
	check.Lacks(t, "the doctor", strings.Join(check.Must(r.connector.Check(t.Context()))(t), "\n"), "warning")
	for _, method := range []string{"POST /channels/" + r.square + "/messages", "POST /channels/" + r.square + "/typing"} {
		check.Len(t, method, r.Requests(method), 0)
	}

	r.Fail(discordtest.Fault{Of: "POST /channels/*/messages/*/threads", Status: http.StatusBadRequest, Code: 160006}) // too many are active
	r.ask(r.square, "and then?")
	check.Contains(t, "in place of the answer", r.answers(direct, 2)[1], channel.NoSendMessages)

	r.Deny(r.square, discordgo.PermissionCreatePublicThreads)
	r.until("the permission to go", func() bool { return r.connector.CannotWrite(r.place(r.square)) == channel.NoOpenThreads })
	asked := len(r.Model.Requests())
	bob := r.User("bob") // ann has been told today
	r.Say(r.square, bob.ID, "<@"+r.Bot.ID+"> are you there?")
	check.Contains(t, "the direct message", r.answers(r.Direct(bob.ID).ID, 1)[0], channel.NoOpenThreads)
	check.Equal(t, "questions of which the model was asked", len(r.Model.Requests()), asked)
	check.Contains(t, "the doctor", strings.Join(check.Must(r.connector.Check(t.Context()))(t), "\n"), "warning: in #square · town: "+channel.NoOpenThreads)
	r.Say(question.ID, r.ann.ID, "still here?")
	r.answersLast(question.ID, 3, "echo: still here?")
	r.Allow(r.square, discordgo.PermissionCreatePublicThreads)
	r.until("the permission", func() bool { return r.connector.CannotWrite(r.place(r.square)) == "" })
	again := r.ask(r.square, "and now?")
	r.answersLast(again.ID, 1, "echo: and now?")
}
