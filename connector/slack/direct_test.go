// Direct messages with an agent, which consist of threads.

package slack

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/testkit/check"
	"cairn/testkit/slacktest"
)

// talk is a direct message of ann with an agent, or another app.
type talk struct {
	*rig
	dm, ann, name string
}

func newTalk(t *testing.T, o slacktest.Options, direct string) *talk {
	t.Helper()
	r, _, ann := town(t, o, answerN)
	r.opts.ReplyIn = replyAuto
	r.opts.Direct = direct
	r.begin()
	d := &talk{rig: r, dm: r.w.DM(ann), ann: ann}
	d.name = conversation(d.dm)
	return d
}

// say has ann write something, in a thread or, if that is empty, at the top.
func (d *talk) say(thread, text string) (ts string) {
	return d.w.Say(slacktest.Post{Channel: d.dm, User: d.ann, Thread: thread, Text: text})
}

// answeredIn waits for the n-th answer, in a thread.
func (d *talk) answeredIn(n int, thread string) {
	d.T.Helper()
	answer := fmt.Sprint("answer ", n)
	d.eventually(answer, func() bool { return strings.HasSuffix(strings.Join(d.botTexts(d.dm), " "), answer) })
	d.inThread(d.dm, thread, answer)
	d.Idle(d.name)
}

func TestADirectMessageWithAnAgentIsOneConversation(t *testing.T) {
	d := newTalk(t, slacktest.Options{Agent: true}, "")
	first := d.say("", "my cat is Tom")
	d.answeredIn(1, first)
	second := d.say("", "and my dog Rex")
	d.answeredIn(2, second)
	d.say(first, "who is Tom?")
	d.answeredIn(3, first)
	d.stored(d.name, "user: my cat is Tom", "assistant: answer 1", "user: and my dog Rex", "assistant: answer 2", "user: who is Tom?", "assistant: answer 3")
	check.Contains(t, "what the model is shown", fmt.Sprint(d.Model.Requests()[2].Messages), "my dog Rex", "replying to #1")
	check.Equal(t, "how a command is written", d.connector.Spell(d.name, "/help"), "@app /help")
	d.say(first, "/memories")
	d.inThread(d.dm, first, "memor")
	command := d.say("", "/memories")
	d.eventually("the other command is answered", func() bool { return len(d.botMessages(d.dm)) == 5 })
	check.Equal(t, "the thread of its answer", d.botMessages(d.dm)[4].Thread, command)

	d.w.Delete(d.dm, first) // its replies stay
	d.stored(d.name, "assistant: answer 1", "user: and my dog Rex", "assistant: answer 2", "user: who is Tom?", "assistant: answer 3")
	d.say(first, "and now?")
	d.answeredIn(4, first)
}

// The thread of a question is on disk, because what is cached does not survive a restart.
func TestAnAgentAnswersInTheThreadAfterARestart(t *testing.T) {
	r, letGo := thinkingAs(t, slacktest.Options{Agent: true})
	r.begin()
	d := &talk{rig: r, ann: r.w.AddUser("ann")}
	d.dm = r.w.DM(d.ann)
	d.name = conversation(d.dm)
	root := d.say("", "first")
	letGo()
	d.answeredIn(1, root)
	d.say(root, "second")
	r.eventually("it thinks", func() bool { return len(r.Model.Requests()) == 2 })
	r.end()
	r.begin()
	go letGo()
	d.answeredIn(3, root)
	r.eventually("no session is busy", func() bool { return r.w.Processing() == 0 })
}

func TestWhatAnAgentMissedInThreadsIsRead(t *testing.T) {
	const minute = time.Second // a short one: Slack lets an app read 50 threads in a long one
	r, _, ann := town(t, slacktest.Options{Agent: true, Minute: minute}, answerN)
	r.tune = func(s *Slack) { s.api.gates.window = minute + 100*time.Millisecond }
	r.begin()
	d := &talk{rig: r, dm: r.w.DM(ann), ann: ann}
	d.name = conversation(d.dm)
	const roots = 50
	var all []string
	for n := range roots {
		all = append(all, d.w.Say(slacktest.Post{Channel: d.dm, User: d.ann, Text: fmt.Sprint("root ", n), Untold: true}))
	}
	root := d.say("", "hello")
	d.answeredIn(1, root)
	d.end()
	var missed []string
	for n, thread := range all {
		missed = append(missed, fmt.Sprint("missed ", n))
		d.w.Say(slacktest.Post{Channel: d.dm, User: d.ann, Thread: thread, Text: missed[n], Untold: true})
	}
	d.begin()
	d.eventually("all is read", func() bool {
		read := 0
		for _, m := range d.Transcript(d.name) {
			if strings.HasPrefix(m.Text, "missed ") {
				read++
			}
		}
		return read == roots
	})
	d.Idle(d.name)
	var read []string
	for _, m := range d.Transcript(d.name) {
		if strings.HasPrefix(m.Text, "missed ") {
			read = append(read, m.Text)
		}
	}
	check.EqualAll(t, "what was missed, in order", read, missed)
	check.Equal(t, "the thread of the answer", d.botMessages(d.dm)[1].Thread, all[roots-1])
}

func TestThreadsOfADirectMessageMayBeConversations(t *testing.T) {
	d := newTalk(t, slacktest.Options{Agent: true}, directThreads)
	first := d.say("", "my cat is Tom")
	d.answeredIn(1, first)
	d.say(first, "who is Tom?")
	d.answeredIn(2, first)
	second := d.say("", "hello")
	d.answeredIn(3, second)
	d.stored(conversation(d.dm, first), "user: who is Tom?", "assistant: answer 2")
	d.stored(d.name, "user: my cat is Tom", "assistant: answer 1", "user: hello", "assistant: answer 3")
}

