// Buttons: unknown ones, and those of a question about a tool.

package discord

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/channel/sentences"
	"cairn/connector/platform"
	"cairn/testkit/channeltest"
	"cairn/testkit/check"
	"cairn/testkit/discordtest"
)

func TestAnUnknownButtonIsAnsweredInWords(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	r.Language = "de"
	r.start().registered()
	want := sentences.In("de").Translate(command.TextNoButton)
	check.That(t, want != command.TextNoButton, "it has no translation")
	for _, id := range []string{"memories:2", "page x /memories", "page 1 /dance now"} { // of no version, of an older one, of a command that is gone
		row := fmt.Sprintf(`{"type":1,"components":[{"type":2,"style":2,"label":"Next","custom_id":%q}]}`, id)
		list := r.Post(r.square, r.Bot.ID, discordtest.Post{Components: []json.RawMessage{[]byte(row)}})
		check.Equal(t, id, r.privately(r.Click(r.square, r.ann.ID, list.ID, id)), want)
	}
	check.EqualAll(t, "the messages with the buttons", r.contents(r.square), []string{"", "", ""})
	form := r.answered(r.SubmitForm(r.square, r.ann.ID, "form"))
	check.That(t, form.Answer.Content == want && ephemeral(form.Answer), "a form is answered with %+v", form.Answer)
	check.Lacks(t, "the log", r.Log.String(), "command_failed")
}

// TestTheButtonOfADraftAfterACrash is under the beginning of an answer that an earlier process has shown.
func TestTheButtonOfADraftAfterACrash(t *testing.T) {
	r := newRig(t, discordtest.Options{}, quick).start().registered()
	question := r.Say(r.square, r.ann.ID, "question")
	r.heard(r.place(r.square), 1)
	half := newPost(r.square, "half of", question.ID, nonce("half"))
	half.add(commandButtons(channel.StopButton(r.Hub, r.place(r.square)))...)
	check.Must(r.connector.poster.create(r.ctx, r.square, half, false))(t)
	check.NoError(t, platform.Sleep(r.ctx, 5*time.Millisecond))
	r.connector.shards.list()[0].opened = time.Now() // a new process
	draft := r.sent(r.square)[0]
	stop := buttonsOf(t, &draft)["Stop"]
	check.Equal(t, "the button before the answer goes on", r.answered(r.Click(r.square, r.ann.ID, draft.ID, stop)).Answer.Content, "There is nothing to stop.")
	w := r.connector.Reply(r.place(r.square), []string{question.ID})
	r.sendAll(w, "half of it", question.ID)
	all := r.sent(r.square)
	check.That(t, len(all) == 1 && all[0].ID == draft.ID && len(all[0].Components) == 0, "the answer is %+v", all)
}

func TestAToolIsAllowedByAButton(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	box := &channeltest.Box{Approve: channel.ApproveAlways}
	r.Tools = box
	r.Model.Func = channeltest.Add
	bob := r.User("bob")
	r.Rules.Access = map[string]access.Access{"discord": {Owners: []string{r.ann.ID}}}
	r.start().registered()
	r.ask(r.square, "please add")
	check.Contains(t, "the question", r.answers(r.square, 1)[0], "May I call calc_add")
	question := r.sent(r.square)[0]
	_, rest, _ := strings.Cut(string(check.Must(json.Marshal(question.Components))(t)), `"custom_id":"`)
	allow, _, _ := strings.Cut(rest, `"`)
	check.Contains(t, "what a stranger reads", r.privately(r.Click(r.square, bob.ID, question.ID, allow)), "people who manage this place")
	check.Len(t, "calls that a stranger allowed", box.Called(), 0)
	r.Click(r.square, r.ann.ID, question.ID, allow)
	r.until("the answer", func() bool {
		all := r.sent(r.square)
		return strings.Contains(all[len(all)-1].Content, "The tool says: five") && strings.Contains(all[0].Content, "ann allowed the call of calc_add") && len(all[0].Components) == 0
	})
}

// A question is answered eight days later, by another process, where nothing waits for the answer.
func TestAToolIsAllowedByAButtonDaysLater(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	box := &channeltest.Box{Approve: channel.ApproveAlways}
	r.Tools = box
	r.Model.Func = channeltest.Add
	bob := r.User("bob")
	r.start().registered()
	r.ask(r.square, "please add")
	question := r.shown(r.square, "(May I call calc_add")
	r.restart(func() { r.Exec(channeltest.DaysLater) })
	r.Idle(r.place(r.square))
	check.Len(t, "messages, as before", r.contents(r.square), 1)
	allow := r.button(question, "/allow")
	check.Contains(t, "what a stranger reads", r.privately(r.Click(r.square, bob.ID, question.ID, allow)), "people who manage this place")
	check.Len(t, "calls that a stranger allowed", box.Called(), 0)
	r.Click(r.square, r.ann.ID, question.ID, allow)
	r.shown(r.square, "The tool says: five")
	r.shown(r.square, "ann allowed the call of calc_add; I go on with it.")
	check.Len(t, "calls", box.Called(), 1)
	r.ask(r.square, "please add") // the question is void when its call is asked about once more
	r.until("another question", func() bool { return len(r.contents(r.square)) == 3 })
	again := r.sent(r.square)[2]
	r.Slash(r.square, r.ann.ID, "stop")
	r.Idle(r.place(r.square))
	late := r.privately(r.Click(r.square, r.ann.ID, again.ID, r.button(again, "/allow")))
	check.Contains(t, "what a press that is too late brings", late, "No such tool call is waiting")
	check.Len(t, "calls", box.Called(), 1)
}
