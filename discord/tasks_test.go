package discord

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/chat"
	"cairn/discord/discordtest"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/store"
)

// delegating gives a task to the helper, and answers with its result.
func delegating(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
	said := ""
	for i := len(req.Messages) - 1; i >= 0 && req.Messages[i].Role == llm.RoleUser; i-- {
		said += req.Messages[i].Text
	}
	switch {
	case strings.Contains(said, "[Result of task"):
		return llmtest.Say("they say 42"), nil
	case strings.Contains(said, "count"):
		return llmtest.Use(llmtest.Call("1", "spawn", map[string]any{"agent": "helper", "task": "count"})), nil
	case strings.Contains(said, "back?"):
		return llmtest.Say("yes"), nil
	}
	return llmtest.Say("started"), nil
}

func TestResultOfATaskIsAnswered(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	r.model.Func, r.helper = delegating, &llmtest.Model{Func: func(context.Context, int, llm.Request) (llm.Response, error) { return llmtest.Say("42"), nil }}
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
