// Who is answered, and where; what comes is kept before it is acknowledged, once and in order.

package slack

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/chat"
	"cairn/connector/platform"
	"cairn/memory"
	"cairn/testkit/check"
	"cairn/testkit/slacktest"
	"cairn/testkit/wordstest"
)

func TestAnswersWhoAddressesIt(t *testing.T) {
	r, general, ann := town(t, slacktest.Options{}, answerN)
	bob := r.w.AddUser("bob")
	private := r.w.AddPrivateChannel("board", ann, slacktest.BotUserID)
	dm := r.w.DM(ann)
	r.w.Join(general, bob)
	r.begin()
	memory.In(r.Store).Share(true)
	r.w.Say(slacktest.Post{Channel: private, User: ann, Text: "the launch is on Monday"})
	r.stored(conversation(private), "user: the launch is on Monday")

	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "hello"}) // a mention comes twice
	r.answered(general, "answer 1")
	root := r.w.Say(slacktest.Post{Channel: general, User: bob, Text: "just talking"}) // what is said to others is context
	r.w.Emit(map[string]any{                                                           // nor is it addressed by what somebody passes on
		"type": "message", "channel": general, "user": bob, "ts": tsOf(time.Now()), "text": "",
		"attachments": []any{map[string]any{"is_share": true, "from_url": "https://slack.test/1", "author_name": "ann", "text": mention + "hello"}},
	})
	said := []string{"user: hello", "assistant: answer 1", "user: just talking", "user: ann: @app hello"}
	r.stored(conversation(general), said...)
	r.Idle(conversation(general))
	r.answered(general, "answer 1")
	r.w.Say(slacktest.Post{Channel: dm, User: ann, Text: "psst"}) // needs no mention
	r.answered(dm, "answer 2")
	messages := r.Transcript(conversation(general))
	check.That(t, messages[0].Author == "ann" && messages[2].Author == "bob" && messages[0].AuthorID == ann, "%+v", messages)
	// A thread is a conversation.
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: mention + "what do you think?"})
	r.answered(general, "answer 1", "answer 3")
	thread := conversation(general, root)
	r.stored(thread, "user: what do you think?", "assistant: answer 3")
	check.Equal(t, "the message it hangs on is quoted as", r.Transcript(thread)[0].Quote, `bob: "just talking"`)
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: "and now without a mention"})
	r.answered(general, "answer 1", "answer 3", "answer 4")
	for _, m := range r.botMessages(general)[1:] {
		check.Equal(t, "the thread of "+m.Text, m.Thread, root)
	}
	r.stored(conversation(general), said...)
	for id, want := range map[string]bool{general: true, private: false, dm: false} {
		c := check.Must(r.Store.Find(t.Context(), conversation(id)))(t)
		_, here, err := memory.Of(c).Shared(t.Context())
		check.That(t, err == nil && here == want, "who may read is stored: %s shares its memories: %v, %v", id, here, err)
	}
}

// TestAFileIsReadUpToItsLimit: however long it is, and however small it was sent.
func TestAFileIsReadUpToItsLimit(t *testing.T) {
	t.Parallel()
	var megabyte bytes.Buffer // compressed: a stream may consist of many
	z := gzip.NewWriter(&megabyte)
	check.Must(z.Write(make([]byte, 1<<20)))(t)
	check.NoError(t, z.Close())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		for range platform.MaxAnswer>>20 + 1 {
			if _, err := w.Write(megabyte.Bytes()); err != nil {
				return // the client has hung up
			}
		}
	}))
	defer server.Close()
	s := &Slack{api: newAPI(Options{BotToken: "xoxb-1", APIBase: server.URL + "/api/"}, &platform.Clock{})}
	defer s.api.http.CloseIdleConnections()
	data, err := s.api.fetch(platform.WithLimit(t.Context(), platform.MaxText), server.URL+"/files-pri/a.txt")
	check.That(t, platform.TooLong(err), "got %v", err)
	check.Equal(t, "bytes that were read", len(data), platform.MaxText)
	resp, err := s.api.http.Get(server.URL + "/api/conversations.history")
	check.That(t, platform.TooLong(err), "got %v", err)
	if err == nil {
		_ = resp.Body.Close()
	}
}

func TestWhoMayReadAPlace(t *testing.T) {
	channelPlace := chat.Place{Connector: Name, Server: "T1", Channel: "C1"}
	thread := channelPlace
	thread.Thread = "1.2"
	threads := map[channel.Audience]channel.Audience{channel.ServerWide: channel.ServerWide, channel.Members: channel.ChannelWide}
	for payload, want := range map[string]channel.Audience{
		`{"event":{"channel_type":"channel"}}`:                               channel.ServerWide,
		`{"event":{"channel_type":"group"}}`:                                 channel.Members,
		`{"event":{"channel_type":"mpim"}}`:                                  channel.Members,
		`{"event":{"channel_type":"im"}}`:                                    channel.Members,
		`{"event":{"channel_type":"forum"}}`:                                 channel.Members, // a kind that nobody knows is private
		`{"is_ext_shared_channel":true,"event":{"channel_type":"channel"}}`:  channel.Members, // another organisation reads it too
		`{"event":{"type":"app_mention"}}`:                                   "",              // what is not told is not known
		`{"is_ext_shared_channel":"yes","event":{"channel_type":"channel"}}`: "",              // nor is what cannot be read
	} {
		kind := readEvent([]byte(payload)).Kind
		check.Equal(t, payload+" is a channel for", audience(kind, channelPlace), want)
		check.Equal(t, payload+" has threads for", audience(kind, thread), threads[want])
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
		e := readEvent(payload)
		if e.Channel == "" {
			return
		}
		place := s.recent.placeOf(e.Channel, e.message)
		in, heard := s.sockets.events.translator.inbound(place, e.message)
		if heard && (in.ID == "" || in.AuthorID == "" || !utf8.ValidString(in.Text) || in.Text == "" && len(in.Attachments) == 0) {
			t.Fatalf("%q is heard in %+v as %+v", payload, place, in)
		}
	})
}

