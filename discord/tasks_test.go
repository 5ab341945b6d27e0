package discord

import (
	"context"
	"fmt"
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
	r := newRig(t, discordtest.Options{})
	r.model.Func, r.helper = channeltest.Delegate, &llmtest.Model{Func: func(context.Context, int, llm.Request) (llm.Response, error) { return llmtest.Say("42"), nil }}
	r.start()
	r.converse("count", 2)
	check.EqualAll(t, "answers", r.answers(r.square, 2), []string{"started", "they say 42"})

	t.Run("and what is said while the bot is away after it", func(t *testing.T) {
		r.idle(r.place(r.square))
		r.stop()
		r.ask(r.square, "back?")
		r.start()
		check.NoError(t, r.hub.Recover(r.ctx, func(string) bool { return true }))
		check.Equal(t, "answer", r.answers(r.square, 3)[2], "yes")
	})
}

// TestResultOfATaskReplacesNoAnswer: both answer the same message, and the result comes after a restart.
func TestResultOfATaskReplacesNoAnswer(t *testing.T) {
	for claim, inDoubt := range map[string]bool{"when it is sent": false, "when it may have been sent": true} {
		t.Run(claim, func(t *testing.T) {
			r := newRig(t, discordtest.Options{})
			r.model.Func = channeltest.Delegate
			r.start()
			r.converse("go", 1)
			asked := r.answers(r.square, 1)
			r.idle(r.place(r.square))
			question := r.heard(r.place(r.square), 1)[0].ID
			r.stop()
			r.start()
			piece := channel.Piece{Row: 99, Reply: "reply-99", Parts: 1, Text: "they say 42", To: []string{question}, Sending: inDoubt}
			check.Must(r.connector.Reply(r.place(r.square), piece.To).Send(r.ctx, piece))(t)
			check.EqualAll(t, "answers", r.answers(r.square, 2), append(asked, "they say 42"))
		})
	}
}

// TestResultOfATaskIsLookedFor: the crash came after its answer was sent, and before that was noted.
func TestResultOfATaskIsLookedFor(t *testing.T) {
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
