// An app that is declared as an agent: sessions of threads, and Slack's stop button.

package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/slacktest"
)

const setSession = "agents.sessions.setStatus"

// storyteller tells a long story, slowly.
func storyteller(t *testing.T, o slacktest.Options) (r *rig, general, ann string) {
	t.Helper()
	o.Agent = true
	r, general, ann = town(t, o, func(context.Context, int, llm.Request) (llm.Response, error) {
		return llmtest.Say(strings.Repeat("word ", 2000) + "the end"), nil
	})
	r.opts.ReplyIn = replyAuto
	r.Model.Delay = 20 * time.Millisecond
	return r, general, ann
}

// telling has ann ask for a story in a thread, and waits until people see some of it.
func (r *rig) telling(general, ann, thread string) (stream string) {
	r.T.Helper()
	before := len(r.w.Calls("chat.appendStream"))
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: thread, Text: mention + "tell me a story"})
	r.eventually("the answer is shown", func() bool { return len(r.w.Calls("chat.appendStream")) > before })
	for _, m := range r.botMessages(general) {
		if m.Streaming {
			return m.TS
		}
	}
	r.T.Fatal("no stream")
	return ""
}

// status waits until the session of a thread has a status.
func (r *rig) status(channel, thread, want string) {
	r.T.Helper()
	r.eventually("the session is "+want, func() bool { session, _ := r.w.Session(channel, thread); return session.Status == want })
}

func TestASessionShowsThatAnAgentWorks(t *testing.T) {
	r, letGo := thinkingAs(t, slacktest.Options{Agent: true})
	r.begin()
	for i, c := range []struct {
		claim          string
		thread, direct bool
		sign           string // at the question
	}{
		{claim: "in a thread", thread: true},
		{claim: "in a direct message", direct: true},
		{claim: "in the thread that the answer opens, and by a reaction above", sign: workingEmoji},
	} {
		t.Run(c.claim, func(t *testing.T) {
			general, ann := r.place()
			root := ""
			if c.thread {
				root = r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "root"})
			}
			if c.direct {
				general = r.w.DM(ann)
			}
			asked := r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: mention + "what is\n an agent? " + strings.Repeat("long ", 20)})
			if !c.thread {
				root = asked
			}
			r.status(general, root, slackgo.AgentSessionStatusProcessing)
			session, _ := r.w.Session(general, root)
			check.HasPrefix(t, "the title", session.Title, "what is an agent? long long")
			check.That(t, len([]rune(session.Title)) <= maxTitle && session.Initiator == ann, "the session is %+v", session)
			r.eventually("the sign", func() bool { return strings.Join(r.reactions(general, asked), "") == c.sign })
			letGo()
			answer := fmt.Sprint("answer ", i+1)
			r.answered(general, answer)
			r.status(general, root, slackgo.AgentSessionStatusActive)
			check.Equal(t, "the thread of the answer", r.inThread(general, root, answer).Thread, root)
			check.Equal(t, "words of a status", r.w.Status(general, root), "")
		})
	}
	check.Len(t, "calls of the old method", r.w.Calls("assistant.threads.setStatus"), 0)
}

// The token has the scope, but Slack does not take the app for an agent; or it takes no words either.
func TestAnAppThatIsNoAgentIsNotAskedForEachAnswer(t *testing.T) {
	r, letGo := thinkingAs(t, slacktest.Options{Scopes: manifestScopes()})
	r.begin()
	ask := func(n int, shown func(q target) bool) {
		q := r.asked(t)
		r.eventually("the sign", func() bool { return shown(q) })
		letGo()
		r.answered(q.channel, fmt.Sprint("answer ", n))
		r.eventually("it is gone", func() bool { return !shown(q) })
	}
	words := func(q target) bool { return r.w.Status(q.channel, q.thread) != "" }
	ask(1, words)
	ask(2, words)
	check.Len(t, "calls for a session", r.w.Calls(setSession), 1)
	const old = "assistant.threads.setStatus"
	r.w.Fail(slacktest.Fault{Of: old, Error: "method_deprecated", Times: -1})
	before := len(r.w.Calls(old))
	eyes := func(q target) bool { return len(r.reactions(q.channel, q.to[0])) == 1 }
	ask(3, eyes)
	ask(4, eyes)
	check.Len(t, "calls for words", r.w.Calls(old)[before:], 1)
	check.Len(t, "calls for a session", r.w.Calls(setSession), 1)
}

