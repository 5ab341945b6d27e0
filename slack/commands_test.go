// Commands, pages, and who may use them.

package slack

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/internal/check"
	"cairn/slack/slacktest"
)

// private are the messages that one person alone sees in a channel.
func (r *rig) private(channelID, person string) []slacktest.Message {
	var found []slacktest.Message
	for _, m := range r.w.Messages(channelID) {
		if m.OnlyFor == person {
			found = append(found, m)
		}
	}
	return found
}

// told waits for the n-th private message, and returns it.
func (r *rig) told(channelID, person string, n int) slacktest.Message {
	r.t.Helper()
	r.eventually(fmt.Sprintf("%s is told %d times", person, n), func() bool { return len(r.private(channelID, person)) >= n })
	return r.private(channelID, person)[n-1]
}

// again sends a command or a press once more, as after a lost acknowledgement.
func (r *rig) again(kind string) {
	all := r.w.Deliveries()
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Kind == kind {
			r.w.Sockets()[0].SendRaw(fmt.Sprintf(`{"type":%q,"envelope_id":"again","payload":%s}`, kind, all[i].Payload))
			return
		}
	}
	r.t.Fatalf("no %s", kind)
}

func TestAFailedAnswerOfACommandIsGivenOnce(t *testing.T) {
	t.Parallel()
	for claim, fault := range failures {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			r, general, ann := town(t, quick(), answerN)
			root := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "the root"})
			r.begin()
			fault.Method = "chat.postMessage"
			r.w.Fail(fault)
			for i, thing := range []string{"door", "roof"} {
				r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: mention + "/remember the " + thing + " is red"})
				r.eventually("it is answered", func() bool { return len(r.own(general)) > i })
			}
			for _, m := range r.own(general) {
				check.Contains(t, "the answer", m.Text, "I will remember that")
			}
			check.Equal(t, "answers", len(r.own(general)), 2)
		})
	}
}

func TestAFailedAnswerOverAResponseURLIsGivenOnce(t *testing.T) {
	t.Parallel()
	r, general, ann := connectedRig(t, quick(), answerN)
	for i, fault := range []slacktest.Fault{{RetryAfter: time.Second}, {Status: 502, Body: "<html>"}, {Status: 502, Body: "<html>", TakesEffect: true}} {
		fault.Method = "response_url"
		r.w.Fail(fault)
		r.w.Command(general, ann, "/cairn", "help")
		r.eventually("it is tried again", func() bool { return len(r.w.Calls("response_url")) == 2*(i+1) })
		check.Equal(t, "answers", len(r.private(general, ann)), i+1)
	}
}

func TestALongPageIsShortenedUntilSlackTakesIt(t *testing.T) {
	t.Parallel()
	r, general, _ := connectedRig(t, quick(), answerN)
	for _, letter := range []string{"x", "語", "<", `"`, "@here"} {
		var page channel.Answer
		for i := range 12 {
			page.Items = append(page.Items, fmt.Sprintf("#%d %s", i, strings.Repeat(letter, 3000)))
		}
		o := &messageAnswerer{s: r.connector, place: r.connector.place(general, "")}
		check.NoError(t, o.answer(t.Context(), command{line: "/expand 1"}, page))
		own := r.own(general)
		shown := own[len(own)-1].Shown()
		for i := range 10 {
			check.Contains(t, "a page of "+letter, shown, fmt.Sprintf("#%d ", i))
		}
		check.Contains(t, "a page of "+letter, shown, "(page 1 of 2)")
	}
}