func TestWhoMayUseIt(t *testing.T) {
	r, general, ann := town(t, slacktest.Options{}, answerN)
	bob := r.w.AddUser("bob")
	r.w.Join(general, bob)
	r.w.Admin(bob)
	r.Rules.Access = map[string]access.Access{Name: {Allow: []string{bob}}}
	r.begin()

	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "hello"}) // is not heard
	r.w.Say(slacktest.Post{Channel: r.w.DM(ann), User: ann, Text: "hello"})
	r.w.Say(slacktest.Post{Channel: general, User: bob, Text: mention + "hello from bob"})
	r.answered(general, "answer 1")
	r.stored(conversation(general), "user: hello from bob", "assistant: answer 1")
	r.Idle(conversation(r.w.DM(ann)))
	check.Lacks(t, "what they are told alone with the bot", strings.Join(r.botTexts(r.w.DM(ann)), ""), "answer")
	r.eventually("all is acknowledged", r.acknowledged)

	check.Equal(t, "the result", r.command(general, ann, "stop"), command.TextRefused) // a public one
	for i := range 12 {
		r.run(general, bob, fmt.Sprint("/remember thing ", i))
	}
	r.w.Say(slacktest.Post{Channel: general, User: bob, Text: mention + "/memories"})
	r.eventually("there is a list", func() bool { return len(r.botMessages(general)) == 2 })
	r.w.Press(general, r.botMessages(general)[1].TS, ann, actionPrefix+"next")
	check.Equal(t, "the result", r.awaitPrivate(general, ann, 2).Shown(), command.TextRefused)
	check.Equal(t, "the page was turned", r.botMessages(general)[1].Edits, 0)
	check.Contains(t, "the result", r.command(general, bob, "forget 1"), "forgotten") // an administrator runs what is restricted
}

// acknowledged reports whether all that came over a socket was acknowledged.
func (r *rig) acknowledged() bool {
	return !slices.ContainsFunc(r.w.Deliveries(), func(d slacktest.Delivery) bool { return d.Socket > 0 && d.Acked.IsZero() })
}

func TestTimeOfATS(t *testing.T) {
	for ts, want := range map[string]time.Time{
		"1700000000.000200": time.Unix(1700000000, 200_000), "1700000000.5": time.Unix(1700000000, 500_000_000),
		"1700000000": time.Unix(1700000000, 0), "0.000000": time.Unix(0, 0),
		"": {}, "soon": {}, "-1.000000": {}, "1.-5": {}, "1700000000.00020x": {}, "9999999999999999999": {},
	} {
		check.Equal(t, ts, timeOf(ts), want)
	}
}

func TestABurstStaysInOrder(t *testing.T) {
	r, general, ann := town(t, slacktest.Options{AckWithin: soon}, answerN) // all are sent at once
	r.tune = func(s *Slack) { s.times.silence = time.Hour }                 // the double says nothing while it makes the burst
	r.begin()
	const n = 250 // more than a batch of a queue
	r.w.Burst(n, slacktest.Post{Channel: general, User: ann, Text: "line"})
	r.eventually("all are acknowledged", r.acknowledged)
	r.stored(conversation(general), numbered("user: line #", n)...)
}

func TestADiskThatTakesNothing(t *testing.T) {
	r, general, ann := connectedRig(t, slacktest.Options{AckWithin: time.Second}, answerN) // after which Slack sends it again
	r.ask(general, ann, 1)
	r.Exec("CREATE TRIGGER broken BEFORE INSERT ON inbox BEGIN SELECT RAISE(FAIL, 'the disk is broken'); END")
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "question 2"})
	const told = "I cannot store your message right now. I will keep trying, and answer once I have it."
	r.eventually("people are told", func() bool { return slices.Contains(r.botTexts(general), told) })
	check.Equal(t, "what is not on disk was acknowledged", r.acknowledged(), false)
	r.Exec("DROP TRIGGER broken")
	r.eventually("it is answered", func() bool { return slices.Contains(r.botTexts(general), "answer 2") })
	check.Equal(t, "how often people are told", strings.Count(strings.Join(r.botTexts(general), "\n"), told), 1)
	r.stored(conversation(general), "user: question 1", "assistant: answer 1", "user: question 2", "assistant: answer 2")
	check.Equal(t, "warnings for one incident", strings.Count(r.Log.String(), "store_message_failed"), 1)
}

func TestAQueueThatIsHeldUp(t *testing.T) {
	r, general, ann := connectedRig(t, unhelpful(), answerN)
	other := r.w.AddChannel("other", ann)
	held := make(chan struct{})
	hold := make(chan struct{})
	queued := r.connector.sockets.events
	queued.queue.Add(general, event{}, func(batch []event) {
		if batch[0].Channel == "" {
			close(held)
			<-hold
			batch = batch[1:]
		}
		queued.handle(batch)
	})
	<-held
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "slowly"})
	r.eventually("it is delivered", func() bool { return len(r.w.Deliveries()) > 0 })
	slowly := r.w.Deliveries()[0].EventID
	r.w.Repeat(slowly) // it is one message all the same
	r.w.Say(slacktest.Post{Channel: other, User: ann, Text: mention + "hello"})
	r.awaitAnswers(other, 1)
	close(hold)
	r.stored(conversation(general), "user: slowly")
	r.end()
	r.begin()
	r.w.Repeat(slowly)
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "later"})
	r.stored(conversation(general), "user: slowly", "user: later")
}
