// Commands, pages, and who may use them.

package slack

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/channel/sentences"
	"cairn/testkit/check"
	"cairn/testkit/slacktest"
)

// again sends a command or a press once more, as after a lost acknowledgement.
func (r *rig) again(kind string) {
	for _, d := range slices.Backward(r.w.Deliveries()) {
		if d.Kind == kind {
			r.w.Sockets()[0].SendRaw(fmt.Sprintf(`{"type":%q,"envelope_id":"again","payload":%s}`, kind, d.Payload))
			return
		}
	}
	r.T.Fatalf("no %s", kind)
}

// command has somebody run a command, and returns what they alone are told.
func (r *rig) command(channelID, who, text string) string {
	r.T.Helper()
	n := len(r.botMessages(channelID, who))
	r.w.Command(channelID, who, "/cairn", text)
	return r.awaitPrivate(channelID, who, n+1).Shown()
}

func (r *rig) run(channelID, who, line string) command.Answer {
	r.T.Helper()
	answer, _, err := r.Hub.Run(r.T.Context(), conversation(channelID), access.Person{ID: who, Name: "ann", Manager: true}, line)
	check.NoError(r.T, err)
	return answer
}

func TestAWrittenCommandComesBeforeWhatFollowsIt(t *testing.T) {
	r, _, ann := connectedRig(t, slacktest.Options{}, answerN)
	dm := r.w.DM(ann)
	say := func(text string) { r.w.Say(slacktest.Post{Channel: dm, User: ann, Text: text}) }
	say("before")
	r.answered(dm, "answer 1")
	r.w.Fail(slacktest.Fault{Of: "users.info", Delay: 200 * time.Millisecond}) // whether she may run it
	say("/new")
	say("after")
	r.eventually("both are answered", func() bool { return len(r.botTexts(dm)) == 3 })
	check.Lacks(t, "the new session", fmt.Sprint(r.Model.Requests()[1].Messages), "[#1 ")
	r.w.Fail(slacktest.Fault{Of: "users.info", RetryAfter: time.Minute})
	say("/help")
	r.eventually("all is acknowledged", r.acknowledged)
	for _, d := range r.w.Deliveries() {
		check.That(t, d.Acked.Sub(d.Sent) < 4*time.Second, "acknowledged after %v: %s", d.Acked.Sub(d.Sent), d.Payload)
	}
}

// Messages wait for a rewrite of the database in the queues of their channels; a command does not, or only in that of its own.
func TestForgetForgetsWhatStillWaits(t *testing.T) {
	const line = "forget me everywhere yes"
	for _, written := range []bool{false, true} {
		t.Run(fmt.Sprint("written: ", written), func(t *testing.T) {
			r, general, ann := connectedRig(t, slacktest.Options{}, answerN)
			r.ask(general, ann, 1)
			lobby := r.w.AddChannel("lobby", ann)
			places := []string{general}
			if !written {
				places = append(places, lobby)
			}
			gate := make(chan struct{})
			events := r.connector.sockets.events
			for _, place := range places {
				events.queue.Add(place, event{}, func(batch []event) {
					<-gate
					events.handle(slices.DeleteFunc(batch, func(e event) bool { return e.ack == nil }))
				})
				r.w.Say(slacktest.Post{Channel: place, User: ann, Text: "the code is 4711"})
			}
			if written {
				r.w.Say(slacktest.Post{Channel: lobby, User: ann, Text: mention + "/" + line})
			} else {
				r.w.Command(lobby, ann, "/cairn", line)
			}
			time.Sleep(500 * time.Millisecond) // the command arrives
			close(gate)
			r.eventually("it is deleted", func() bool {
				return strings.Contains(fmt.Sprint(r.botMessages(lobby), r.botMessages(lobby, ann)), "Deleted: ")
			})
			events.queue.Settle(t.Context(), "")
			for _, place := range places {
				r.Idle(conversation(place))
				check.Lacks(t, "what is stored", fmt.Sprint(r.Transcript(conversation(place))), "4711")
			}
		})
	}
}