func TestADirectMessageWithAnotherAppIsAsBefore(t *testing.T) {
	d := newTalk(t, slacktest.Options{}, "")
	first := d.say("", "my cat is Tom")
	d.answeredIn(1, "")
	d.say(first, "who is Tom?")
	d.answeredIn(2, first)
	d.stored(conversation(d.dm, first), "user: who is Tom?", "assistant: answer 2")
	d.stored(d.name, "user: my cat is Tom", "assistant: answer 1")
	check.Equal(t, "how a command is written", d.connector.Spell(d.name, "/help"), "/cairn help")
	check.Len(t, "calls for a session", d.w.Calls(setSession), 0)
}

// A thread may hang on a message so far back that nobody reads it: what is written there is not taken for deleted.
func TestAReplyInAnOldThreadIsNotTakenForDeleted(t *testing.T) {
	d := newTalk(t, slacktest.Options{Agent: true}, "")
	old := d.w.Say(slacktest.Post{Channel: d.dm, User: d.ann, Text: "old", Untold: true})
	for n := range pageSize + 1 {
		d.w.Say(slacktest.Post{Channel: d.dm, User: d.ann, Text: fmt.Sprint("root ", n), Untold: true})
	}
	d.say(old, "my cat is Tom")
	d.answeredIn(1, old)
	before := len(d.Transcript(d.name))
	d.end()
	d.Age()
	calls := len(d.w.Calls("conversations.history"))
	d.begin()
	d.eventually("the history is read", func() bool { return len(d.w.Calls("conversations.history")) > calls })
	d.Idle(d.name)
	check.Equal(t, "messages", len(d.Transcript(d.name)), before)
	check.Lacks(t, "the log", d.Log.String(), "missed_deletions_applied")
	d.say(old, "who is Tom?")
	d.answeredIn(2, old)
	check.Contains(t, "what the model is shown", fmt.Sprint(d.Model.Requests()[1].Messages), "my cat is Tom")
}

// Another setting, or an app that is no agent any more, reads no threads: what was said there stays.
func TestThreadsAreNotTakenForDeletedAfterAChangeOfSettings(t *testing.T) {
	d := newTalk(t, slacktest.Options{Agent: true}, "")
	root := d.say("", "my cat is Tom")
	d.answeredIn(1, root)
	reply := d.say(root, "and my dog Rex")
	d.answeredIn(2, root)
	gone := d.say("", "the launch is on Friday")
	d.answeredIn(3, gone)
	want := []string{"user: my cat is Tom", "assistant: answer 1", "user: and my dog Rex", "assistant: answer 2", "user: the launch is on Friday", "assistant: answer 3"}
	d.stored(d.name, want...)
	for _, direct := range []string{directThreads, ""} {
		d.end()
		d.Age()
		d.opts.Direct = direct
		calls := len(d.w.Calls("conversations.history"))
		d.begin()
		d.eventually("the history is read", func() bool { return len(d.w.Calls("conversations.history")) > calls })
		d.Idle(d.name)
		d.stored(d.name, want...)
	}

	d.end()
	d.opts.Direct = directThreads
	d.begin()
	d.w.Edit(d.dm, reply, "and my dog Max")
	want[2] = "user: and my dog Max"
	d.stored(d.name, want...)
	later := d.say(gone, "on Monday")
	d.answeredIn(4, gone)
	check.Len(t, "answers", d.botTexts(d.dm), 4)
	d.w.Delete(d.dm, reply)
	d.stored(d.name, append(want[:2:2], want[3:]...)...)
	d.end()
	d.opts.Direct = ""
	d.begin()
	d.say("", "hello")
	d.eventually("the next answer", func() bool { return len(d.botTexts(d.dm)) == 5 })
	d.w.Edit(d.dm, later, "on Tuesday")
	d.stored(conversation(d.dm, gone), "user: on Tuesday", "assistant: answer 4")
	d.w.Delete(d.dm, later)
	d.stored(conversation(d.dm, gone), "assistant: answer 4")
}

// A new database knows nothing of an old direct message, whose threads are too many to read while somebody waits.
func TestAnAgentReadsTheNewestThreadsOfAnOldDirectMessage(t *testing.T) {
	r, _, ann := town(t, slacktest.Options{Agent: true}, answerN)
	d := &talk{rig: r, dm: r.w.DM(ann), ann: ann}
	d.name = conversation(d.dm)
	for n := range maxRoots + 5 {
		root := d.w.Say(slacktest.Post{Channel: d.dm, User: d.ann, Text: fmt.Sprint("root ", n), Untold: true})
		d.w.Say(slacktest.Post{Channel: d.dm, User: d.ann, Thread: root, Text: fmt.Sprint("reply ", n), Untold: true})
	}
	d.begin()
	d.answeredIn(1, d.say("", "hello"))
	check.Len(t, "threads that were read", d.w.Calls("conversations.replies"), maxRoots)
	var known []string
	for _, m := range d.Transcript(d.name) {
		if strings.HasPrefix(m.Text, "reply ") {
			known = append(known, m.Text)
		}
	}
	check.EqualAll(t, "the replies, in order", known, numbered("reply ", maxRoots+4)[4:])
	check.Contains(t, "what the model is shown", fmt.Sprint(d.Model.Requests()[0].Messages), "root 0", fmt.Sprint("reply ", maxRoots+4))
}
