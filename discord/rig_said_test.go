package discord

import (
	"fmt"
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
func (r *rig) sent(place string) (kept []discordtest.Message) {
	for _, m := range r.Sent(place) {
		if !m.Deleted {
			kept = append(kept, m)
		}
	}
	return kept
}

func (r *rig) place(id string) string { return "discord:" + r.guild.ID + "/" + id }

// idle waits until a conversation has settled.
func (r *rig) idle(name string) {
	r.t.Helper()
	if err := r.hub.Idle(r.ctx, name); err != nil {
		r.t.Fatalf("%s does not settle: %v", name, err)
	}
}

// transcript is what is stored of a conversation.
func (r *rig) transcript(name string) (all []chat.Message) {
	r.t.Helper()
	conv := check.Must(r.store.Conversation(r.ctx, name))(r.t)
	all = check.Must(conv.Transcript().Page(r.ctx, 1, 10_000))(r.t)
	return all
}

// heard waits until so many messages of people stand in a conversation's transcript.
func (r *rig) heard(name string, n int) (all []chat.Message) {
	r.t.Helper()
	for {
		all = all[:0]
		for _, m := range r.transcript(name) {
			if m.Role == "user" {
				all = append(all, m)
			}
		}
		if len(all) >= n {
			return all
		}
		if err := platform.Sleep(r.ctx, 20*time.Millisecond); err != nil {
			r.t.Fatalf("%d messages were heard, want %d", len(all), n)
		}
	}
}

func textsOf(messages []chat.Message) (texts []string) {
	for _, m := range messages {
		texts = append(texts, m.Text)
	}
	return texts
}
