// After an absence: what was missed is read, in order, and nothing that was not.

package discord

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/testkit/check"
	"cairn/testkit/discordtest"
)

// Discord may send nothing of what was said, or say so little that the connector has to look.
func TestWhatDiscordDoesNotSendIsRead(t *testing.T) {
	r := newRig(t, discordtest.Options{}).start()
	r.Forget() // the very first message may fall between two sessions
	r.Cut()
	r.converse(r.square, "hello", 1)
	r.connected(2)

	thread := r.Thread(r.square, r.ann.ID, "in private").ID // the message that adds the bot to a thread comes before it is there
	r.Drop(1)
	m := r.ask(thread, "join us")
	r.Dispatch("THREAD_CREATE", map[string]any{"id": thread, "type": 12, "guild_id": r.guild.ID, "parent_id": r.square, "name": "in private", "last_message_id": m.ID})
	r.answersLast(thread, 1, "echo: join us")

	r.Dispatch("GUILD_DELETE", map[string]any{"id": r.guild.ID, "unavailable": true})
	r.Drop(1)
	m = r.ask(r.square, "during the outage of a server")
	back := func(last map[string]any) {
		r.Dispatch("GUILD_CREATE", map[string]any{"id": r.guild.ID, "roles": []any{}, "channels": []any{last}})
	}
	back(map[string]any{"id": r.square, "type": 0, "name": "square", "last_message_id": m.ID})
	r.answersLast(r.square, 2, "echo: during the outage of a server")

	r.Drop(1)
	r.ask(r.square, "missed where the newest message is not told")
	r.Dispatch("READY", map[string]any{"user": map[string]any{"id": r.Bot.ID, "username": "bot"}, "session_id": "x"})
	back(map[string]any{"id": r.square, "type": 0, "name": "square"})
	r.answersLast(r.square, 3, "echo: missed where the newest message is not told")
}

func TestAfterARestartWhatWasMissedIsAnswered(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	village := r.Guild("village", r.ann)
	quiet := r.Channel(r.guild.ID, "quiet").ID
	fresh := r.Channel(r.guild.ID, "fresh").ID
	hidden := r.Channel(r.guild.ID, "hidden").ID
	well := r.Channel(village.ID, "well").ID
	thread := r.Thread(r.square, r.ann.ID, "plans").ID
	direct := r.Direct(r.ann.ID).ID
	r.start()
	for _, place := range []string{r.square, quiet, thread} {
		r.converse(place, "before", 1)
	}
	r.Say(direct, r.ann.ID, "before")
	r.answers(direct, 1)
	r.Say(quiet, r.ann.ID, "the last word")
	r.heard(r.place(quiet), 2)
	wellName := "discord:" + village.ID + "/" + well
	r.Say(well, r.ann.ID, "before")
	r.heard(wellName, 1)
	looked := r.count("GET /channels/" + quiet + "/messages")
	r.restart(func() {
		for i := range 150 { // more than a page
			r.Say(r.square, r.ann.ID, fmt.Sprint("while away ", i))
		}
		r.ask(r.square, "while away")
		r.Say(thread, r.ann.ID, "while away, in the thread") // where it answers unasked
		r.Say(direct, r.ann.ID, "while away")
		r.ask(fresh, "while away, where it never spoke")
		r.Deny(hidden, discordgo.PermissionViewChannel)
		r.ask(hidden, "where it may not read")
		r.Say(well, r.ann.ID, "while it is no member") // people who remove the bot do not want it to read on
		time.Sleep(2 * time.Millisecond)               // a later id than the message's
		r.Rejoin(village.ID)
		time.Sleep(2 * time.Millisecond)
		r.Say(well, r.ann.ID, "after it came back")
		r.tune = append(r.tune, func(d *Discord) { d.pauses.review = 0 })
	})
	for place, want := range map[string]string{
		r.square: "echo: while away", thread: "echo: while away, in the thread", direct: "echo: while away",
	} {
		r.answersLast(place, 2, want)
	}
	r.answersLast(fresh, 1, "echo: while away, where it never spoke")
	check.EqualAll(t, "it heard", r.texts(r.place(r.square), 152)[1:151], numbered("while away ", 150))
	check.EqualAll(t, "it heard", r.texts(wellName, 2), []string{"before", "after it came back"})
	check.Equal(t, "it read the history of a channel in which nothing was said", r.count("GET /channels/"+quiet+"/messages"), looked)
}

func TestMessagesDuringTheCatchUpKeepTheirOrder(t *testing.T) {
	r := newRig(t, discordtest.Options{}).start()
	r.converse(r.square, "before", 1)
	r.restart(func() {
		for i := range 5 {
			r.Say(r.square, r.ann.ID, fmt.Sprint("missed ", i))
		}
		r.Fail(discordtest.Fault{Of: "GET /channels/" + r.square + "/messages", Delay: 500 * time.Millisecond})
	})
	r.converse(r.square, "now", 2)
	check.Equal(t, "it heard", strings.Join(r.texts(r.place(r.square), 7), ", "), "before, missed 0, missed 1, missed 2, missed 3, missed 4, now")
}

