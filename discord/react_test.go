// The mark that tells people of a compaction.

package discord

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/discord/discordtest"
	"cairn/internal/check"
)

// marks are the reactions on the messages of the square, all on one of them.
func (r *rig) marks(id string) (names []string) {
	for _, m := range r.Messages(r.square) {
		for _, reaction := range m.Reactions {
			check.That(r.t, m.ID == id, "a mark stands on %q", m.Content)
			names = append(names, fmt.Sprintf("%s%d", reaction.Emoji.Name, reaction.Count))
		}
	}
	return names
}

const reactions = "PUT /channels/*/messages/*/reactions/*/@me"

func TestACompactionIsMarkedOnTheNewestMessage(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start()
	for i := range 12 {
		r.Say(r.square, r.ann.ID, fmt.Sprintf("message %d %s", i, strings.Repeat("the quick brown fox ", 20)))
	}
	newest := r.ask(r.square, "hello").ID
	r.answers(r.square, 1)
	r.heard(r.place(r.square), 13)
	r.Fail(
		discordtest.Fault{Route: reactions, Status: 429, RetryAfter: 50 * time.Millisecond},
		discordtest.Fault{Route: reactions, Cut: true, Done: true}, // the answer is lost
	)
	r.tell("/settings compaction.notify reaction")
	r.idle(r.place(r.square))
	text := r.tell("/compact").Then(r.ctx)
	check.HasPrefix(t, "the result", text, "Summarized")
	r.until("the mark", func() bool { return len(r.marks(newest)) > 0 && r.count(reactions) > 2 })
	r.stop() // waits for what still asks
	check.EqualAll(t, "the marks", r.marks(newest), []string{summarizedReaction + "1"})
	check.Equal(t, "requests", r.count(reactions), 3)
	check.Equal(t, "the bot has said things", len(r.sent(r.square)), 1)
}

func TestAMissingPermissionToReactIsToldOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start()
	r.Deny(r.square, discordgo.PermissionAddReactions)
	m := r.Say(r.square, r.ann.ID, "hello")
	for range 3 {
		check.NoError(t, r.connector.React(r.ctx, r.place(r.square), m.ID))
	}
	check.Equal(t, "warnings", strings.Count(r.log.String(), "level=WARN"), 1)
	check.Contains(t, "the log", r.log.String(), "Add Reactions", r.square)
}