// How a request may fail in other ways: TestAFailureWhileItIsShownIsRepaired.
func TestAFailedAnswerOfACommandIsGivenOnce(t *testing.T) {
	r, general, ann := connectedRig(t, slacktest.Options{}, answerN)
	root := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "the root"})
	answers := 0
	for _, c := range []struct {
		fault          slacktest.Fault
		calls, answers int
	}{
		{slacktest.Fault{Of: "chat.postMessage", Status: 502, Body: "<html>"}, 2, 1},
		{slacktest.Fault{Of: "chat.postMessage", Status: 502, Body: "<html>", Done: true}, 1, 1},
		{slacktest.Fault{Of: "chat.postMessage", Error: "msg_too_long"}, 1, 0}, // for good
		{slacktest.Fault{Of: "response_url", RetryAfter: time.Second}, 2, 1},
		{slacktest.Fault{Of: "response_url", Status: 502, Body: "<html>"}, 2, 1},
		{slacktest.Fault{Of: "response_url", Status: 502, Body: "<html>", Done: true}, 2, 1},
		{slacktest.Fault{Of: "response_url", Status: 502, Times: maxTries}, maxTries, 0}, // too often
	} {
		before := len(r.w.Calls(c.fault.Of))
		gone := strings.Count(r.Log.String(), "command_failed")
		r.w.Fail(c.fault)
		for i, want := range []int{c.answers, 1} { // one that fails, and the next
			answers += want
			if c.fault.Of == "response_url" {
				r.w.Command(general, ann, "/cairn", "help")
			} else {
				r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: mention + "/remember the door is red"})
			}
			r.eventually("it is answered, or given up", func() bool {
				return strings.Count(r.Log.String(), "command_failed") == gone+1-c.answers && len(r.w.Calls(c.fault.Of)) == before+c.calls+i
			})
			check.Len(t, fmt.Sprintf("answers after %+v", c.fault), append(r.botMessages(general), r.botMessages(general, ann)...), answers)
		}
	}
	for _, m := range r.botMessages(general) {
		check.That(t, m.Thread == root && strings.Contains(m.Text, "memory"), "the answer is %+v", m)
	}
}

func TestSlashCommands(t *testing.T) {
	r, general, ann := connectedRig(t, slacktest.Options{}, answerN)
	tell := func(text string) string { return r.command(general, ann, text) }
	tell("remember only once")
	r.again("slash_commands")
	for _, text := range []string{"", "help", "/help", "  HELP  "} {
		help := tell(text)
		check.Contains(t, "the help", help, "/cairn memories")
		check.That(t, strings.HasPrefix(help, "```\n") && strings.HasSuffix(help, "\n```"), "no code block: %q", help) // aligned with spaces
	}
	tell("remember the launch is on Friday & not <later>")
	check.Contains(t, "the result", tell("memories launch"), "the launch is on Friday &amp; not &lt;later&gt; (ann")
	unknown := tell("dance")
	check.HasPrefix(t, "what an unknown one is answered", unknown, command.TextUnknown)
	check.Contains(t, "what an unknown one is answered", unknown, "/cairn memories")
	r.w.Command(general, ann, "/cairn", "stop")
	r.eventually("one that others should see is answered for all", func() bool { return len(r.botTexts(general)) == 1 })
	check.Len(t, "answers, of which a repeated command has but one", r.botMessages(general, ann), 8)
	r.eventually("all are acknowledged", r.acknowledged)
	dm := r.w.DM(ann)
	for i := range 8 {
		r.w.Say(slacktest.Post{Channel: dm, User: ann, Text: strings.Repeat(fmt.Sprint("Fact ", i, " is that it rains. "), 40)})
		r.awaitAnswers(dm, i+1)
	}
	r.w.Command(dm, ann, "/cairn", "compact")
	r.eventually("the end of what it began takes the place of the answer", func() bool {
		m := r.botMessages(dm, ann)
		return len(m) == 1 && m[0].Edits == 1 && strings.Contains(m[0].Shown(), "Summarized")
	})
	check.Lacks(t, "the log", r.Log.String(), r.opts.BotToken, r.opts.AppToken, "/respond/", "ticket=")
}

func TestCommandsAreMessagesOrSpelledAsSlackHasThem(t *testing.T) {
	r, general, ann := town(t, slacktest.Options{}, answerN)
	root := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "the root"})
	r.begin()
	for n, text := range []string{"/remember the door is green", "hello", "/etc/passwd is what?"} { // a path is none
		r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: mention + text})
		r.eventually("it is answered", func() bool { return len(r.botMessages(general)) == n+1 })
	}
	m := r.botMessages(general)[0]
	check.That(t, m.Thread == root && strings.Contains(m.Text, "Saved as memory"), "got %+v", m)
	r.stored(conversation(general, root), "user: hello", "assistant: answer 1", "user: /etc/passwd is what?", "assistant: answer 2")
	said := check.Must(r.connector.History(t.Context(), conversation(general, root), channel.Look{After: root, Limit: 100}))(t).Messages
	check.Len(t, "what is read later, of which it is no part", said, 2)

	// Slack has no /compact: it refuses to send it.
	bare := regexp.MustCompile(`(^|\W)/[a-z]`)
	tell := func(text string) string { return r.command(general, ann, text) }
	tell("remember the note says /stop and /cairn")
	for text, want := range map[string]string{
		"help": "/cairn recap [focus]", "forget": "/cairn forget me deletes", "optout": "/cairn optout off reverts this",
		"settings": "/cairn settings is only for people", "memories": "the note says /stop and /cairn",
	} {
		got := tell(text)
		found := bare.MatchString(strings.ReplaceAll(got, "/cairn", ""))
		check.That(t, strings.Contains(got, want) && (text == "memories" || !found), "/cairn %s says %q, want %q and no bare command", text, got, want)
	}
	check.Contains(t, "/cairn forget says", tell("forget 2"), "says /stop and", "/cairn memories restore 2 brings it back")
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: mention + "/expand"})
	r.eventually("it is answered", func() bool { return len(r.botMessages(general)) == 4 })
	check.Contains(t, "in a thread it says", r.botMessages(general)[3].Text, " /expand 12", "as @")

	// That somebody lacks the rights is no news for all.
	check.Equal(t, "/cairn pause says", tell("pause"), "/cairn pause is only for people who manage this place. Ask one of them.")
	n := len(r.botMessages(general, ann))
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "/pause"})
	check.Contains(t, "/pause says", r.awaitPrivate(general, ann, n+1).Shown(), "pause is only for people who manage")
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: mention + "/pause"})
	m = r.awaitPrivate(general, ann, n+2)
	check.That(t, m.Thread == root && strings.Contains(m.Shown(), "/pause is only for people who manage"), "/pause in a thread: %+v", m)
	check.Len(t, "what all read", r.botMessages(general), 4)
	dm := r.w.DM(ann) // alone with the bot everybody manages the place
	check.Contains(t, "the result", r.command(dm, ann, "unpin 1"), "not pinned")
}

