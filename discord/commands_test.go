// Slash commands, buttons, suggestions, and commands that are written as messages.

package discord

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/discord/discordtest"
	"cairn/internal/check"
	"cairn/llm"
)

// registered waits for the slash commands.
func (r *rig) registered() *rig {
	r.t.Helper()
	r.until("the commands", func() bool { return len(r.Commands()) > 0 })
	return r
}

// answered waits until an interaction's answer says something.
func (r *rig) answered(i discordtest.Interaction) discordtest.Interaction {
	r.t.Helper()
	r.until("the answer", func() bool { a := r.Interaction(i.ID); return a.Answer != nil && a.Answer.Content != "" })
	return r.Interaction(i.ID)
}

func with(name string, value any) discordtest.Option {
	return discordtest.Option{Name: name, Value: value}
}

func TestTheCommandsAreThoseThatAreDeclared(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{})
	r.Fail(discordtest.Fault{Route: "PUT /applications/*/commands", Status: 503, Times: 2})
	r.start().registered()
	known := r.Commands()
	check.Equal(t, "commands", len(known), len(channel.Commands))
	for i, c := range channel.Commands {
		if known[i].Name != c.Name || known[i].Description != c.Help || len(known[i].Options) != len(c.Args) {
			t.Errorf("%+v is known as %+v", c, known[i])
		}
		if names, help := *known[i].NameLocalizations, *known[i].DescriptionLocalizations; len(names) != 7 || names["de"] == "" || names["es-419"] != names["es-ES"] || len(help) != 7 || len([]rune(help["ja"])) > 100 {
			t.Errorf("/%s is called %v: %v", c.Name, names, help)
		}
		for j, a := range c.Args {
			o := known[i].Options[j]
			if o.Name != a.Name || o.Required != a.Required || o.Autocomplete != a.Suggests || (o.Type == 4) != a.Number || (o.Type == 3) == a.Number {
				t.Errorf("/%s: %+v is known as %+v", c.Name, a, o)
			}
		}
	}
	r.Invalidate(false)
	r.until("another session", func() bool { all := r.Connections(); return len(all) == 2 && all[1].Heartbeats > 0 })
	check.Equal(t, "they were registered with requests", len(r.Requests("PUT /applications/*/commands")), 3)
}

func TestRefusedCommandsAreRegisteredWithTheNextSession(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{})
	r.Fail(discordtest.Fault{Route: "PUT /applications/*/commands", Status: 403, Code: 20012, Times: 1})
	r.start()
	r.until("the refusal is logged", func() bool { return strings.Contains(r.log.String(), "command_registration_failed") })
	r.Invalidate(false)
	r.registered()
}

func TestASlashCommandIsAnsweredAtOnceForWhoeverAsked(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start().registered()
	i := r.answered(r.Slash(r.square, r.ann.ID, "remember", with("text", "the standup is at 9:30")))
	if !strings.Contains(i.Answer.Content, "as memory 1") || !i.Ephemeral || i.Callback != discordgo.InteractionResponseDeferredChannelMessageWithSource {
		t.Errorf("it answered %+v: %+v", i, i.Answer)
	}
	i = r.answered(r.Slash(r.square, r.ann.ID, "memories"))
	check.Contains(t, "it answered", i.Answer.Content, "the standup is at 9:30")
	for _, name := range []string{"help", "context"} { // aligned with spaces
		i = r.answered(r.Slash(r.square, r.ann.ID, name))
		for _, m := range append([]*discordtest.Message{i.Answer}, i.Followups...) {
			if !strings.HasPrefix(m.Content, "```\n") || !strings.HasSuffix(m.Content, "\n```") || strings.Count(m.Content, "```") != 2 {
				t.Errorf("/%s: %q", name, m.Content)
			}
		}
	}
	i = r.answered(r.Slash(r.square, r.ann.ID, "stop"))
	if i.Ephemeral || i.Answer.Content != "There is nothing to stop." {
		t.Errorf("/stop, which concerns all: %+v, %+v", i, i.Answer)
	}
	direct := r.Direct(r.ann.ID).ID
	i = r.answered(r.Slash(direct, r.ann.ID, "compact")) // alone with the bot she manages the place
	if strings.Contains(i.Answer.Content, "people who manage") || strings.Contains(i.Answer.Content, "did not work") {
		t.Errorf("it answered %q", i.Answer.Content)
	}
}

func TestRestrictedCommandsAreForThoseWhomDiscordTrusts(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{})
	ben, eve := r.User("ben"), r.User("eve")
	guild := r.Guild("elsewhere", r.ann, ben, eve)
	place := r.Channel(guild.ID, "lobby").ID
	mods := r.Role(guild.ID, "mods", discordgo.PermissionManageMessages)
	r.Permit(guild.ID, ben.ID, "Ben", discordgo.PermissionManageMessages, mods.ID)
	r.start().registered()
	const refused = "people who manage this place"
	check.Contains(t, "eve was answered", r.answered(r.Slash(place, eve.ID, "compact")).Answer.Content, refused)
	check.Lacks(t, "ben was answered", r.answered(r.Slash(place, ben.ID, "compact")).Answer.Content, refused)
	i := r.Slash(place, eve.ID, "pause")
	r.until("the refusal", func() bool { return len(r.Interaction(i.ID).Followups) == 1 })
	if m := r.Interaction(i.ID).Followups[0]; !strings.Contains(m.Content, refused) || m.Flags&discordgo.MessageFlagsEphemeral == 0 {
		t.Errorf("/pause, whose answers are for all, refused eve with %+v", m)
	}
	say := func(u *discordgo.User) discordtest.Message { return r.Say(place, u.ID, "<@"+r.Bot.ID+"> /compact") }
	say(eve)
	check.Contains(t, "eve was answered", r.answers(place, 1)[0], refused)
	say(ben)
	check.Lacks(t, "ben was answered", r.answers(place, 2)[1], refused)
}

