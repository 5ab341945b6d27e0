// The mark that tells people of a compaction.

package discord

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/discord/discordtest"
	"cairn/internal/check"
)

// compacted is a channel with so much talk that /compact has something to do, in
// which compactions are shown by a mark; and the newest message there.
func (r *rig) compacted() (newest discordtest.Message) {
	r.t.Helper()
	for i := range 12 {
		r.Say(r.square, r.ann.ID, fmt.Sprintf("message %d %s", i, strings.Repeat("the quick brown fox ", 20)))
	}
	newest = r.ask(r.square, "hello")
	r.answers(r.square, 1)
	r.heard(r.place(r.square), 13)
	r.tell("/settings compaction.notify reaction")
	r.tell("/compact")
	return newest
}

func (r *rig) tell(line string) {
	r.t.Helper()
	answer, handled, err := r.hub.Run(r.ctx, r.place(r.square), channel.Person{ID: r.ann.ID, Name: "ann", Manager: true}, line)
	if err != nil || !handled || strings.HasPrefix(answer.Text, "Nothing") {
		r.t.Fatalf("%s: %q, handled %v, %v", line, answer.Text, handled, err)
	}
	if answer.Then != nil {
		if text := answer.Then(r.ctx); !strings.HasPrefix(text, "Summarized") {
			r.t.Fatalf("%s: %q", line, text)
		}
	}
	r.idle(r.place(r.square))
}

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
	for name, fault := range map[string][]discordtest.Fault{
		"at once":                        nil,
		"after a rate limit":             {{Route: reactions, Status: 429, RetryAfter: 50 * time.Millisecond}},
		"after a server's fault":         {{Route: reactions, Status: 503}},
		"once, where the answer is lost": {{Route: reactions, Cut: true, Done: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, discordtest.Options{}).start()
			r.Fail(fault...)
			newest := r.compacted()
			r.until("the mark", func() bool { return len(r.marks(newest.ID)) > 0 && len(r.Requests(reactions)) > len(fault) })
			r.stop() // waits for what still asks
			if got := r.marks(newest.ID); len(got) != 1 || got[0] != summarizedReaction+"1" {
				t.Errorf("the marks are %q", got)
			}
			check.Equal(t, "requests", len(r.Requests(reactions)), 1+len(fault))
			check.Equal(t, "the bot has said things", len(r.sent(r.square)), 1)
		})
	}
}

func TestAMissingPermissionToReactIsToldOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start()
	r.Deny(r.square, discordgo.PermissionAddReactions)
	newest := r.compacted()
	r.until("the attempt", func() bool { return len(r.Requests(reactions)) > 0 })
	for i := range 2 {
		if err := r.connector.React(r.ctx, r.place(r.square), newest.ID); err != nil {
			t.Errorf("attempt %d: %v", i+2, err)
		}
	}
	r.stop()
	log := r.log.String()
	check.Equal(t, "warnings", strings.Count(log, "level=WARN"), 1)
	check.Contains(t, "the log", log, "Add Reactions", r.square)
	check.Len(t, "marks", r.marks(newest.ID), 0)
	check.Equal(t, "messages", len(r.sent(r.square)), 1)
}

func TestARecapIsForWhoeverAskedAndComesWhenItIsReady(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start().registered()
	direct := r.Direct(r.ann.ID).ID
	r.Say(direct, r.ann.ID, "I moved to Turin in May.")
	r.answers(direct, 1)
	i := r.Slash(direct, r.ann.ID, "recap")
	r.until("the recap", func() bool {
		a := r.Interaction(i.ID).Answer
		return a != nil && strings.Contains(a.Content, "Turin")
	})
	check.Equal(t, "messages were posted", len(r.sent(direct)), 1)
	r.Say(direct, r.ann.ID, "/recap")
	r.until("the written command's recap", func() bool {
		sent := r.sent(direct)
		return len(sent) == 2 && strings.Contains(sent[1].Content, "Turin")
	})
}
