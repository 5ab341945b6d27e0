package discord

import (
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/testkit/check"
	"cairn/testkit/discordtest"
)

func TestWhereTheBotMayNotWriteNoModelIsAsked(t *testing.T) {
	r := newRig(t, discordtest.Options{}).start()
	direct := r.Direct(r.ann.ID).ID
	r.converse(r.square, "before", 1)
	asked := len(r.Model.Requests())
	r.Deny(r.square, discordgo.PermissionSendMessages)
	r.ask(r.square, "are you there?")
	r.ask(r.square, "are you there now?")
	told := r.answers(direct, 1)
	check.Equal(t, "the direct message", told[0], "<#"+r.square+"> "+channel.NoSendMessages+" Your message is saved. Once I may write here, ask again.")
	r.until("the log", func() bool { return strings.Contains(r.Log.String(), "writing_refused") })
	facts := check.Must(r.connector.Check(r.ctx))(t)
	check.Contains(t, "what doctor says", strings.Join(facts, "\n"), "warning: in ", channel.NoSendMessages)

	r.ask(r.square, "/help")
	help := r.answers(direct, 2)[1]
	check.Contains(t, "the answer to a command", help, "/compact")

	r.Allow(r.square, discordgo.PermissionSendMessages)
	r.ask(r.square, "and now?")
	r.answersLast(r.square, 2, "echo: and now?")
	check.Equal(t, "questions of which the model was asked", len(r.Model.Requests()), asked+1)
	check.Len(t, "what ann was told", r.contents(direct), 2)
	check.Equal(t, "refusals logged", strings.Count(r.Log.String(), "msg=writing_refused"), 1)
	check.Contains(t, "the log", r.Log.String(), "msg=writing_recovered")
}

func TestWhyTheBotMayNotWrite(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	thread := r.Thread(r.square, r.ann.ID, "a thread").ID
	r.start()
	why := func(what, place, want string) {
		t.Helper()
		r.until(what, func() bool { return r.connector.CannotWrite(r.place(place)) == want })
	}
	why("it may", r.square, "")
	why("it may in threads", thread, "")
	r.Deny(r.square, discordgo.PermissionSendMessagesInThreads)
	why("not in threads", thread, channel.NoSendInThreads)
	why("in the channel it may", r.square, "")
	r.Deny(r.square, discordgo.PermissionViewChannel)
	why("it does not see the channel", r.square, channel.NoViewChannel)
	r.Allow(r.square, discordgo.PermissionViewChannel|discordgo.PermissionSendMessagesInThreads)
	why("it may again", r.square, "")
	r.TimeOut(r.guild.ID, time.Now().Add(time.Hour))
	why("it is timed out", r.square, channel.TimedOut)
	r.TimeOut(r.guild.ID, time.Time{})
	why("it is not any more", r.square, "")
	r.Archive(thread, true)
	why("the thread is locked", thread, channel.ThreadLocked)
	check.Equal(t, "a direct message", r.connector.CannotWrite("discord:@me/"+r.Direct(r.ann.ID).ID), "")
}

func TestAPersonWhoTakesNoDirectMessagesSeesAReaction(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	r.Deny(r.square, discordgo.PermissionSendMessages)
	r.start()
	r.Fail(discordtest.Fault{Of: "POST /users/@me/channels", Status: 403, Code: 50007})
	m := r.ask(r.square, "are you there?")
	r.until("the reaction", func() bool { return len(r.marks(m.ID)) > 0 })
	check.EqualAll(t, "the reactions", r.marks(m.ID), []string{emoji[channel.ReactionUnanswered] + "1"})
	check.Len(t, "model requests", r.Model.Requests(), 0)
}