func TestSlashCommands(t *testing.T) {
	t.Parallel()
	r, general, ann := connectedRig(t, quick(), answerN)

	for i, text := range []string{"", "help", "/help", "  HELP  "} {
		t.Run(fmt.Sprintf("/cairn %s shows the help", text), func(t *testing.T) {
			r.w.Command(general, ann, "/cairn", text)
			help := r.told(general, ann, i+1).Shown()
			check.Contains(t, "the result", help, "/cairn memories")
			if !strings.HasPrefix(help, "```\n") || !strings.HasSuffix(help, "\n```") { // aligned with spaces
				t.Errorf("no code block: %q", help)
			}
		})
	}
	t.Run("a command takes arguments", func(t *testing.T) {
		r.w.Command(general, ann, "/cairn", "remember the launch is on Friday & not <later>")
		r.told(general, ann, 5)
		r.w.Command(general, ann, "/cairn", "memories launch")
		check.Contains(t, "the result", r.told(general, ann, 6).Shown(), "the launch is on Friday &amp; not &lt;later&gt; (ann")
	})
	t.Run("an unknown one shows what there is", func(t *testing.T) {
		r.w.Command(general, ann, "/cairn", "dance")
		if got := r.told(general, ann, 7).Shown(); !strings.HasPrefix(got, channel.TextUnknown) || !strings.Contains(got, "/cairn memories") {
			t.Errorf("got %q", got)
		}
	})
	t.Run("one that others should see is answered for all", func(t *testing.T) {
		r.w.Command(general, ann, "/cairn", "stop")
		r.eventually("there is an answer", func() bool { return len(r.said(general)) == 1 })
	})
	t.Run("one that arrives twice is run once", func(t *testing.T) {
		r.w.Command(general, ann, "/cairn", "remember only once")
		r.told(general, ann, 8)
		r.again("slash_commands")
		r.w.Command(general, ann, "/cairn", "context") // behind it in the queue
		check.Contains(t, "the result", r.told(general, ann, 9).Shown(), "tokens")
	})
	r.eventually("all are acknowledged", r.acknowledged)
	for _, d := range r.w.Deliveries() {
		check.That(t, len(d.Answer) == 0 || string(d.Answer) == "null", "%s: acknowledged with %s", d.Kind, d.Answer)
	}
	r.keepsSecrets()
}

// Slack has no /compact: it refuses to send it.
func TestCommandsAreSpelledAsSlackHasThem(t *testing.T) {
	t.Parallel()
	r, general, ann := town(t, quick(), answerN)
	root := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "the root"})
	r.begin()
	bare := regexp.MustCompile(`(^|[^n\w] )/(` + strings.Join(commandNames(), "|") + `)\b|^/(` + strings.Join(commandNames(), "|") + `)\b`)
	n := 0
	tell := func(text string) string {
		n++
		r.w.Command(general, ann, "/cairn", text)
		return r.told(general, ann, n).Shown()
	}
	tell("remember the note says /stop and /cairn")
	for text, want := range map[string]string{
		"help": "/cairn compact [focus]", "expand": "/cairn expand 12", "forget": "/cairn forget me deletes", "forget me": "/cairn forget me yes",
		"pins": "/cairn pin #12", "optout": "/cairn optout off reverts this", "remember": "/cairn remember the", "settings": "/cairn settings is only for people",
		"unpin": "/cairn unpin is only for people", "recall": "/cairn recall when", "memories": "the note says /stop and /cairn",
	} {
		got := tell(text)
		if !strings.Contains(got, want) || text != "memories" && bare.MatchString(got) {
			t.Errorf("/cairn %s says %q, want %q and no bare command", text, got, want)
		}
	}
	check.Contains(t, "/cairn forget says", tell("forget 1"), "says /stop and", "/cairn memories restore 1 brings it back")
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: mention + "/expand"})
	r.eventually("it is answered", func() bool { return len(r.own(general)) == 1 })
	check.Contains(t, "in a thread it says", r.own(general)[0].Text, " /expand 12", "as @")
}

// That somebody lacks the rights is no news for all.
func TestARefusalIsForWhoeverAskedAlone(t *testing.T) {
	t.Parallel()
	r, general, ann := town(t, quick(), answerN)
	root := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "the root"})
	r.begin()
	r.w.Command(general, ann, "/cairn", "pause")
	check.Equal(t, "/cairn pause says", r.told(general, ann, 1).Shown(), "/cairn pause is only for people who manage this place. Ask one of them.")
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "/pause"})
	check.Contains(t, "/pause says", r.told(general, ann, 2).Shown(), "pause is only for people who manage")
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: mention + "/pause"})
	if m := r.told(general, ann, 3); m.Thread != root || !strings.Contains(m.Shown(), "/pause is only for people who manage") {
		t.Errorf("/pause in a thread: %+v", m)
	}
	for _, m := range r.own(general) {
		if m.OnlyFor == "" {
			t.Errorf("all read %q", m.Shown())
		}
	}
	dm := r.w.DM(ann) // alone with the bot everybody manages the place
	r.w.Command(dm, ann, "/cairn", "unpin 1")
	check.Contains(t, "the result", r.told(dm, ann, 1).Shown(), "not pinned")
}