func TestAnUnknownButtonIsAnsweredInWords(t *testing.T) {
	r, general, ann := town(t, slacktest.Options{}, answerN)
	r.Language = "ja"
	r.begin()
	want := sentences.In("ja").Translate(command.TextNoButton)
	check.That(t, want != command.TextNoButton, "it has no translation")
	root := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "the root"})
	for n, action := range []string{
		`"action_id":"memories_next","value":"2"`,                                               // of no version
		`"action_id":"` + actionPrefix + `next","value":"memories 2"`,                           // of an older one
		`"action_id":"` + actionPrefix + `next","value":"{\"line\":\"/dance now\",\"page\":1}"`, // of a command that is gone
	} {
		blocks := `[{"type":"actions","block_id":"b","elements":[{"type":"button","text":{"type":"plain_text","text":"Next"},` + action + `}]}]`
		list := r.w.Say(slacktest.Post{Channel: general, User: slacktest.BotUserID, Text: "a list", Thread: root, Blocks: json.RawMessage(blocks)})
		id, _, _ := strings.Cut(strings.TrimPrefix(action, `"action_id":"`), `"`)
		r.w.Press(general, list, ann, id)
		m := r.awaitPrivate(general, ann, n+1)
		check.That(t, m.Shown() == want && m.Thread == root, "%s is answered with %+v", action, m)
	}
	r.eventually("all is acknowledged", r.acknowledged)
	check.Lacks(t, "the log", r.Log.String(), "command_failed")
}

func TestListsHavePages(t *testing.T) {
	r, general, ann := connectedRig(t, slacktest.Options{}, answerN)
	for i := range 25 {
		r.run(general, ann, fmt.Sprintf("/remember thing %d of them", i+1))
	}
	r.command(general, ann, "memories")
	list := r.botMessages(general, ann)[0]
	page := regexp.MustCompile(`\(page (\d) of 3\)`)
	newest := func() slacktest.Message { return r.botMessages(general, ann)[0] }
	turn := func(action, want string) {
		t.Helper()
		r.w.Press(general, list.TS, ann, actionPrefix+action)
		r.eventually("page "+want, func() bool { m := page.FindStringSubmatch(newest().Shown()); return m != nil && m[1] == want })
	}
	check.Require(t, page.MatchString(list.Shown()) && !strings.Contains(string(list.Blocks), "previous"), "got %s", list.Shown())
	turn("next", "2")
	turn("next", "3")
	check.Lacks(t, "the buttons of the last page", string(newest().Blocks), actionPrefix+"next")
	turn("previous", "2")
	edits := newest().Edits
	r.again("interactive")
	turn("previous", "1")
	check.Equal(t, "edits for one press and a repeated one", newest().Edits-edits, 1)
	check.Equal(t, "messages for one list", len(r.botMessages(general, ann)), 1)

	t.Run("that are shortened until Slack takes them", func(t *testing.T) {
		for _, letter := range []string{"x", "語", "<", `"`, "@here"} {
			var page command.Answer
			for i := range 12 {
				page.Items = append(page.Items, fmt.Sprintf("#%d %s", i, strings.Repeat(letter, 3000)))
			}
			answer := r.connector.commands.asMessage(typed{place: r.connector.self.place(general, ""), line: "/expand 1"}, "")
			check.NoError(t, answer(t.Context(), page))
			own := r.botMessages(general)
			shown := own[len(own)-1].Shown()
			for i := range 10 {
				check.Contains(t, "a page of "+letter, shown, fmt.Sprintf("#%d ", i))
			}
			check.Contains(t, "a page of "+letter, shown, "(page 1 of 2)")
		}
	})
}
