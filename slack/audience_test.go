package slack

import (
	"testing"

	"cairn/channel"
	"cairn/slack/slacktest"
)

func TestWhoMayReadAPlace(t *testing.T) {
	t.Parallel()
	channelPlace := channel.Place{Connector: Name, Server: "T1", Channel: "C1"}
	thread := channelPlace
	thread.Thread = "1.2"
	for _, c := range []struct {
		claim, payload string
		channel        channel.Audience
		thread         channel.Audience
	}{
		{"a public channel is everybody's, and so are its threads", `{"event":{"channel_type":"channel"}}`, channel.ServerWide, channel.ServerWide},
		{"a private one is its members'", `{"event":{"channel_type":"group"}}`, channel.Members, channel.ChannelWide},
		{"so is a group's direct message", `{"event":{"channel_type":"mpim"}}`, channel.Members, channel.ChannelWide},
		{"and a direct message", `{"event":{"channel_type":"im"}}`, channel.Members, channel.ChannelWide},
		{"what another organisation reads too is no public channel", `{"is_ext_shared_channel":true,"event":{"channel_type":"channel"}}`, channel.Members, channel.ChannelWide},
		{"what is not told is not known", `{"event":{"type":"app_mention"}}`, "", ""},
		{"nor is what cannot be read", `{"is_ext_shared_channel":"yes","event":{"channel_type":"channel"}}`, "", ""},
		{"a kind that nobody knows is private", `{"event":{"channel_type":"forum"}}`, channel.Members, channel.ChannelWide},
	} {
		t.Run(c.claim, func(t *testing.T) {
			m := membersOf([]byte(c.payload))
			if got := m.audience(channelPlace); got != c.channel {
				t.Errorf("the channel: %q, want %q", got, c.channel)
			}
			if got := m.audience(thread); got != c.thread {
				t.Errorf("a thread: %q, want %q", got, c.thread)
			}
		})
	}
}

func TestWhoMayReadIsStoredWithWhatIsSaid(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick(), answerN)
	general, ann := r.place()
	private := r.w.AddPrivateChannel("board", ann, slacktest.BotUserID)
	dm := r.w.DM(ann)
	r.begin()
	r.store.ShareMemories(true)
	for id, want := range map[string]bool{general: true, private: false, dm: false} {
		r.w.Say(slacktest.Post{Channel: id, User: ann, Text: "the launch is on Monday"})
		name := conversation(id)
		if id == dm { // which is answered
			r.stored(name, "user: the launch is on Monday", "assistant: answer 1")
		} else {
			r.stored(name, "user: the launch is on Monday")
		}
		c, err := r.store.Find(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if _, here, err := c.SharesMemories(t.Context()); err != nil || here != want {
			t.Errorf("%s shares its memories: %v, %v", name, here, err)
		}
	}
}
