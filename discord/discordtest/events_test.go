// What the bare library makes of the gateway's events and hiccups.
package discordtest_test

import (
	"testing"

	"github.com/bwmarrin/discordgo"

	"cairn/discord/discordtest"
)

func TestTheLibraryLivesThroughWhatTheGatewaySends(t *testing.T) {
	t.Parallel()
	t.Run("op 7 and op 9 are followed by every message", func(t *testing.T) {
		v := newTown(t, discordtest.Options{})
		var told <-chan string
		_, got := v.opened(func(s *discordgo.Session) { s.ShouldReconnectOnError, told = true, noted(s) })
		v.expect(told, "READY")
		v.Reconnect()
		v.wait("the leaving", func() bool { return v.Connections()[0].ClientClose == 1012 })
		v.say("during the reconnect")
		v.expect(got, "during the reconnect")
		v.expect(told, "RESUMED")
		v.Invalidate(false)
		v.expect(told, "READY")
		v.say("in the new session")
		v.expect(got, "in the new session")
	})
	t.Run("a cut in mid-stream loses nothing", func(t *testing.T) {
		v := newTown(t, discordtest.Options{})
		_, got := v.opened(func(s *discordgo.Session) { s.ShouldReconnectOnError = true })
		for i, content := range numbered(0, 200) {
			if i == 100 {
				v.Cut()
			}
			v.say(content)
		}
		v.expect(got, numbered(0, 200)...)
	})
	t.Run("unknown events pass by, repeated ones come twice", func(t *testing.T) {
		v := newTown(t, discordtest.Options{})
		_, got := v.opened()
		v.Dispatch("NOBODY_KNOWS_THIS", map[string]any{"a": 1})
		v.say("again")
		v.Repeat(1)
		v.AskHeartbeat()
		v.expect(got, "again", "again")
		v.wait("two heartbeats", func() bool { return v.Connections()[0].Heartbeats >= 2 })
	})
	t.Run("a refused upgrade is an error", func(t *testing.T) {
		v := newTown(t, discordtest.Options{})
		v.Handshakes(discordtest.Handshake{Refuse: 503})
		if err := v.session().Open(); err == nil {
			t.Error("Open succeeded")
		}
	})
}

func TestWithoutTheContentIntentContentIsHidden(t *testing.T) {
	v := newTown(t, discordtest.Options{Forbidden: discordtest.IntentMessageContent})
	s, got := v.opened(func(s *discordgo.Session) { s.Identify.Intents = discordgo.IntentsAllWithoutPrivileged })
	plain := v.say("for others")
	mention := "hello <@" + v.Bot.ID + ">"
	v.say(mention)
	v.Say(v.Direct(v.person.ID).ID, v.person.ID, "in private")
	v.expect(got, "", mention, "in private")
	if m, err := s.ChannelMessage(v.channel, plain.ID); err != nil || m.Content != "" {
		t.Errorf("REST gave %+v, %v; want no content", m, err)
	}
}

func TestEventsComeOnlyWithTheirIntent(t *testing.T) {
	v := newTown(t, discordtest.Options{})
	_, got := v.opened(func(s *discordgo.Session) { s.Identify.Intents = discordgo.IntentDirectMessages })
	v.say("in a guild")
	v.Say(v.Direct(v.person.ID).ID, v.person.ID, "in private")
	v.expect(got, "in private")
}

func TestEditsAndDeletionsAreTold(t *testing.T) {
	v := newTown(t, discordtest.Options{})
	told := make(chan string, 10)
	v.opened(func(s *discordgo.Session) {
		s.AddHandler(func(_ *discordgo.Session, m *discordgo.MessageUpdate) {
			if m.Author == nil {
				told <- "embed"
				return
			}
			if m.EditedTimestamp == nil {
				told <- "preview " + m.Content
				return
			}
			told <- "edit " + m.Content
		})
		s.AddHandler(func(_ *discordgo.Session, m *discordgo.MessageDelete) { told <- "delete " + m.ID })
		s.AddHandler(func(_ *discordgo.Session, m *discordgo.MessageDeleteBulk) { told <- "bulk" })
		s.AddHandler(func(_ *discordgo.Session, c *discordgo.ThreadCreate) { told <- "thread under " + c.ParentID })
	})
	a, b, c := v.say("a"), v.say("b"), v.say("c")
	v.Preview(v.channel, a.ID)
	v.Edit(v.channel, a.ID, "A")
	v.Embed(v.channel, a.ID)
	v.Delete(v.channel, a.ID)
	v.Delete(v.channel, b.ID, c.ID)
	v.Thread(v.channel, v.person.ID, "aside")
	v.expect(told, "preview a", "edit A", "embed", "delete "+a.ID, "bulk", "thread under "+v.channel)
}
