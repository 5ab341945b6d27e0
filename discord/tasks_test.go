// Results of tasks, and questions about tools.

package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/channel/channeltest"
	"cairn/chat"
	"cairn/discord/discordtest"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/store"
)

func TestResultOfATaskIsAnswered(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{})
	r.model.Func, r.helper = channeltest.Delegate, &llmtest.Model{Func: func(context.Context, int, llm.Request) (llm.Response, error) { return llmtest.Say("42"), nil }}
	r.start()
	r.converse("count", 2)
	check.EqualAll(t, "answers", r.answers(r.square, 2), []string{"started", "they say 42"})
	r.idle(r.place(r.square))
	r.restart(func() { r.ask(r.square, "back?") }) // said while the bot is away after it
	r.answersLast(r.square, 3, "yes")
}

// TestResultOfATaskReplacesNoAnswer: both answer the same message, and the result comes after a restart.
func TestResultOfATaskReplacesNoAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{})
	r.model.Func = channeltest.Delegate
	r.start()
	r.converse("go", 1)
	r.converse("go on", 2)
	asked := r.answers(r.square, 2)
	r.idle(r.place(r.square))
	questions := r.heard(r.place(r.square), 2)
	r.restart()
	for i, sending := range []bool{false, true} { // when it is sent, and when it may have been sent
		piece := channel.Piece{Row: 99, Reply: fmt.Sprint("reply-", i), Parts: 1, Text: fmt.Sprint("they say ", i), To: []string{questions[i].ID}, Sending: sending}
		asked = append(asked, piece.Text)
		check.Must(r.connector.Reply(r.place(r.square), piece.To).Send(r.ctx, piece))(t)
		check.EqualAll(t, "answers", r.answers(r.square, len(asked)), asked)
	}
}

// TestResultOfATaskIsLookedFor: the crash came after its answer was sent, and before that was noted.
func TestResultOfATaskIsLookedFor(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start()
	name := r.place(r.square)
	first := r.Say(r.square, r.ann.ID, "by the way")
	said := r.heard(name, 1)[0]
	said.Addressed = true
	result := said
	result.ID = store.TaskID + "-1"
	conv := check.Must(r.store.Find(r.ctx, name))(t)
	to := conv.Turns().Of([]chat.Message{said, result}).To
	check.EqualAll(t, "ids that the platform knows", to, []string{first.ID})
	for _, to := range [][]string{to, conv.Turns().Of([]chat.Message{result}).To} {
		piece := channel.Piece{Row: 1, Reply: fmt.Sprint("reply-", len(to)), Parts: 1, Text: "they say 42", To: to}
		id := check.Must(r.connector.Reply(name, nil).Send(r.ctx, piece))(t)
		piece.Sending = true
		check.Equal(t, "message", check.Must(r.connector.Reply(name, nil).Send(r.ctx, piece))(t), id)
	}
}

func TestAToolIsAllowedByAButton(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{})
	box := &channeltest.Box{Approve: channel.ApproveAlways}
	r.tools, r.model.Func = box, channeltest.Add
	bob := r.User("bob")
	r.rules.Access = map[string]channel.Access{"discord": {Owners: []string{r.ann.ID}}}
	r.start().registered()
	r.ask(r.square, "please add")
	r.until("the question", func() bool {
		s := r.contents(r.square)
		return len(s) > 0 && strings.Contains(s[0], "May I call calc_add")
	})
	question := r.sent(r.square)[0]
	_, rest, _ := strings.Cut(string(check.Must(json.Marshal(question.Components))(t)), `"custom_id":"`)
	allow, _, _ := strings.Cut(rest, `"`)
	check.Contains(t, "a stranger is told", r.privately(r.Click(r.square, bob.ID, question.ID, allow)), "people who manage this place")
	check.Len(t, "calls that a stranger allowed", box.Called(), 0)
	r.Click(r.square, r.ann.ID, question.ID, allow)
	r.until("the answer", func() bool {
		all := r.sent(r.square)
		return strings.Contains(all[len(all)-1].Content, "The tool says: five") && strings.Contains(all[0].Content, "ann allowed the call of calc_add") && len(all[0].Components) == 0
	})
}
