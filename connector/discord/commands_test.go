// Slash commands, suggestions, commands that are written as messages, and marks of compactions.

package discord

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/testkit/check"
	"cairn/testkit/discordtest"
)

func (r *rig) registered() *rig {
	r.T.Helper()
	r.until("the commands", func() bool { return len(r.Commands()) > 0 })
	return r
}

func (r *rig) answered(i discordtest.Interaction) discordtest.Interaction {
	r.T.Helper()
	r.until("the answer", func() bool { a := r.Interaction(i.ID); return a.Answer != nil && a.Answer.Content != "" })
	return r.Interaction(i.ID)
}

func (r *rig) slash(place, user, command string, options ...discordtest.Option) string {
	r.T.Helper()
	return r.answered(r.Slash(place, user, command, options...)).Answer.Content
}

// privately waits for what only the sender of a command, whose answers are for all, is told.
func (r *rig) privately(i discordtest.Interaction) string {
	r.T.Helper()
	r.until("the answer", func() bool { return len(r.Interaction(i.ID).Followups) == 1 })
	m := r.Interaction(i.ID).Followups[0]
	check.That(r.T, ephemeral(m), "all see %q", m.Content)
	return m.Content
}

func ephemeral(m *discordtest.Message) bool { return m.Flags&discordgo.MessageFlagsEphemeral != 0 }

func (r *rig) tell(line string) command.Answer {
	r.T.Helper()
	answer, _, err := r.Hub.Run(r.ctx, r.place(r.square), access.Person{ID: r.ann.ID, Name: "ann", Manager: true}, line)
	check.NoError(r.T, err)
	return answer
}

func with(name string, value any) discordtest.Option {
	return discordtest.Option{Name: name, Value: value}
}

func TestTheCommandsAreThoseThatAreDeclared(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	const register = "PUT /applications/*/commands"
	r.Fail(discordtest.Fault{Of: register, Status: 403, Code: 20012})
	r.start()
	r.until("the refusal is logged", func() bool { return strings.Contains(r.Log.String(), "command_registration_failed") })
	r.Fail(discordtest.Fault{Of: register, Status: 503})
	r.Invalidate(false) // the next session tries again
	r.registered()
	known := r.Commands()
	check.Equal(t, "commands", len(known), len(command.All)+len(command.Menu))
	for i, c := range command.All {
		check.That(t, known[i].Name == c.Name && known[i].Description == c.Help && len(known[i].Options) == len(c.Args), "%+v is known as %+v", c, known[i])
		names := *known[i].NameLocalizations
		help := *known[i].DescriptionLocalizations
		check.That(t, len(names) == 7 && names["de"] != "" && names["es-419"] == names["es-ES"], "/%s is called %v", c.Name, names)
		check.That(t, len(help) == 7 && len([]rune(help["ja"])) <= 100, "/%s is explained as %v", c.Name, help)
		for j, a := range c.Args {
			o := known[i].Options[j]
			kind := o.Type == 4 && a.Number || o.Type == 3 && !a.Number
			check.Equal(t, "choices", len(o.Choices), len(a.Choices))
			check.That(t, o.Name == a.Name && o.Required == a.Required && o.Autocomplete == a.Suggests && kind, "/%s: %+v is known as %+v", c.Name, a, o)
		}
	}
	r.Invalidate(false)
	r.connected(3)
	check.Equal(t, "they were registered with requests", r.count(register), 3)
}

