// What was said: by the bot on the double, and by people as the bot has stored it.

package discord

import (
	"fmt"
	"slices"
	"time"

	"cairn/chat"
	"cairn/discord/discordtest"
	"cairn/internal/check"
	"cairn/internal/platform"
	"cairn/store"
)

// answers waits until the bot has posted n messages in a place, and returns the texts.
func (r *rig) answers(place string, n int) (texts []string) {
	r.t.Helper()
	r.until(fmt.Sprintf("%d answers", n), func() bool { return len(r.sent(place)) >= n })
	for _, m := range r.sent(place) {
		texts = append(texts, m.Content)
	}
	check.Require(r.t, len(texts) <= n, "%d answers, want %d: %q", len(texts), n, texts)
	return texts
}

// answersLast waits until the bot has posted n messages in a place, and checks what the last of them says.
func (r *rig) answersLast(place string, n int, want string) {
	r.t.Helper()
	check.Equal(r.t, "it answered", r.answers(place, n)[n-1], want)
}

// converse asks the bot in the square, and waits until it has answered n times there.
func (r *rig) converse(text string, n int) {
	r.t.Helper()
	r.ask(r.square, text)
	r.answers(r.square, n)
}

// notice restarts the bot, and has a conversation say a line that is no answer.
func (r *rig) notice(place, text string) {
	r.t.Helper()
	conv, err := r.store.Conversation(r.ctx, r.place(place))
	if err == nil {
		err = conv.Outbox().Post(r.ctx, store.Outcome{Reply: "a notice", Pieces: []string{text}, Failure: true})
	}
	check.NoError(r.t, err)
	r.restart()
	r.idle(r.place(place))
}

// sent is what the bot posted and did not take back.
func (r *rig) sent(place string) []discordtest.Message {
	return slices.DeleteFunc(r.Sent(place), func(m discordtest.Message) bool { return m.Deleted })
}

func (r *rig) place(id string) string { return "discord:" + r.guild.ID + "/" + id }

// count is the number of requests for a route.
func (r *rig) count(route string) int { return len(r.Requests(route)) }

// idle waits until a conversation has settled.
func (r *rig) idle(name string) {
	r.t.Helper()
	check.NoError(r.t, r.hub.Idle(r.ctx, name))
}

// transcript is what is stored of a conversation.
func (r *rig) transcript(name string) []chat.Message {
	r.t.Helper()
	conv := check.Must(r.store.Conversation(r.ctx, name))(r.t)
	return check.Must(conv.Transcript().Page(r.ctx, 1, 10_000))(r.t)
}

// heard waits until so many messages of people stand in a conversation's transcript.
func (r *rig) heard(name string, n int) (all []chat.Message) {
	r.t.Helper()
	for {
		all = slices.DeleteFunc(r.transcript(name), func(m chat.Message) bool { return m.Role != "user" })
		if len(all) >= n {
			return all
		}
		check.Require(r.t, platform.Sleep(r.ctx, 20*time.Millisecond) == nil, "%d messages were heard, want %d", len(all), n)
	}
}

// texts are what people have said, as it is stored of a conversation, once that is so many messages.
func (r *rig) texts(name string, n int) (all []string) {
	r.t.Helper()
	for _, m := range r.heard(name, n) {
		all = append(all, m.Text)
	}
	return deleteEmpty(all)
}