func commandNames() (all []string) {
	for _, c := range channel.Commands {
		all = append(all, c.Name)
	}
	return all
}

func TestACommandAsAMessage(t *testing.T) {
	t.Parallel()
	r, general, ann := town(t, quick(), answerN)
	root := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "the root"})
	r.begin()
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: mention + "/remember the door is green"})
	r.eventually("it is answered", func() bool { return len(r.own(general)) == 1 })
	if m := r.own(general)[0]; m.Thread != root || !strings.Contains(m.Text, "I will remember that") {
		t.Errorf("got %+v", m)
	}
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: mention + "hello"})
	r.eventually("so is the message behind it", func() bool { return len(r.own(general)) == 2 })
	r.stored(conversation(general, root), "user: hello", "assistant: answer 1")

	t.Run("is no part of what is read later", func(t *testing.T) {
		page, err := r.connector.History(t.Context(), conversation(general, root), channel.Look{After: root, Limit: 100})
		said := page.Said
		check.That(t, err == nil && len(said) == 1 && said[0].Text == "hello", "%+v, %v", said, err)
	})
	t.Run("a path is none", func(t *testing.T) {
		r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: mention + "/etc/passwd is what?"})
		r.eventually("it is answered", func() bool { return len(r.own(general)) == 3 })
	})
}

func TestListsHavePages(t *testing.T) {
	t.Parallel()
	r, general, ann := connectedRig(t, quick(), answerN)
	for i := range 25 {
		check.NoError(t, failure3(r.hub.Run(t.Context(), conversation(general), channel.Person{ID: ann, Name: "ann"}, fmt.Sprintf("/remember thing %d of them", i+1))))
	}
	r.w.Command(general, ann, "/cairn", "memories")
	list := r.told(general, ann, 1)
	page := regexp.MustCompile(`\(page (\d) of 3\)`)
	turn := func(action, want string) {
		t.Helper()
		r.w.Press(general, list.TS, ann, actionPrefix+action)
		r.eventually("page "+want, func() bool {
			m := page.FindStringSubmatch(r.private(general, ann)[0].Shown())
			return m != nil && m[1] == want
		})
	}
	if !page.MatchString(list.Shown()) || strings.Contains(string(list.Blocks), "previous") {
		t.Fatalf("got %s", list.Shown())
	}
	turn("next", "2")
	turn("next", "3")
	check.Lacks(t, "the buttons of the last page", string(r.private(general, ann)[0].Blocks), actionPrefix+"next")
	turn("previous", "2")
	edits := r.private(general, ann)[0].Edits
	r.again("interactive")
	turn("previous", "1")
	if got := r.private(general, ann)[0].Edits; got != edits+1 {
		t.Errorf("%d edits for one press and a repeated one", got-edits)
	}
	check.Equal(t, "messages for one list", len(r.private(general, ann)), 1)
	for _, complaint := range r.w.Complaints() {
		if !strings.Contains(complaint, `"again"`) { // that envelope was the test's own
			t.Errorf("slack complains: %s", complaint)
		}
	}
}

func TestTheEndOfWhatACommandBeganTakesItsPlace(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick(), answerN)
	_, ann := r.place()
	dm := r.w.DM(ann)
	r.begin()
	for i := range 8 {
		r.w.Say(slacktest.Post{Channel: dm, User: ann, Text: strings.Repeat(fmt.Sprint("Fact ", i, " is that it rains. "), 40)})
		r.awaitAnswers(dm, i+1)
	}
	r.w.Command(dm, ann, "/cairn", "compact")
	r.eventually("it is answered", func() bool { return len(r.private(dm, ann)) == 1 })
	r.eventually("the end takes the place of the answer", func() bool {
		m := r.private(dm, ann)
		return len(m) == 1 && m[0].Edits == 1 && strings.Contains(m[0].Shown(), "Summarized")
	})
}