// asked asks the bot something in a thread.
func (r *rig) asked(t *testing.T) (q target) {
	t.Helper()
	q.channel, _ = r.place()
	ann := r.w.AddUser("ann")
	r.w.Join(q.channel, ann)
	q.thread = r.w.Say(slacktest.Post{Channel: q.channel, User: ann, Text: "root"})
	q.to = []string{r.w.Say(slacktest.Post{Channel: q.channel, User: ann, Thread: q.thread, Text: mention + "hello"})}
	return q
}

func TestAStopKeepsWhatWasShown(t *testing.T) {
	for claim, o := range map[string]slacktest.Options{
		"where Slack lets it be edited":     {},
		"where Slack lets it not be edited": {KeepsStopped: true},
	} {
		t.Run(claim, func(t *testing.T) {
			r, general, ann := storyteller(t, o)
			r.begin()
			thread := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "a thread"})
			name := conversation(general, thread)
			stream := r.telling(general, ann, thread)
			r.w.StopSession(general, thread, ann)
			shown := r.botMessages(general)[0].Text
			r.w.StopAgain(general, thread, ann)
			r.status(general, thread, slackgo.AgentSessionStatusActive)
			r.Idle(name)
			r.eventually("both clicks are answered", func() bool { return len(r.botMessages(general, ann)) == 2 })
			after := r.botMessages(general)
			check.Len(t, "messages", after, 1)
			check.That(t, after[0].TS == stream && after[0].Text == shown, "what was shown has changed: %+v", after[0])
			_, sent, err := r.Hub.SentAs(t.Context(), name, stream)
			check.That(t, sent && err == nil, "the stream is not noted as the answer: %v", err)
			all := r.Transcript(name)
			check.HasPrefix(t, "what is stored", all[len(all)-1].Text, "word word")
			check.Lacks(t, "what is stored", all[len(all)-1].Text, "the end")
			for _, method := range []string{"chat.update", "chat.delete", "chat.postMessage", "chat.stopStream"} {
				check.Len(t, "calls of "+method, r.w.Calls(method), 0)
			}
			r.end()
			r.begin()
			r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: thread, Text: mention + "/help"}) // it comes after all that is left to send
			r.eventually("a command is answered", func() bool { return len(r.botMessages(general)) == 2 })
			check.Equal(t, "what was shown", r.botMessages(general)[0].Text, shown)
			check.Equal(t, "sessions that Slack shows as busy", r.w.Processing(), 0)
		})
	}
}

func TestAnAgentWithoutTheEventOfTheButtonSaysSo(t *testing.T) {
	r, letGo := thinkingAs(t, slacktest.Options{Agent: true, Unsubscribed: true})
	r.begin()
	general, ann := r.place()
	for n := range 2 {
		r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "hello"})
		letGo()
		r.awaitAnswers(general, n+1)
	}
	check.Equal(t, "how often the log says so", strings.Count(r.Log.String(), "msg=stop_button_missing"), 1)
}

// While it thinks there is no stream yet.
func TestAStopBeforeTheFirstWord(t *testing.T) {
	r, _ := thinkingAs(t, slacktest.Options{Agent: true})
	r.begin()
	general, ann := r.place()
	asked := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "think hard"})
	r.status(general, asked, slackgo.AgentSessionStatusProcessing)
	r.eventually("it thinks", func() bool { return len(r.Model.Requests()) == 1 })
	r.w.StopSession(general, asked, ann)
	r.status(general, asked, slackgo.AgentSessionStatusActive)
	r.Idle(conversation(general))
	check.HasPrefix(t, "what the person reads", r.awaitPrivate(general, ann, 1).Shown(), "Stopped.")
	check.Equal(t, "the thread of that", r.botMessages(general, ann)[0].Thread, asked)
	check.Len(t, "messages that all see", r.botMessages(general), 0)
}

// The process ends without a word to Slack, which shows the session as busy.
func TestASessionEndsAfterACrash(t *testing.T) {
	r, general, ann := storyteller(t, slacktest.Options{})
	r.begin()
	thread := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "a thread"})
	r.telling(general, ann, thread)
	for _, method := range []string{setSession, "chat.stopStream", "chat.delete", "chat.update"} {
		r.w.Fail(slacktest.Fault{Of: method, Status: 502, Body: "<html>", Times: -1})
	}
	r.end()
	r.w.Clear()
	check.Equal(t, "sessions that Slack shows as busy", r.w.Processing(), 1)
	r.Model.Delay = 0
	r.begin()
	r.Idle(conversation(general, thread))
	r.status(general, thread, slackgo.AgentSessionStatusActive)
	text := strings.Join(r.botTexts(general), "")
	check.Equal(t, "how often the story ends", strings.Count(text, "the end"), 1)
	check.Equal(t, "the story", strings.Count(text, "word"), 2000)
}

