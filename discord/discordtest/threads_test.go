// Threads, and what remains of messages that are gone.
package discordtest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/discord/discordtest"
)

func TestThreadsAreArchivedAndComeBack(t *testing.T) {
	v := newTown(t, discordtest.Options{})
	told := make(chan string, 10)
	s, _ := v.opened(func(s *discordgo.Session) {
		s.AddHandler(func(_ *discordgo.Session, c *discordgo.ThreadCreate) {
			if c.NewlyCreated {
				told <- "created " + c.ID
			}
		})
		s.AddHandler(func(_ *discordgo.Session, c *discordgo.ThreadUpdate) {
			told <- map[bool]string{true: "archived", false: "active"}[c.ThreadMetadata.Archived]
		})
	})
	at := v.say("start here")
	thread := v.ThreadAt(v.channel, at.ID, v.person.ID, "aside")
	if thread.ID != at.ID {
		t.Errorf("the thread has the id %s, want its message's %s", thread.ID, at.ID)
	}
	mine, err := s.ChannelMessageSend(thread.ID, "mine")
	if err != nil {
		t.Fatal(err)
	}
	v.Archive(thread.ID, false)
	_, err = s.ChannelMessageEdit(thread.ID, mine.ID, "changed")
	refused(t, err, http.StatusBadRequest, 50083)
	if l, err := s.GuildThreadsActive(v.guild.ID); err != nil || len(l.Threads) != 0 {
		t.Errorf("active threads are %v (%v)", l, err)
	}
	if _, err := s.ChannelMessageSend(thread.ID, "back"); err != nil {
		t.Error(err)
	}
	v.expect(told, "created "+thread.ID, "archived", "active")
	v.Archive(thread.ID, true)
	_, err = s.ChannelMessageSend(thread.ID, "x")
	refused(t, err, http.StatusBadRequest, 160005)
}

func TestTheLastMessageOfAChannelMayBeGone(t *testing.T) {
	v := newTown(t, discordtest.Options{})
	s := v.session()
	v.say("stays")
	gone := v.say("goes")
	v.Delete(v.channel, gone.ID)
	if c, err := s.Channel(v.channel); err != nil || c.LastMessageID != gone.ID {
		t.Errorf("the last message is %q (%v), want the deleted one", c.LastMessageID, err)
	}
	if all, err := s.ChannelMessages(v.channel, 10, "", gone.ID, ""); err != nil || len(all) != 0 {
		t.Errorf("after it come %v (%v)", all, err)
	}
	if all, err := s.ChannelMessages(v.channel, 10, gone.ID, "", ""); err != nil || len(all) != 1 {
		t.Errorf("before it come %v (%v)", all, err)
	}
}

func TestTheSystemsMessagesCannotBeAnswered(t *testing.T) {
	v := newTown(t, discordtest.Options{})
	pinned := v.Post(v.channel, v.person.ID, discordtest.Post{Type: int(discordgo.MessageTypeChannelPinnedMessage)})
	_, err := v.session().ChannelMessageSendReply(v.channel, "x", &discordgo.MessageReference{MessageID: pinned.ID})
	refused(t, err, http.StatusBadRequest, 50035)
}

func TestAnEnforcedNonceIsRememberedForAWhile(t *testing.T) {
	post := func(v *town) (id string) {
		t.Helper()
		body := json.RawMessage(`{"content":"once","nonce":"n-1","enforce_nonce":true}`)
		raw, err := v.session().RequestWithBucketID("POST", discordgo.EndpointChannelMessages(v.channel), body, "")
		var m struct{ ID string }
		if err != nil || json.Unmarshal(raw, &m) != nil {
			t.Fatalf("got %s, %v", raw, err)
		}
		return m.ID
	}
	v := newTown(t, discordtest.Options{})
	if a, b := post(v), post(v); a != b || len(v.Sent(v.channel)) != 1 {
		t.Errorf("the second post is %s, want the first, %s", b, a)
	}
	forgetful := &town{Server: discordtest.New(discordtest.Options{NonceLife: time.Nanosecond}), t: t, ctx: v.ctx}
	t.Cleanup(forgetful.Close)
	forgetful.channel = forgetful.Channel(forgetful.Guild("other").ID, "square").ID
	if a, b := post(forgetful), post(forgetful); a == b {
		t.Error("the nonce is still remembered")
	}
}

func TestDownloadsAreRecordedAndCanFail(t *testing.T) {
	v := newTown(t, discordtest.Options{})
	file := discordtest.File{Name: "a.txt", ContentType: "text/plain", Data: []byte("abcdef")}
	a := v.Post(v.channel, v.person.ID, discordtest.Post{Files: []discordtest.File{file}}).Attachments[0]
	const route = "GET /attachments/*/*/*"
	v.Fail(discordtest.Fault{Route: route, Status: 404}, discordtest.Fault{Route: route, CutBody: true})
	for i, want := range []struct {
		status int
		body   string
	}{{404, ""}, {200, "abc"}, {200, "abcdef"}} {
		answer, err := v.Client().Get(a.URL)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != want.status || want.status == 200 && string(body) != want.body || (i == 1) != (err != nil) {
			t.Errorf("download %d: %d with %q, %v; want %+v", i, answer.StatusCode, body, err, want)
		}
	}
	if n := len(v.Requests(route)); n != 3 {
		t.Errorf("%d downloads are recorded, want 3", n)
	}
}