func TestWhoIsNotHeardIsToldSoAndNobodyElse(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{})
	r.rules.Access = map[string]channel.Access{Name: {Deny: []string{r.ann.ID}}}
	r.start().registered()
	if i := r.answered(r.Slash(r.square, r.ann.ID, "help")); i.Answer.Content != channel.TextRefused || !i.Ephemeral {
		t.Errorf("it answered %+v", i.Answer)
	}
	i := r.Slash(r.square, r.ann.ID, "stop")
	r.until("the answer", func() bool { return len(r.Interaction(i.ID).Followups) == 1 })
	if m := r.Interaction(i.ID).Followups[0]; m.Content != channel.TextRefused || m.Flags&discordgo.MessageFlagsEphemeral == 0 {
		t.Errorf("it answered %+v", m)
	}
	r.ask(r.square, "/help")
	r.ask(r.square, "hello")
	check.Equal(t, "it answered", r.answered(r.Slash(r.square, r.ann.ID, "context")).Answer.Content, channel.TextRefused)
	check.Equal(t, "it said for all to see", len(r.sent(r.square)), 0)
}

func TestACommandIsAnsweredWhileItsQueueIsBusy(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{AnswerWithin: 3 * time.Second}).start().registered()
	gate := make(chan struct{})
	r.connector.queue.Add(r.square, func() { <-gate })
	i := r.answered(r.Slash(r.square, r.ann.ID, "help"))
	close(gate)
	check.Contains(t, "it answered", i.Answer.Content, "/compact")
}

func TestWhatSomebodyTypesIsCompleted(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start().registered()
	direct := r.Direct(r.ann.ID).ID // where she may forget what she wants
	if i := r.answered(r.Slash(direct, r.ann.ID, "remember", with("text", "tea is green"))); strings.Contains(i.Answer.Content, "did not work") {
		t.Fatal(i.Answer.Content)
	}
	look := r.Autocomplete(direct, r.ann.ID, "forget", discordtest.Option{Name: "which", Type: 3, Value: "tea", Focused: true})
	r.until("the choices", func() bool { return !r.Interaction(look.ID).Answered.IsZero() })
	choices := r.Interaction(look.ID).Choices
	if len(choices) != 1 || choices[0].Value != "1" || !strings.Contains(choices[0].Name, "tea is green") {
		t.Errorf("the choices are %+v", choices)
	}
	look = r.Autocomplete(direct, r.ann.ID, "forget", discordtest.Option{Name: "which", Type: 3, Value: "nothing like it", Focused: true})
	r.until("the answer without choices", func() bool { return !r.Interaction(look.ID).Answered.IsZero() })
}

func TestAWrittenCommandRunsOnceAndIsNoMessage(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start()
	m := r.ask(r.square, "/remember the door is blue")
	r.Repeat(1)
	check.Contains(t, "it answered", r.answers(r.square, 1)[0], "as memory 1")
	if to := r.sent(r.square)[0].MessageReference; to == nil || to.MessageID != m.ID {
		t.Errorf("the answer refers to %+v", to)
	}
	r.ask(r.square, "/etc/passwd is a path")
	check.Equal(t, "it answered", r.answers(r.square, 2)[1], "echo: /etc/passwd is a path")
	r.ask(r.square, "/help@otherbot")
	check.Equal(t, "it answered", r.answers(r.square, 3)[2], "echo: /help@otherbot")
	check.Equal(t, "the transcript has", len(r.heard(r.place(r.square), 2)), 2)
}

// People write the bot's role by mistake: Discord suggests it, under the same name, beside the bot.
func TestAWrittenCommandFollowsAnyMentionOfTheBot(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{})
	role := r.Role(r.guild.ID, "bot", 0)
	r.Permit(r.guild.ID, r.Bot.ID, "", 0, role.ID)
	r.start()
	user, roleMention := "<@"+r.Bot.ID+">", "<@&"+role.ID+">"
	for n, mentions := range []string{roleMention + " ", user + " " + user + " ", roleMention + ", " + user + ": ", user + roleMention} {
		r.Say(r.square, r.ann.ID, mentions+"/remember the door is blue")
		check.Contains(t, mentions, r.answers(r.square, n+1)[n], "as memory 1")
	}
}

func TestAnInteractionThatComesTwiceIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start().registered()
	i := r.Slash(r.square, r.ann.ID, "remember", with("text", "once"))
	r.Repeat(1)
	r.answered(i)
	r.answered(r.Slash(r.square, r.ann.ID, "help"))
	check.Equal(t, "how often it was answered", len(r.Requests("POST /interactions/"+i.ID+"/*/callback")), 1)
}

func TestACallbackWhoseAnswerIsLostCounts(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start().registered()
	r.Fail(discordtest.Fault{Route: "POST /interactions/*/*/callback", Status: 502, Done: true})
	check.Contains(t, "it answered", r.answered(r.Slash(r.square, r.ann.ID, "help")).Answer.Content, "/compact")
}

func TestACommandStopsTheAnswerThatIsBeingWritten(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{})
	r.model.Func = func(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
		<-ctx.Done()
		return llm.Response{}, ctx.Err()
	}
	r.start().registered()
	r.ask(r.square, "think")
	r.until("the bot to type", func() bool { return len(r.Requests("POST /channels/*/typing")) > 0 })
	check.Equal(t, "it answered", r.answered(r.Slash(r.square, r.ann.ID, "stop")).Answer.Content, "Stopped.")
	r.idle(r.place(r.square))
}