func TestASlashCommandIsAnsweredAtOnceForWhoeverAsked(t *testing.T) {
	r := newRig(t, discordtest.Options{}).start().registered()
	i := r.Slash(r.square, r.ann.ID, "remember", with("text", "the standup is at 9:30"))
	r.Repeat(1) // an interaction that comes twice is answered once
	i = r.answered(i)
	check.Contains(t, "it answered", i.Answer.Content, "as memory 1")
	check.That(t, ephemeral(i.Answer), "it answered %+v: %+v", i, i.Answer)
	r.Fail(discordtest.Fault{Of: "POST /interactions/*/*/callback", Status: 502, Done: true}) // a callback whose answer is lost counts
	check.Contains(t, "it answered", r.slash(r.square, r.ann.ID, "memories"), "the standup is at 9:30")
	check.Equal(t, "how often it was answered", r.count("POST /interactions/"+i.ID+"/*/callback"), 1)
	nobody := r.slash(r.square, r.ann.ID, "recall", with("by", "Eve Adams"), with("since", "last week"))
	check.Contains(t, "a named option with a space", nobody, `Nobody here is called "Eve Adams"`)
	for _, name := range []string{"help", "context"} { // aligned with spaces
		i = r.answered(r.Slash(r.square, r.ann.ID, name))
		for _, m := range append([]*discordtest.Message{i.Answer}, i.Followups...) {
			fenced := strings.HasPrefix(m.Content, "```\n") && strings.HasSuffix(m.Content, "\n```") && strings.Count(m.Content, "```") == 2
			check.That(t, fenced, "/%s: %q", name, m.Content)
		}
	}
	i = r.answered(r.Slash(r.square, r.ann.ID, "stop"))
	check.That(t, !ephemeral(i.Answer) && i.Answer.Content == "There is nothing to stop.", "/stop, which concerns all: %+v, %+v", i, i.Answer)
	gate := make(chan struct{})
	r.connector.queue.Add(r.square, func() { <-gate }, r.connector.Work.CallEach) // also while the channel's queue is busy
	check.Contains(t, "it answered", r.slash(r.square, r.ann.ID, "help"), "/recap")
	close(gate)

	direct := r.Direct(r.ann.ID).ID // alone with the bot she manages the place
	check.Lacks(t, "it answered", r.slash(direct, r.ann.ID, "compact"), "people who manage", "did not work")
	check.Lacks(t, "it answered", r.slash(direct, r.ann.ID, "remember", with("text", "tea is green")), "did not work")
	suggested := func(typed string) []*discordgo.ApplicationCommandOptionChoice {
		look := r.Autocomplete(direct, r.ann.ID, "forget", discordtest.Option{Name: "which", Type: 3, Value: typed, Focused: true})
		r.until("the choices", func() bool { return !r.Interaction(look.ID).Answered.IsZero() })
		return r.Interaction(look.ID).Choices
	}
	choices := suggested("tea")
	check.Len(t, "choices", choices, 1)
	check.Contains(t, "the choice", fmt.Sprintf("%+v", *choices[0]), "tea is green")
	check.Len(t, "choices where nothing is like it", suggested("nothing like it"), 0)

	r.Say(direct, r.ann.ID, "I moved to Turin in May.")
	r.answers(direct, 1)
	i = r.Slash(direct, r.ann.ID, "recap") // is for whoever asked, and comes when it is ready
	r.until("the recap", func() bool { a := r.Interaction(i.ID).Answer; return a != nil && strings.Contains(a.Content, "Turin") })
	check.Equal(t, "messages were posted", len(r.sent(direct)), 1)
	r.Say(direct, r.ann.ID, "/recap")
	r.until("the written command's recap", func() bool { all := r.contents(direct); return len(all) == 2 && strings.Contains(all[1], "Turin") })
}

// Messages wait for a rewrite of the database in the queues of their channels; a command does not, or only in that of its own.
func TestForgetForgetsWhatStillWaits(t *testing.T) {
	const line = "me everywhere yes"
	for _, written := range []bool{false, true} {
		t.Run(fmt.Sprint("written: ", written), func(t *testing.T) {
			r := newRig(t, discordtest.Options{})
			lobby := r.Channel(r.guild.ID, "lobby").ID
			r.start().registered()
			r.converse(r.square, "hello", 1)
			places := []string{r.square}
			if !written {
				places = append(places, lobby)
			}
			gate := make(chan struct{})
			for _, place := range places {
				r.connector.queue.Add(place, func() { <-gate }, r.connector.Work.CallEach)
				r.Say(place, r.ann.ID, "the code is 4711")
			}
			answer := func() string { return fmt.Sprint(r.contents(lobby)) }
			if written {
				r.ask(lobby, "/forget "+line)
			} else {
				i := r.Slash(lobby, r.ann.ID, "forget", with("which", line))
				answer = func() string { return fmt.Sprintf("%+v", r.Interaction(i.ID).Answer) }
			}
			time.Sleep(500 * time.Millisecond) // the command arrives
			close(gate)
			r.until("the outcome", func() bool { return strings.Contains(answer(), "Deleted: ") })
			r.connector.queue.Settle(t.Context(), "")
			for _, place := range places {
				r.Idle(r.place(place))
				check.Lacks(t, "what is stored", fmt.Sprint(r.Transcript(r.place(place))), "4711")
			}
		})
	}
}