// Beyond half of the rate limit an answer starts without a session, so that each session that was started can be ended.
func TestAgentsLeaveRoomForTheEndsOfSessions(t *testing.T) {
	r, letGo := thinkingAs(t, slacktest.Options{Agent: true})
	r.begin()
	gate := r.connector.api.gates.of(setSession)
	for gate.take(0, true) == 0 { // the share of the background
	}
	q := r.asked(t)
	r.eventually("the sign", func() bool { return len(r.reactions(q.channel, q.to[0])) == 1 })
	_, started := r.w.Session(q.channel, q.thread)
	check.That(t, !started && r.w.Status(q.channel, q.thread) == "", "there is a session, or words")
	letGo()
	r.answered(q.channel, "answer 1")
	r.eventually("it is gone", func() bool { return len(r.reactions(q.channel, q.to[0])) == 0 })
	check.Equal(t, "sessions that Slack shows as busy", r.w.Processing(), 0)
}

// The end of a session is tried again while Slack does not answer.
func TestTheEndOfASessionIsTriedAgain(t *testing.T) {
	r, letGo := thinkingAs(t, slacktest.Options{Agent: true})
	r.begin()
	q := r.asked(t)
	r.status(q.channel, q.thread, slackgo.AgentSessionStatusProcessing)
	r.w.Fail(slacktest.Fault{Of: "chat.startStream", Error: "channel_type_not_supported"}) // the end of a stream would end the session
	r.w.Fail(slacktest.Fault{Of: setSession, Status: 502, Body: "<html>", Times: 3})
	letGo()
	r.answered(q.channel, "answer 1")
	r.status(q.channel, q.thread, slackgo.AgentSessionStatusActive)
	check.Len(t, "calls, all but the first of them for the end", r.w.Calls(setSession), 5)
}

func TestAnAgentSuggestsWhatToWrite(t *testing.T) {
	var manifest struct {
		Features struct {
			Agent slackgo.AgentView `json:"agent_view"`
		}
	}
	check.NoError(t, json.Unmarshal(manifestJSON, &manifest))
	agent := manifest.Features.Agent
	check.That(t, len([]rune(agent.AgentDescription)) <= 300, "the description has more than 300 characters")
	for i, text := range []string{textAbilities, textMemories, textLast} {
		check.Equal(t, "a prompt of the manifest", agent.SuggestedPrompts[i], slackgo.ManifestSuggestedPrompt{Title: text, Message: text})
	}
	const method = "assistant.threads.setSuggestedPrompts"
	for claim, c := range map[string]struct {
		agent    bool
		language string
		calls    int
	}{
		"in the language that is spoken":  {true, "de", 1},
		"as the manifest, if it can":      {true, "en", 0},
		"if it is an agent, and not else": {false, "de", 0},
	} {
		t.Run(claim, func(t *testing.T) {
			r, _, ann := town(t, slacktest.Options{Agent: c.agent}, answerN)
			r.Language = c.language
			r.begin()
			r.w.Open(ann, "home")
			r.w.Open(ann, "messages")
			dm := r.w.DM(ann)
			r.w.Say(slacktest.Post{Channel: dm, User: ann, Text: "hello"})
			r.eventually("an answer", func() bool { return len(r.botTexts(dm)) == 1 })
			r.end() // what was started is done
			check.Len(t, "calls", r.w.Calls(method), c.calls)
			var titles []string
			for _, p := range r.w.Prompts(dm) {
				titles = append(titles, p.Title)
			}
			if c.calls > 0 {
				check.EqualAll(t, "the prompts", titles, []string{"Was kannst du?", "Was weißt du noch über mich?", "Wo waren wir stehen geblieben?"})
			}
		})
	}
}

// One place, or one message, in which Slack refuses a session says nothing of others.
func TestARefusalInOnePlaceLeavesOthersTheirSessions(t *testing.T) {
	r, letGo := thinkingAs(t, slacktest.Options{Agent: true})
	r.begin()
	for i, code := range []string{"invalid_arguments", "not_in_channel"} {
		r.w.Fail(slacktest.Fault{Of: setSession, Error: code})
		q := r.asked(t)
		r.eventually("the sign", func() bool { return len(r.reactions(q.channel, q.to[0])) == 1 })
		letGo()
		r.answered(q.channel, fmt.Sprint("answer ", 2*i+1))
		q = r.asked(t)
		r.status(q.channel, q.thread, slackgo.AgentSessionStatusProcessing)
		letGo()
		r.status(q.channel, q.thread, slackgo.AgentSessionStatusActive)
	}
}
