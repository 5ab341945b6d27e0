// People talk, and the bot hears and answers them.

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

func TestWhatIsAddressedToTheBotIsAnswered(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start()
	post := func(place string, p discordtest.Post) discordtest.Message { return r.Post(place, r.ann.ID, p) }

	t.Run("a mention, by a reply to it", func(t *testing.T) {
		m := r.ask(r.square, "how are you?")
		check.Equal(t, "it answered", r.answers(r.square, 1)[0], "echo: how are you?")
		if to := r.sent(r.square)[0].MessageReference; to == nil || to.MessageID != m.ID {
			t.Errorf("the answer refers to %+v", to)
		}
	})
	t.Run("a reply to one of its messages, which need not name it", func(t *testing.T) {
		post(r.square, discordtest.Post{Content: "fine too", ReplyTo: r.sent(r.square)[0].ID})
		check.Equal(t, "it answered", r.answers(r.square, 2)[1], "echo: fine too")
	})
	t.Run("a direct message, in the conversation with that person", func(t *testing.T) {
		direct := r.Direct(r.ann.ID).ID
		post(direct, discordtest.Post{Content: "between us"})
		check.Equal(t, "it answered", r.answers(direct, 1)[0], "echo: between us")
		if said := r.heard("discord:@me/"+direct, 1); said[0].Text != "between us" || !said[0].Addressed {
			t.Errorf("it heard %+v", said[0])
		}
	})
	t.Run("the list of conversations says what people call them", func(t *testing.T) {
		all := check.Must(r.store.Listing(t.Context()))(t)
		names := map[string]bool{}
		for _, l := range all {
			names[l.Name] = true
		}
		check.That(t, names["#square · town"] && names["ann"], "got %+v", all)
	})
	t.Run("a mention of a role it has", func(t *testing.T) {
		place := r.Channel(r.guild.ID, "roles").ID
		role := r.Role(r.guild.ID, "helpers", 0)
		r.Permit(r.guild.ID, r.Bot.ID, "", 0, role.ID)
		r.Dispatch("GUILD_MEMBER_UPDATE", map[string]any{"guild_id": r.guild.ID, "user": r.Bot, "roles": []string{role.ID}})
		post(place, discordtest.Post{Content: "<@&" + role.ID + "> who knows?"})
		check.Equal(t, "it answered", r.answers(place, 1)[0], "echo: @helpers who knows?")
	})
}

func TestWhatIsNotAddressedIsContextOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start()
	r.Say(r.square, r.ann.ID, "nobody in particular")
	r.ask(r.square, "but you")
	check.Equal(t, "it answered", r.answers(r.square, 1)[0], "echo: but you")
	said := r.heard(r.place(r.square), 2)
	if said[0].Text != "nobody in particular" || said[0].Addressed || !said[1].Addressed || said[1].Author != "ann" {
		t.Errorf("it heard %+v", said)
	}
	check.Equal(t, "how often the model was asked", len(r.model.Requests()), 1)
}

func TestAThreadIsAConversationOfItsOwn(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start()
	thread := r.Thread(r.square, r.ann.ID, "plans").ID
	r.ask(thread, "first")
	r.answers(thread, 1)
	r.Say(thread, r.ann.ID, "second, unasked")
	check.Equal(t, "in a thread it answered", r.answers(thread, 2)[1], "echo: second, unasked")
	name := r.place(r.square) + "/" + thread
	check.Equal(t, name, r.heard(name, 2)[0].Text, "first")
	check.Equal(t, "answers in the parent", len(r.sent(r.square)), 0)
}

func TestAThreadThatIsNotKnownIsLookedUp(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{})
	thread := r.Thread(r.square, r.ann.ID, "asleep").ID
	r.start()
	r.connector.state.remove(thread) // as one that was archived when the bot came
	r.Fail(discordtest.Fault{Route: "GET /channels/*", Status: 503})
	r.ask(thread, "still here?")
	r.answers(thread, 1)
	check.Equal(t, "it heard", r.heard(r.place(r.square)+"/"+thread, 1)[0].Text, "still here?")
}

func TestProgramsAreNotAnsweredUnlessAllowed(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{})
	friend, stranger := r.OtherBot("friend"), r.OtherBot("stranger")
	r.rules.Access = map[string]channel.Access{Name: {Bots: []string{friend.ID, "4242"}}}
	r.start()
	mention := "<@" + r.Bot.ID + "> "
	r.Say(r.square, stranger.ID, mention+"from a stranger")
	r.Post(r.square, r.ann.ID, discordtest.Post{Content: mention + "from an unknown webhook", Webhook: "99"})
	r.Say(r.square, friend.ID, mention+"from a friend")
	r.answers(r.square, 1)
	r.Post(r.square, r.ann.ID, discordtest.Post{Content: mention + "from a webhook", Webhook: "4242"})
	got := r.answers(r.square, 2)
	check.Equal(t, "the first answer", got[0], "echo: from a friend")
	check.Equal(t, "the second answer", got[1], "echo: from a webhook")
}