func TestRestrictedCommandsAreForThoseWhomDiscordTrusts(t *testing.T) {
	r := newRig(t, discordtest.Options{Integrations: true})
	ben := r.User("ben")
	eve := r.User("eve")
	kay := r.User("kay")
	guild := r.Guild("elsewhere", r.ann, ben, eve, kay)
	place := r.Channel(guild.ID, "lobby").ID
	mods := r.Role(guild.ID, "mods", discordgo.PermissionManageMessages)
	r.Permit(guild.ID, ben.ID, "Ben", discordgo.PermissionManageMessages, mods.ID)
	r.Rules.Access = map[string]access.Access{Name: {Deny: []string{kay.ID}}}
	r.start().registered()
	const refused = "people who manage this place"
	check.Contains(t, "eve was answered", r.slash(place, eve.ID, "compact"), refused)
	check.Lacks(t, "ben was answered", r.slash(place, ben.ID, "compact"), refused)
	check.Contains(t, "eve was answered", r.privately(r.Slash(place, eve.ID, "pause")), refused)
	r.Say(place, eve.ID, "<@"+r.Bot.ID+"> /compact")
	check.Contains(t, "eve was answered", r.answers(place, 1)[0], refused)
	r.Say(place, ben.ID, "<@"+r.Bot.ID+"> /compact")
	check.Lacks(t, "ben was answered", r.answers(place, 2)[1], refused)

	i := r.answered(r.Slash(place, kay.ID, "help")) // who is not heard is told so, and nobody else
	check.That(t, i.Answer.Content == command.TextRefused && ephemeral(i.Answer), "it answered %+v", i.Answer)
	check.Equal(t, "it answered", r.privately(r.Slash(place, kay.ID, "stop")), command.TextRefused)
	r.Say(place, kay.ID, "<@"+r.Bot.ID+"> /help")
	r.Say(place, kay.ID, "<@"+r.Bot.ID+"> hello")
	check.Equal(t, "it answered", r.slash(place, kay.ID, "context"), command.TextRefused)
	check.Equal(t, "it said for all to see", len(r.sent(place)), 2)
}

// People write the bot's role by mistake: Discord suggests it, under the same name, beside the bot.
func TestAWrittenCommandRunsOnceAndIsNoMessage(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	role := r.Role(r.guild.ID, "bot", 0)
	r.Permit(r.guild.ID, r.Bot.ID, "", 0, role.ID)
	r.start()
	m := r.ask(r.square, "/remember the door is blue")
	r.Repeat(1)
	check.Contains(t, "it answered", r.answers(r.square, 1)[0], "as memory 1")
	to := r.sent(r.square)[0].MessageReference
	check.That(t, to != nil && to.MessageID == m.ID, "the answer refers to %+v", to)
	r.converse(r.square, "/etc/passwd is a path", 2)
	r.converse(r.square, "/help@otherbot", 3)
	check.Equal(t, "the transcript has", len(r.heard(r.place(r.square), 2)), 2)
	user := "<@" + r.Bot.ID + ">"
	roleMention := "<@&" + role.ID + ">"
	for n, mentions := range []string{roleMention + " ", user + " " + user + " ", roleMention + ", " + user + ": ", user + roleMention} {
		r.Say(r.square, r.ann.ID, mentions+"/remember the door is blue")
		check.Contains(t, mentions, r.answers(r.square, n+4)[n+3], "as memory 1")
	}
	r.ask(r.square, "/context")
	check.HasPrefix(t, "what is aligned", r.answers(r.square, 8)[7], "```\n")
	check.Equal(t, "posts, none of them of a second run", r.count("POST /channels/*/messages"), 8)
}

// A resumed connection delivers a command and the message after it together.
func TestAWrittenCommandComesBeforeWhatFollowsIt(t *testing.T) {
	r := newRig(t, discordtest.Options{}, eager).start()
	direct := r.Direct(r.ann.ID).ID
	r.Say(direct, r.ann.ID, "before")
	r.answers(direct, 1)
	r.Cut()
	r.Say(direct, r.ann.ID, "/new")
	r.Say(direct, r.ann.ID, "after")
	r.answersLast(direct, 3, "echo: after")
	check.Lacks(t, "the new session", fmt.Sprint(r.Model.Requests()[1].Messages), "[#1 ")
}