func TestHistoryGivesPages(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	var ids [7]string
	for i := range ids {
		ids[i] = r.Say(r.square, r.ann.ID, fmt.Sprint(i)).ID
	}
	help := r.ask(r.square, "/help") // a command is not part of it
	r.start()
	other := r.Channel(r.guild.ID, "other").ID
	r.converse(other, "now", 1)
	check.Equal(t, "requests of a fresh bot for old messages", r.count("GET /channels/"+r.square+"/messages"), 0)
	for want, look := range map[string]channel.Look{
		"1 2 3 up to " + ids[3] + ", more: true":   {After: ids[0], Limit: 3},
		"4 5 6 up to " + help.ID + ", more: false": {After: ids[3], Limit: 10},
		"1 2 up to " + ids[1] + ", more: true":     {Before: ids[3], Limit: 2},
		"0 1 up to " + ids[0] + ", more: false":    {Before: ids[2], Limit: 5},
	} {
		page := check.Must(r.connector.History(r.ctx, r.place(r.square), look))(t)
		got := ""
		for _, m := range page.Messages {
			got += m.Text + " "
		}
		check.Equal(t, fmt.Sprintf("%+v", look), fmt.Sprintf("%sup to %s, more: %v", got, page.Last, page.More), want)
	}
}

func TestWhatIsChangedWhileTheBotIsAwayIsReadFromHistory(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	quiet := r.Channel(r.guild.ID, "quiet").ID
	lonely := r.Channel(r.guild.ID, "lonely").ID
	hidden := r.Channel(r.guild.ID, "hidden").ID
	r.start()
	var changes []func()
	for _, place := range []string{r.square, quiet} {
		r.Say(place, r.ann.ID, "first")
		edited := r.Say(place, r.ann.ID, "teh plan").ID
		gone := r.Say(place, r.ann.ID, "a secret").ID
		changes = append(changes, func() { r.Edit(place, edited, "the plan of <@"+r.ann.ID+">"); r.Delete(place, gone) })
		r.ask(place, "/help")
		r.Say(place, r.ann.ID, "last")
		r.heard(r.place(place), 4)
	}
	only := r.Say(lonely, r.ann.ID, "a secret").ID
	r.heard(r.place(lonely), 1)
	r.Say(hidden, r.ann.ID, "one")
	r.Say(hidden, r.ann.ID, "two")
	r.heard(r.place(hidden), 2)
	reads := "GET /channels/" + hidden + "/messages"
	before := r.count(reads)
	r.restart(func() {
		r.Age()
		for _, change := range changes {
			change()
		}
		r.Delete(lonely, only)
		for _, open := range []string{r.square, quiet, lonely} {
			r.Allow(open, discordgo.PermissionReadMessageHistory)
		}
		r.SetRole(r.guild.ID, r.guild.ID, discordgo.PermissionViewChannel|discordgo.PermissionSendMessages)
		r.Say(r.square, r.ann.ID, "meanwhile")
	})
	for place, want := range map[string]string{
		r.square: "first, the plan of @ann, last, meanwhile", quiet: "first, the plan of @ann, last", lonely: "",
	} {
		r.until("what was changed", func() bool { return strings.Join(r.texts(r.place(place), 0), ", ") == want })
	}
	r.until("the history is read", func() bool { return r.count(reads) > before })
	r.Idle(r.place(hidden))
	check.Equal(t, "messages left where the history is hidden", len(r.texts(r.place(hidden), 0)), 2)
	check.Equal(t, "how often the model was asked", len(r.Model.Requests()), 0)
}

func TestWhatWasSaidBeforeTheBotJoinedWasNotMissed(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	r.Rules.Respond = func(string) access.Respond { return access.RespondAll }
	r.start()
	r.converse(r.square, "hello", 1)
	r.Drop(3)
	village := r.Guild("village", r.ann)
	well := r.Channel(village.ID, "well").ID
	m := r.Say(well, r.ann.ID, "long before")
	r.Dispatch("READY", map[string]any{"user": map[string]any{"id": r.Bot.ID, "username": "bot"}, "session_id": "x"}) // the bot was here before
	r.Dispatch("GUILD_CREATE", map[string]any{
		"id": village.ID, "joined_at": time.Now().Add(time.Second).UTC().Format(time.RFC3339Nano), "roles": []any{},
		"channels": []any{map[string]any{"id": well, "type": 0, "name": "well", "last_message_id": m.ID}},
	})
	r.converse(well, "welcome", 1)
	history := r.Requests(fmt.Sprintf("GET /channels/%s/messages", well))
	check.That(t, len(history) > 0, "the history was not read")
	for _, q := range history {
		check.Lacks(t, "a request", q.Query, "after=")
	}
}
