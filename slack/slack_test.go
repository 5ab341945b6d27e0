// Who is answered, and where.

package slack

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"cairn/channel"
	"cairn/internal/check"
	"cairn/internal/platform"
	"cairn/memory"
	"cairn/slack/slacktest"
	"cairn/words/wordstest"
)

func TestAnswersWhoAddressesIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick(), answerN)
	ann, bob := r.w.AddUser("ann"), r.w.AddUser("bob")
	general := r.w.AddChannel("general", ann, bob)
	r.begin()

	t.Run("a mention, which comes twice, is one message", func(t *testing.T) {
		r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "hello"})
		r.answered(general, "answer 1")
		r.stored(conversation(general), "user: hello", "assistant: answer 1")
	})
	t.Run("what is said to others is context", func(t *testing.T) {
		r.w.Say(slacktest.Post{Channel: general, User: bob, Text: "just talking"})
		r.stored(conversation(general), "user: hello", "assistant: answer 1", "user: just talking")
		r.answered(general, "answer 1")
	})
	t.Run("nor is it addressed by what somebody passes on", func(t *testing.T) {
		r.w.Emit(map[string]any{
			"type": "message", "channel": general, "user": bob, "ts": tsOf(time.Now()), "text": "",
			"attachments": []any{map[string]any{"is_share": true, "from_url": "https://slack.test/1", "author_name": "ann", "text": mention + "hello"}},
		})
		r.stored(conversation(general), "user: hello", "assistant: answer 1", "user: just talking", "user: ann: @app hello")
		r.settled(conversation(general))
		r.answered(general, "answer 1")
	})
	t.Run("a direct message needs no mention", func(t *testing.T) {
		r.w.Say(slacktest.Post{Channel: r.w.DM(ann), User: ann, Text: "psst"})
		r.answered(r.w.DM(ann), "answer 2")
	})
	t.Run("names are those that people have", func(t *testing.T) {
		messages := r.messages(conversation(general))
		if messages[0].Author != "ann" || messages[2].Author != "bob" || messages[0].AuthorID != ann {
			t.Errorf("%+v", messages)
		}
	})
	r.uncomplaining()
}

func TestAThreadIsAConversation(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick(), answerN)
	ann := r.w.AddUser("ann")
	general := r.w.AddChannel("general", ann)
	r.begin()
	root := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "the plan is blue"})
	r.stored(conversation(general), "user: the plan is blue")

	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: mention + "what do you think?"})
	r.answered(general, "answer 1")
	thread := conversation(general, root)
	r.stored(thread, "user: what do you think?", "assistant: answer 1")
	check.Equal(t, "the message it hangs on is quoted as", r.messages(thread)[0].Quote, `ann: "the plan is blue"`)
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: "and now without a mention"})
	r.answered(general, "answer 1", "answer 2")
	for _, m := range r.w.Posted() {
		check.Equal(t, "the thread of "+m.Text, m.Thread, root)
	}
	r.stored(conversation(general), "user: the plan is blue")
	r.uncomplaining()
}

// TestAFileIsReadUpToItsLimit: however long it is, and however small it was sent.
func TestAFileIsReadUpToItsLimit(t *testing.T) {
	t.Parallel()
	const megabytes = platform.MaxAnswer>>20 + 1
	megabyte := make([]byte, 1<<20)
	var compressed bytes.Buffer // of one megabyte: a stream may consist of many
	z := gzip.NewWriter(&compressed)
	check.Must(z.Write(megabyte))(t)
	check.NoError(t, z.Close())
	for encoding, body := range map[string][]byte{"identity": megabyte, "gzip": compressed.Bytes()} {
		t.Run(encoding, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", encoding)
				for range megabytes {
					if _, err := w.Write(body); err != nil {
						return // the client has hung up
					}
				}
			}))
			defer server.Close()
			s := &Slack{api: newAPI(Options{BotToken: "xoxb-1", APIBase: server.URL + "/api/"})}
			defer s.api.close()
			data := check.Must(s.fetch(context.Background(), server.URL+"/files-pri/a.txt", platform.MaxText))(t)
			check.Equal(t, "bytes that were read", len(data), platform.MaxText)
			resp, err := s.api.http.Get(server.URL + "/api/conversations.history")
			check.That(t, platform.TooLong(err), "got %v", err)
			if err == nil {
				_ = resp.Body.Close()
			}
		})
	}
}

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
			check.Equal(t, "the channel", m.audience(channelPlace), c.channel)
			check.Equal(t, "a thread", m.audience(thread), c.thread)
		})
	}
}

