// What the bot may not do, and what it hears of where it may not look.
package discordtest_test

import (
	"net/http"
	"testing"

	"github.com/bwmarrin/discordgo"

	"cairn/discord/discordtest"
)

func TestWhatIsDeniedIsRefused(t *testing.T) {
	v := newTown(t, discordtest.Options{})
	s := v.session()
	theirs := v.say("hello")
	thread := v.Thread(v.channel, v.person.ID, "aside").ID
	send := func(channel string) error {
		_, err := s.ChannelMessageSend(channel, "x")
		return err
	}
	deny := func(permissions int64) {
		v.Grant(v.channel, -1)
		v.Deny(v.channel, permissions)
	}

	deny(discordtest.PermissionViewChannel)
	refused(t, send(v.channel), http.StatusForbidden, 50001)
	refused(t, send(thread), http.StatusForbidden, 50001)
	_, err := s.ChannelMessages(v.channel, 10, "", "", "")
	refused(t, err, http.StatusForbidden, 50001)
	_, err = s.Channel(v.channel)
	refused(t, err, http.StatusForbidden, 50001)

	deny(discordtest.PermissionSendMessages)
	refused(t, send(v.channel), http.StatusForbidden, 50013)
	refused(t, s.ChannelTyping(v.channel), http.StatusForbidden, 50013)
	if err := send(thread); err != nil {
		t.Errorf("in a thread: %v", err)
	}
	deny(discordtest.PermissionSendMessagesInThread)
	refused(t, send(thread), http.StatusForbidden, 50013)

	deny(discordtest.PermissionReadMessageHistory)
	if all, err := s.ChannelMessages(v.channel, 10, "", "", ""); err != nil || len(all) != 0 {
		t.Errorf("the history has %v (%v), want nothing", all, err)
	}
	_, err = s.ChannelMessage(v.channel, theirs.ID)
	refused(t, err, http.StatusForbidden, 50013)
	_, err = s.ChannelMessageSendReply(v.channel, "x", &discordgo.MessageReference{MessageID: theirs.ID})
	refused(t, err, http.StatusForbidden, 160002)

	deny(discordtest.PermissionCreatePublicThreads)
	_, err = s.ThreadStart(v.channel, "mine", discordgo.ChannelTypeGuildPublicThread, 60)
	refused(t, err, http.StatusForbidden, 50013)

	deny(0)
	if err := s.ChannelMessageDelete(v.channel, theirs.ID); err != nil {
		t.Errorf("with MANAGE_MESSAGES: %v", err)
	}
	if err := send(v.Direct(v.person.ID).ID); err != nil {
		t.Errorf("in a direct conversation: %v", err)
	}
}

func TestNothingIsHeardOfAChannelThatCannotBeSeen(t *testing.T) {
	v := newTown(t, discordtest.Options{})
	synced := make(chan string, 10)
	_, got := v.opened(func(s *discordgo.Session) {
		s.AddHandler(func(_ *discordgo.Session, l *discordgo.ThreadListSync) {
			for _, thread := range l.Threads {
				synced <- thread.Name
			}
		})
	})
	v.Deny(v.channel, discordtest.PermissionViewChannel)
	v.say("unseen")
	thread := v.Thread(v.channel, v.person.ID, "aside")
	v.Say(thread.ID, v.person.ID, "unseen too")
	v.Grant(v.channel, discordtest.PermissionViewChannel)
	v.expect(synced, "aside")
	v.say("seen")
	v.expect(got, "seen")
}

func TestRolesAreMentionedAndPermit(t *testing.T) {
	v, s, asked := served(t, discordtest.Options{})
	told := make(chan []string, 10)
	s.AddHandler(func(_ *discordgo.Session, m *discordgo.MessageCreate) { told <- m.MentionRoles })
	s.AddHandler(func(_ *discordgo.Session, m *discordgo.GuildMemberUpdate) { told <- m.Roles })
	role := v.Role(v.guild.ID, "mods", "8192")
	v.Permit(v.guild.ID, v.Bot.ID, "", "", role.ID)
	v.Permit(v.guild.ID, v.person.ID, "Annie", "", role.ID)
	said := v.say("<@&" + role.ID + "> help")
	for range 2 {
		if roles := receive(v, told); len(roles) != 1 || roles[0] != role.ID {
			t.Errorf("told of %v, want the role", roles)
		}
	}
	if said.Member != nil {
		t.Errorf("a message's member is for events only: %+v", said.Member)
	}
	v.Slash(v.channel, v.person.ID, "help")
	if m := receive(v, asked).Member; m.Permissions != 8192 || m.Nick != "Annie" || len(m.Roles) != 1 {
		t.Errorf("the member is %+v, want what the role permits", m)
	}
	if all, err := s.GuildRoles(v.guild.ID); err != nil || len(all) != 2 {
		t.Errorf("the guild has the roles %v (%v)", all, err)
	}
}