func TestLongListsHavePages(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	r.Language = "de"
	r.start().registered()
	for i := range 25 {
		r.tell(fmt.Sprintf("/remember fact number %d is %s", i, strings.Repeat("very ", 30)))
	}
	i := r.answered(r.Slash(r.square, r.ann.ID, "memories", with("query", "fact")))
	page := func(n int) (buttons []discordgo.Button) {
		t.Helper()
		r.until("the page", func() bool {
			return strings.Contains(r.Interaction(i.ID).Answer.Content, fmt.Sprintf("(Seite %d von 3)", n))
		})
		var row struct{ Components []discordgo.Button }
		check.NoError(t, json.Unmarshal(r.Interaction(i.ID).Answer.Components[0], &row))
		check.That(t, row.Components[0].Disabled == (n == 1) && row.Components[1].Disabled == (n == 3), "the buttons of page %d: %+v", n, row)
		return row.Components
	}
	next := page(1)[1]
	check.Equal(t, "the button says", next.Label, "Weiter")
	r.Click(r.square, r.ann.ID, i.Answer.ID, next.CustomID)
	r.Click(r.square, r.ann.ID, i.Answer.ID, page(2)[1].CustomID)
	page(3)

	whole := r.answered(r.Slash(r.square, r.ann.ID, "memories", with("query", strings.Repeat("fact ", 20)))) // too long for a button
	check.Len(t, "rows of buttons", whole.Answer.Components, 0)
	r.until("the whole list", func() bool {
		all := whole.Answer.Content
		for _, m := range r.Interaction(whole.ID).Followups {
			all += m.Content
		}
		return strings.Count(all, "fact number") == 25
	})
}

// marks are the reactions on the messages of the square, all on one of them.
func (r *rig) marks(id string) (names []string) {
	for _, m := range r.Messages(r.square) {
		for _, reaction := range m.Reactions {
			check.That(r.T, m.ID == id, "a mark stands on %q", m.Content)
			names = append(names, fmt.Sprintf("%s%d", reaction.Emoji.Name, reaction.Count))
		}
	}
	return names
}

const reactions = "PUT /channels/*/messages/*/reactions/*/@me"

func TestACompactionIsMarkedOnTheNewestMessage(t *testing.T) {
	r := newRig(t, discordtest.Options{}).start()
	for i := range 12 {
		r.Say(r.square, r.ann.ID, fmt.Sprintf("message %d %s", i, strings.Repeat("the quick brown fox ", 20)))
	}
	newest := r.ask(r.square, "hello").ID
	r.answers(r.square, 1)
	r.heard(r.place(r.square), 13)
	r.Fail(
		discordtest.Fault{Of: reactions, Status: 429, RetryAfter: 50 * time.Millisecond},
		discordtest.Fault{Of: reactions, Cut: true, Done: true}, // the answer is lost
	)
	r.tell("/settings compaction.notify reaction")
	r.Idle(r.place(r.square))
	check.HasPrefix(t, "the result", r.tell("/compact").Then(r.ctx).Text, "Summarized")
	r.until("the mark", func() bool { return len(r.marks(newest)) > 0 && r.count(reactions) > 2 })
	r.restart() // waits for what still asks
	check.EqualAll(t, "the marks", r.marks(newest), []string{emoji[channel.ReactionSummarized] + "1"})
	check.Equal(t, "requests", r.count(reactions), 3)
	check.Equal(t, "the bot has said things", len(r.sent(r.square)), 1)

	place := r.Channel(r.guild.ID, "place").ID
	r.Deny(place, discordgo.PermissionAddReactions)
	m := r.Say(place, r.ann.ID, "hello")
	for range 3 { // it says once that it may not
		check.NoError(t, r.connector.React(r.ctx, r.place(place), m.ID, channel.ReactionSummarized))
	}
	check.Equal(t, "refusals logged", strings.Count(r.Log.String(), "reaction_refused"), 1)
	check.Contains(t, "the log", r.Log.String(), "level=WARN msg=reaction_refused", "Add Reactions", place)
}
