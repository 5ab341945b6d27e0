// Reactions of people that run commands.

package discord

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/testkit/check"
	"cairn/testkit/discordtest"
)

// reactions returns the emoji on a message, each with its number.
func (r *rig) reactions(place, id string) (all []string) {
	for _, m := range r.Messages(place) {
		for _, e := range m.Reactions {
			if m.ID == id {
				all = append(all, fmt.Sprint(e.Emoji.Name, e.Count))
			}
		}
	}
	return all
}

// ignored waits until so many reactions that count have come to nothing.
func (r *rig) ignored(n int) {
	r.T.Helper()
	r.until("reactions to be ignored", func() bool { return strings.Count(r.Log.String(), "reaction_ignored") == n })
}

func TestReactionsRunCommands(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	r.opts.Reactions = []string{"pin", "remember"}
	ben := r.User("ben")
	other := r.OtherBot("other")
	r.Permit(r.guild.ID, r.ann.ID, "", discordgo.PermissionManageMessages)
	r.start()
	said := r.Say(r.square, ben.ID, "The launch is on Friday.").ID
	r.heard(r.place(r.square), 1)
	r.React(r.square, said, r.ann.ID, "🧠")
	r.until("the mark", func() bool { return slices.Equal(r.reactions(r.square, said), []string{"🧠2"}) })
	check.Contains(t, "memories", r.tell("/memories about:ben").String(), "The launch is on Friday.")

	r.tell("/forget 1")
	r.React(r.square, said, r.ann.ID, "🧠") // taken back and put there again
	fresh := r.Say(r.square, ben.ID, "The party is on Sunday.").ID
	r.heard(r.place(r.square), 2)
	r.React(r.square, fresh, r.Bot.ID, "🧠")
	r.React(r.square, fresh, other.ID, "🧠")
	r.React(r.square, said, ben.ID, "📌") // who is no manager
	r.React(r.square, said, ben.ID, "🛑") // which does not count here
	r.React(r.square, said, ben.ID, "📚")
	unread := r.Post(r.square, other.ID, discordtest.Post{Content: "of a bot that it does not read"}).ID
	r.React(r.square, unread, r.ann.ID, "📌")
	r.ignored(3)
	check.Lacks(t, "memories", r.tell("/memories").String(), "Friday")
	check.Lacks(t, "pins", r.tell("/pins").String(), "Friday")
	check.Len(t, "what it says", r.contents(r.square), 0)
	r.React(r.square, said, r.ann.ID, "📌")
	r.until("the mark", func() bool {
		return slices.Equal(r.reactions(r.square, said), []string{"🧠3", "📌3", "🛑1", "📚1"})
	})
	check.Contains(t, "pins", r.tell("/pins").String(), "Friday")

	direct := r.Direct(r.ann.ID).ID
	mine := r.Say(direct, r.ann.ID, "I moved to Turin.").ID
	r.answers(direct, 1)
	r.React(direct, mine, r.Bot.ID, "🧠")
	r.React(direct, mine, r.ann.ID, "📌")
	r.until("the mark", func() bool { return slices.Equal(r.reactions(direct, mine), []string{"🧠1", "📌2"}) })
	r.stop()
	check.EqualAll(t, "the marks for bots", slices.Concat(r.reactions(r.square, fresh), r.reactions(direct, mine)), []string{"🧠2", "🧠1", "📌2"})
}

func TestAReactionStopsAnAnswer(t *testing.T) {
	r := threaded(t, quick)
	r.opts.Reactions = []string{"stop"}
	ben := r.User("ben")
	slowly(r, 2000, patience)
	r.start()
	question := r.ask(r.square, "tell me slowly")
	r.until("the model", func() bool { return len(r.Model.Requests()) == 1 })
	r.React(r.square, question.ID, ben.ID, "🛑") // on what somebody else says
	r.ignored(1)
	r.React(r.square, question.ID, r.ann.ID, "🛑")
	r.Idle(r.place(r.square))
	check.Len(t, "threads for an answer that nobody began", r.Requests("POST /channels/*/messages/*/threads"), 0)

	r.Model.Delay = 20 * time.Millisecond
	question = r.ask(r.square, "and again")
	r.until("the draft", func() bool { return len(r.sent(question.ID)) > 0 })
	r.React(question.ID, r.sent(question.ID)[0].ID, ben.ID, "🛑")
	r.Idle(r.place(r.square))
	check.That(t, len(strings.Join(r.contents(question.ID), " ")) < len(wordsOf(2000)), "it was not stopped")
}

func TestNoReactionsWithoutTheSetting(t *testing.T) {
	r := newRig(t, discordtest.Options{}).start()
	const those = discordgo.IntentGuildMessageReactions | discordgo.IntentDirectMessageReactions
	check.Equal(t, "intents", r.Connections()[0].Intents&those, 0)
	r.React(r.square, r.Say(r.square, r.ann.ID, "hello").ID, r.ann.ID, "📌")
	r.restart(func() { r.opts.Reactions = []string{"pin"} })
	check.Equal(t, "intents", r.Connections()[1].Intents&those, those)
}