func TestWhoMayReadIsStoredWithWhatIsSaid(t *testing.T) {
	t.Parallel()
	r, general, ann := town(t, quick(), answerN)
	private := r.w.AddPrivateChannel("board", ann, slacktest.BotUserID)
	dm := r.w.DM(ann)
	r.begin()
	memory.In(r.store).Share(true)
	for id, want := range map[string]bool{general: true, private: false, dm: false} {
		r.w.Say(slacktest.Post{Channel: id, User: ann, Text: "the launch is on Monday"})
		name := conversation(id)
		if id == dm { // which is answered
			r.stored(name, "user: the launch is on Monday", "assistant: answer 1")
		} else {
			r.stored(name, "user: the launch is on Monday")
		}
		c := check.Must(r.store.Find(t.Context(), name))(t)
		if _, here, err := memory.Of(c).Shared(t.Context()); err != nil || here != want {
			t.Errorf("%s shares its memories: %v, %v", name, here, err)
		}
	}
}

// FuzzEvent reads any payload as an event, and what it tells as a message.
func FuzzEvent(f *testing.F) {
	for _, text := range wordstest.Texts() {
		quoted, _ := json.Marshal(text)
		f.Add([]byte(`{"event_id":"E1","event":{"type":"message","channel":"C1","user":"U1","ts":"1700000000.000100","text":` + string(quoted) + `,"files":[{"id":"F1","name":` + string(quoted) + `}]}}`))
		f.Add([]byte(text))
	}
	f.Add([]byte(`{"event":{"type":"message","subtype":"message_changed","channel":"D1","message":{"user":"U2","ts":"x","thread_ts":"1","text":"<@UBOT|cairn> a"},"previous_message":{}}}`))
	f.Add([]byte(`{"event":{"type":"app_mention","channel":"C1","bot_id":"B1","ts":"99999999999999999999.9","text":"<!date^9|x> <https://a|b>","attachments":[{"text":1}],"blocks":[{"type":"zzz"},5],"files":{}}}`))
	s := knowing(f)
	f.Fuzz(func(t *testing.T, payload []byte) {
		m, ok := readEvent(payload)
		if !ok {
			return
		}
		_ = membersOf(payload)
		place, in, heard := s.inbound(m.Channel, m)
		if heard && (in.ID == "" || in.AuthorID == "" || place.Channel != m.Channel || !utf8.ValidString(in.Text) || in.Text == "" && len(in.Attachments) == 0) {
			t.Fatalf("%q is heard in %+v as %+v", payload, place, in)
		}
	})
}

func TestWhoMayUseIt(t *testing.T) {
	t.Parallel()
	r, general, ann := town(t, quick(), answerN)
	bob := r.w.AddUser("bob")
	r.w.Join(general, bob)
	r.w.Admin(bob)
	r.rules.Access = map[string]channel.Access{Name: {Allow: []string{bob}}}
	r.begin()

	t.Run("a message of somebody else is not heard", func(t *testing.T) {
		r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "hello"})
		r.w.Say(slacktest.Post{Channel: r.w.DM(ann), User: ann, Text: "hello"})
		r.w.Say(slacktest.Post{Channel: general, User: bob, Text: mention + "hello from bob"})
		r.answered(general, "answer 1")
		r.stored(conversation(general), "user: hello from bob", "assistant: answer 1")
		r.settled(conversation(r.w.DM(ann)))
		r.w.Say(slacktest.Post{Channel: r.w.DM(ann), User: ann, Text: "hello?"})
		r.settled(conversation(r.w.DM(ann)))
		if hints := r.said(r.w.DM(ann)); len(hints) > 1 || strings.HasPrefix(strings.Join(hints, ""), "answer") {
			t.Errorf("alone with the bot they are told %q", hints)
		}
		r.eventually("all is acknowledged", r.acknowledged)
	})
	t.Run("nor is a command", func(t *testing.T) {
		r.w.Command(general, ann, "/cairn", "stop") // a public one
		check.Equal(t, "the result", r.told(general, ann, 1).Shown(), channel.TextRefused)
	})
	t.Run("nor is a press", func(t *testing.T) {
		for i := range 12 {
			check.NoError(t, failure3(r.hub.Run(t.Context(), conversation(general), channel.Person{ID: bob}, fmt.Sprint("/remember thing ", i))))
		}
		r.w.Say(slacktest.Post{Channel: general, User: bob, Text: mention + "/memories"})
		r.eventually("there is a list", func() bool { return len(r.own(general)) == 2 })
		list := r.own(general)[1]
		r.w.Press(general, list.TS, ann, actionPrefix+"next")
		check.Equal(t, "the result", r.told(general, ann, 2).Shown(), channel.TextRefused)
		check.Equal(t, "the page was turned", r.own(general)[1].Edits, 0)
	})
	t.Run("an administrator runs what is restricted", func(t *testing.T) {
		r.w.Command(general, bob, "/cairn", "forget 1")
		check.Contains(t, "the result", r.told(general, bob, 1).Shown(), "forgotten")
	})
}