func TestAnEventThatComesTwiceIsOneMessage(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start()
	r.ask(r.square, "once")
	r.Repeat(1)
	r.answers(r.square, 1)
	r.Repeat(4)
	r.ask(r.square, "more")
	if got := r.answers(r.square, 2); got[0] != "echo: once" || got[1] != "echo: more" {
		t.Errorf("it answered %q", got)
	}
	check.Equal(t, "it heard messages", len(r.heard(r.place(r.square), 2)), 2)
}

func TestABurstKeepsItsOrderAndDelaysNobodyElse(t *testing.T) {
	t.Parallel()
	const burst = 500 // more than two batches of a queue; each message is a commit
	r := newRig(t, discordtest.Options{}).start()
	park := r.Channel(r.guild.ID, "park").ID
	for i := range burst {
		r.Say(r.square, r.ann.ID, fmt.Sprint("line ", i))
	}
	r.ask(park, "and here?")
	r.answers(park, 1)
	r.converse("the last", 1)
	said := r.heard(r.place(r.square), burst+1)
	for i, m := range said[:burst] {
		if want := fmt.Sprint("line ", i); m.Text != want {
			t.Fatalf("message %d is %q, want %q", i, m.Text, want)
		}
	}
}

func TestMentionOnlyNeedsNoPrivilege(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{Forbidden: discordgo.IntentMessageContent})
	r.opts.MentionOnly = true
	r.start()
	r.Say(r.square, r.ann.ID, "not for the bot")
	r.converse("for the bot", 1)
	direct := r.Direct(r.ann.ID).ID
	r.Say(direct, r.ann.ID, "and this")
	r.answers(direct, 1)
	if said := r.heard(r.place(r.square), 1); len(said) != 1 || said[0].Text != "for the bot" {
		t.Errorf("it heard %+v, want only what it may read", said)
	}
	check.Equal(t, "it asked for the privileged intent", r.Connections()[0].Intents&discordgo.IntentMessageContent, 0)
}

func TestTheMapFollowsWhatChanges(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start()
	role := r.Role(r.guild.ID, "old name", 0)
	r.Dispatch("GUILD_ROLE_UPDATE", map[string]any{"guild_id": r.guild.ID, "role": map[string]any{"id": role.ID, "name": "new name", "permissions": "0"}})
	r.Dispatch("CHANNEL_UPDATE", map[string]any{"id": r.square, "guild_id": r.guild.ID, "type": 0, "name": "plaza"})
	r.ask(r.square, "<#"+r.square+"> <@&"+role.ID+">")
	check.Equal(t, "it answered", r.answers(r.square, 1)[0], "echo: #plaza @new name")
	r.Dispatch("GUILD_ROLE_DELETE", map[string]any{"guild_id": r.guild.ID, "role_id": role.ID})
	r.ask(r.square, "<@&"+role.ID+">")
	check.Equal(t, "it answered", r.answers(r.square, 2)[1], "echo: @unknown role")
	r.Dispatch("CHANNEL_DELETE", map[string]any{"id": r.square, "guild_id": r.guild.ID, "type": 0})
	r.Dispatch("GUILD_DELETE", map[string]any{"id": r.guild.ID})
	r.until("the server to be forgotten", func() bool {
		r.connector.state.mu.Lock()
		defer r.connector.state.mu.Unlock()
		return len(r.connector.state.places) == 0 && len(r.connector.state.guilds) == 0
	})
}

func TestAReplyThatDoesNotSayToWhatIsAnsweredToo(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start()
	r.converse("one", 1)
	at := time.Now()
	reply := func(to, text string) {
		at = at.Add(time.Second)
		r.Dispatch("MESSAGE_CREATE", map[string]any{
			"id": idAt(at), "channel_id": r.square, "guild_id": r.guild.ID, "type": 19, "content": text,
			"author": map[string]any{"id": r.ann.ID, "username": "ann"}, "message_reference": map[string]any{"message_id": to},
		})
	}
	reply(r.Say(r.square, r.ann.ID, "to nobody").ID, "nor this")
	reply(r.sent(r.square)[0].ID, "two")
	check.Equal(t, "it answered", r.answers(r.square, 2)[1], "echo: two")
}

// "Translate this" and the like are written as replies, also to messages from before the bot came.
func TestAReplyToAMessageThatIsNotKnownQuotesItAtLength(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start()
	r.converse("hello", 1) // after which no older history is read
	r.Drop(1)
	long := r.Say(r.square, r.User("bob").ID, strings.Repeat("word ", 90)+"and its end")
	r.Post(r.square, r.ann.ID, discordtest.Post{Content: "<@" + r.Bot.ID + "> translate this", ReplyTo: long.ID})
	r.answers(r.square, 2)
	all := r.model.Requests()
	asked := all[len(all)-1].Messages
	check.Contains(t, "the request", asked[len(asked)-1].Text, "replying to bob: ", "and its end")
}
