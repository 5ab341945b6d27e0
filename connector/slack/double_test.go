// How strict the double is, asked by bare clients: linked into the bot's tests, these cost no program of their own.

package slack

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	slackgo "github.com/slack-go/slack"

	"cairn/testkit/check"
	"cairn/testkit/slacktest"
)

type double struct {
	*slacktest.Server
	t            *testing.T
	general, ann string
	api          *slackgo.Client
}

func newDouble(t *testing.T, o slacktest.Options) *double {
	t.Helper()
	t.Parallel()
	o.AckWithin = cmp.Or(o.AckWithin, soon)
	d := &double{Server: slacktest.New(o), t: t}
	transport := &http.Transport{}
	t.Cleanup(d.Close)
	t.Cleanup(transport.CloseIdleConnections)
	d.ann = d.AddUser("ann")
	d.general = d.AddChannel("general", d.ann)
	d.api = slackgo.New(slacktest.BotToken, slackgo.OptionAPIURL(d.APIURL), slackgo.OptionAppLevelToken(slacktest.AppToken),
		slackgo.OptionHTTPClient(&http.Client{Transport: transport}))
	return d
}

// send posts, edits or deletes; the result is Slack's error code, or taken.
func (d *double) send(channelID string, options ...slackgo.MsgOption) string {
	_, _, _, err := d.api.SendMessage(channelID, options...)
	return fmt.Sprint(err)
}

const taken = "<nil>" // no error

func TestPostingIsAsStrictAsSlack(t *testing.T) {
	d := newDouble(t, slacktest.Options{})
	elsewhere := d.AddChannel("elsewhere", d.ann)
	d.Leave(elsewhere, slacktest.BotUserID)
	parent := d.Say(slacktest.Post{Channel: d.general, User: d.ann, Text: "a question"})
	sections := func(n, size int) slackgo.MsgOption {
		text := slackgo.NewTextBlockObject("mrkdwn", strings.Repeat("x", size), false, false)
		return slackgo.MsgOptionBlocks(slices.Repeat([]slackgo.Block{slackgo.NewSectionBlock(text, nil, nil)}, n)...)
	}
	text := func(n int) slackgo.MsgOption { return slackgo.MsgOptionText(strings.Repeat("é", n), false) }
	markdown := func(n int) slackgo.MsgOption { return slackgo.MsgOptionMarkdownText(strings.Repeat("é", n)) }
	metadata := slackgo.MsgOptionMetadata(slackgo.SlackMetadata{EventPayload: map[string]any{"k": 1}})
	for claim, options := range map[string][]slackgo.MsgOption{
		taken + ": a text":                                                 {text(4000)},
		"thread_not_found: an unknown thread":                              {text(1), slackgo.MsgOptionTS("1.000000")},
		"no_text: nothing to say":                                          {slackgo.MsgOptionText(" ", false)},
		taken + ": 12 000 of markdown_text":                                {markdown(12_000)},
		"msg_too_long: 12 001 of markdown_text":                            {markdown(12_001)},
		"markdown_text_conflict: markdown_text beside a text":              {text(1), markdown(1)},
		taken + ": a section of 3 000":                                     {sections(1, 3000)},
		"invalid_blocks: a section of 3 001":                               {sections(1, 3001)},
		"invalid_blocks: an empty section":                                 {sections(1, 0)},
		taken + ": 50 blocks":                                              {sections(50, 1)},
		"invalid_blocks: 51 blocks":                                        {sections(51, 1)},
		"invalid_metadata_schema: metadata without an event_type":          {text(1), metadata},
		"cant_update_message: an edit of what the app did not say":         {text(1), slackgo.MsgOptionUpdate(parent)},
		"message_not_found: an edit of what nobody said":                   {text(1), slackgo.MsgOptionUpdate("1.000000")},
		"cant_delete_message: a deletion of what the app did not say":      {slackgo.MsgOptionDelete(parent)},
		"user_not_in_channel: an ephemeral message for somebody elsewhere": {text(1), slackgo.MsgOptionPostEphemeral("U9")},
	} {
		check.HasPrefix(t, "what is expected", claim, d.send(d.general, options...)+": ")
	}
	check.Equal(t, "an unknown channel", d.send("C9", text(1)), "channel_not_found")
	check.Equal(t, "a channel without the app", d.send(elsewhere, text(1)), "not_in_channel")
	check.Len(t, "complaints", d.Complaints(), 0)
	own := d.Posted()[0].TS
	check.Equal(t, "an edit beyond 4 000", d.send(d.general, text(4001), slackgo.MsgOptionUpdate(own)), "msg_too_long")
	check.Equal(t, "a long text", d.send(d.general, slackgo.MsgOptionText("<!here>"+strings.Repeat("x", 40_000), false)), taken)
	check.Len(t, "complaints of a call to everybody and a long text", d.Complaints(), 2)

	url := d.Command(d.general, d.ann, "/weather", "Oslo")
	for n := range 6 { // a response_url works five times
		refusal := d.send(d.general, slackgo.MsgOptionText("rain", false), slackgo.MsgOptionResponseURL(url, slackgo.ResponseTypeEphemeral))
		check.Equal(t, fmt.Sprint("refused is response ", n), refusal != taken, n == 5)
	}
}

func TestRestrictedChannelsRefuseAsSlackDoes(t *testing.T) {
	d := newDouble(t, slacktest.Options{})
	top := d.Say(slacktest.Post{Channel: d.general, User: d.ann, Text: "a question"})
	text := slackgo.MsgOptionText("x", false)
	reply := slackgo.MsgOptionTS(top)
	alone := slackgo.MsgOptionPostEphemeral(d.ann)
	for code, want := range map[string]string{ // a post, a reply, a message for one person
		"is_archived":                              "is_archived is_archived is_archived",
		"restricted_action":                        "restricted_action restricted_action restricted_action",
		"restricted_action_read_only_channel":      "restricted_action_read_only_channel restricted_action_read_only_channel " + taken,
		"restricted_action_thread_only_channel":    "restricted_action_thread_only_channel " + taken + " " + taken,
		"restricted_action_thread_locked":          taken + " restricted_action_thread_locked " + taken,
		"restricted_action_non_threadable_channel": taken + " restricted_action_non_threadable_channel " + taken,
	} {
		d.Restrict(d.general, code)
		check.Equal(t, code, d.send(d.general, text)+" "+d.send(d.general, text, reply)+" "+d.send(d.general, text, alone), want)
	}
	d.Restrict(d.general, "")
	check.Equal(t, "nothing", d.send(d.general, text), taken)
	check.Equal(t, "a direct message", d.send(d.ann, text), taken)
	check.Len(t, "messages there", d.Messages(d.DM(d.ann)), 1)
	private := d.AddPrivateChannel("private", d.ann)
	d.Leave(private, slacktest.BotUserID)
	check.Equal(t, "a private channel without the app", d.send(private, text), "channel_not_found")
}

// That tokens and other scopes are checked the tests of the bot show.
func TestArgumentsAndScopes(t *testing.T) {
	d := newDouble(t, slacktest.Options{Scopes: []string{"chat:write", "channels:read"}})
	for want, c := range map[string][3]string{
		`"ok":true`:         {"auth.test", "application/x-www-form-urlencoded", "token=" + slacktest.BotToken},
		"unknown_method":    {"chat.shout", "application/x-www-form-urlencoded", "token=" + slacktest.BotToken},
		"not_authed":        {"auth.test", "application/x-www-form-urlencoded", "a=b"},
		"invalid_post_type": {"auth.test", "text/plain", "token=" + slacktest.BotToken},
	} {
		response := check.Must(http.Post(d.APIURL+c[0], c[1], strings.NewReader(c[2])))(t)
		check.Contains(t, fmt.Sprint(c), string(check.Must(io.ReadAll(response.Body))(t)), want)
		response.Body.Close()
	}
	info := func(channelID string) error {
		return check.ErrorOf(d.api.GetConversationInfo(&slackgo.GetConversationInfoInput{ChannelID: channelID}))
	}
	check.NoError(t, info(d.general))
	check.ErrorContains(t, "a channel that does not exist", info("C9"), "channel_not_found")
	for needed, err := range map[string]error{
		"groups:read": info(d.AddPrivateChannel("private", d.ann)),
		"im:history":  check.ErrorOf(d.api.GetConversationHistory(&slackgo.GetConversationHistoryParameters{ChannelID: d.DM(d.ann)})),
		"users:read":  check.ErrorOf(d.api.GetUserInfo(d.ann)),
	} {
		refused, _ := errors.AsType[slackgo.SlackErrorResponse](err)
		check.Equal(t, "a scope is", refused.Err+" "+refused.Needed+" "+refused.Provided, "missing_scope "+needed+" chat:write,channels:read")
	}
}

func TestStreamsAreAsStrictAsSlack(t *testing.T) {
	d := newDouble(t, slacktest.Options{})
	asked := d.Say(slacktest.Post{Channel: d.general, User: d.ann, Text: "explain"})
	dm := d.DM(d.ann)
	recipient := slackgo.MsgOptionCompose(slackgo.MsgOptionRecipientTeamID(slacktest.TeamID), slackgo.MsgOptionRecipientUserID(d.ann))
	text := slackgo.MsgOptionMarkdownText
	start := func(channelID string, options ...slackgo.MsgOption) (ts, refusal string) {
		_, ts, err := d.api.StartStream(channelID, options...)
		return ts, fmt.Sprint(err)
	}
	do := func(what func(channelID, ts string, options ...slackgo.MsgOption) (string, string, error), ts string, options ...slackgo.MsgOption) string {
		_, _, err := what(d.general, ts, options...)
		return fmt.Sprint(err)
	}
	_, refusal := start(d.general, slackgo.MsgOptionTS(asked))
	check.Equal(t, "a channel wants the recipient", refusal, "missing_recipient_user_id")
	_, refusal = start(dm, slackgo.MsgOptionTS(d.Say(slacktest.Post{Channel: dm, User: d.ann, Text: "explain"})))
	check.Equal(t, "a DM does not", refusal, taken)
	_, refusal = start(d.general, recipient)
	check.Equal(t, "a stream that answers no message", refusal, "invalid_arguments")

	check.NoError(t, d.api.SetAssistantThreadsStatus(slackgo.AssistantThreadsSetStatusParameters{ChannelID: d.general, ThreadTS: asked, Status: "thinks"}))
	check.Equal(t, "status", d.Status(d.general, asked), "thinks")
	ts, _ := start(d.general, recipient, slackgo.MsgOptionTS(asked), text("one "))
	check.Equal(t, "status", d.Status(d.general, asked), "")
	check.Equal(t, "more", do(d.api.AppendStream, ts, text("two ")), taken)
	check.Equal(t, "an edit meanwhile", d.send(d.general, slackgo.MsgOptionText("x", false), slackgo.MsgOptionUpdate(ts)), "streaming_state_conflict")
	check.Equal(t, "deleted while open", d.send(d.general, slackgo.MsgOptionDelete(ts)), "cant_delete_message")
	check.Equal(t, "too much", do(d.api.AppendStream, ts, text(strings.Repeat("x", 12_000))), "msg_too_long")
	check.Equal(t, "the end", do(d.api.StopStream, ts, text("three")), taken)
	check.Equal(t, "afterwards", do(d.api.AppendStream, ts, text("four")), "message_not_in_streaming_state")
	for _, m := range d.Posted() {
		check.That(t, m.TS != ts || m.Shown() == "one two three" && m.Thread == asked && !m.Streaming, "%+v", m)
	}
	ts, _ = start(d.general, recipient, slackgo.MsgOptionTS(asked), text("one"))
	d.EndStream(d.general, ts)
	check.Equal(t, "after Slack has ended it", do(d.api.AppendStream, ts, text("two")), "message_not_in_streaming_state")
	check.Equal(t, "deleted after the end", d.send(d.general, slackgo.MsgOptionDelete(ts)), taken)
	ts, _ = start(d.general, recipient, slackgo.MsgOptionTS(asked))
	d.StopStream(d.general, ts)
	check.Equal(t, "after a person has ended it", do(d.api.AppendStream, ts, text("more")), "stopped_by_user")
}

func TestHistoriesAndFaultsOfTheDouble(t *testing.T) {
	d := newDouble(t, slacktest.Options{})
	said := d.Burst(150, slacktest.Post{Channel: d.general, User: d.ann, Text: "message"})
	d.Say(slacktest.Post{Channel: d.general, User: d.ann, Text: "reply", Thread: said[0]})
	for want, p := range map[string]slackgo.GetConversationHistoryParameters{
		"2 from " + said[12] + ", more: false": {Oldest: said[10], Latest: said[13]},
		"1 from " + said[149] + ", more: true": {Oldest: said[10], Limit: 1}, // the newest come first
		"invalid_ts_oldest":                    {Oldest: "yesterday"},
		"invalid_limit":                        {Limit: 1000},
	} {
		p.ChannelID = d.general
		page, err := d.api.GetConversationHistory(&p)
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprintf("%d from %s, more: %v", len(page.Messages), page.Messages[0].Timestamp, page.HasMore)
		}
		check.Equal(t, fmt.Sprintf("the history %+v", p), got, want)
	}

	post := func() string { return d.send(d.general, slackgo.MsgOptionText("x", false)) }
	d.Fail(slacktest.Fault{Cut: true})
	check.That(t, post() != taken && len(d.Posted()) == 0, "a cut answer took effect")
	d.Fail(slacktest.Fault{Cut: true, Body: `{"ok":tr`, Done: true})
	check.That(t, post() == io.ErrUnexpectedEOF.Error() && len(d.Posted()) == 1, "a cut answer took no effect")
	d.Fail(slacktest.Fault{Of: "chat.postMessage", Error: "fatal_error", Skip: 1, Times: 2})
	check.EqualAll(t, "a fault skips, counts and ends", []string{post(), post(), post(), post()}, []string{taken, "fatal_error", "fatal_error", taken})
	d.Fail(slacktest.Fault{Status: 500, Times: -1})
	d.Clear()
	check.Equal(t, "healed", post(), taken)
}

// envelope is what of an envelope these tests read.
type envelope struct {
	Type           string
	NumConnections int    `json:"num_connections"`
	ID             string `json:"envelope_id"`
	Payload        struct {
		EventID string `json:"event_id"`
	}
}

// dial opens a socket, and returns how to read from it and write to it.
func (d *double) dial() (hello envelope, read func() envelope, write func(text string)) {
	d.t.Helper()
	_, url, err := d.api.StartSocketModeContext(d.t.Context())
	check.NoError(d.t, err)
	conn, _, err := websocket.DefaultDialer.DialContext(d.t.Context(), url, nil)
	check.NoError(d.t, err)
	d.t.Cleanup(func() { conn.Close() })
	read = func() (e envelope) {
		d.t.Helper()
		check.NoError(d.t, errors.Join(conn.SetReadDeadline(time.Now().Add(soon)), conn.ReadJSON(&e)))
		return e
	}
	return read(), read, func(text string) { check.NoError(d.t, conn.WriteMessage(websocket.TextMessage, []byte(text))) }
}

func (d *double) emit() (eventID string) { return d.Emit(map[string]any{"type": "app_home_opened"}) }

func TestWhatNobodyAcknowledgesComesFourTimes(t *testing.T) {
	d := newDouble(t, slacktest.Options{AckWithin: 50 * time.Millisecond, Redeliver: []time.Duration{0, 50 * time.Millisecond, 50 * time.Millisecond}})
	d.emit()
	check.Require(t, check.Soon(func() bool { return len(d.Deliveries()) == 4 }), "never: the last try of an event that finds no socket")
	for _, delivery := range d.Deliveries() {
		check.Equal(t, "socket", delivery.Socket, 0)
	}
	var reads [3]func() envelope
	var writes [3]func(text string)
	for i := range reads {
		var hello envelope
		hello, reads[i], writes[i] = d.dial()
		check.That(t, hello.Type == "hello" && hello.NumConnections == i+1, "%+v", hello)
	}
	id := d.emit()
	envelopes := map[string]bool{}
	for i := range 4 { // the sockets take turns
		e := reads[(i+1)%3]()
		envelopes[e.ID] = true
		check.Equal(t, "the event", e.Payload.EventID, id)
	}
	check.Equal(t, "envelopes", len(envelopes), 4)
	writes[1](fmt.Sprintf(`{"envelope_id":%q}`, d.Deliveries()[4].EnvelopeID))
	check.Require(t, check.Soon(func() bool { return strings.Contains(fmt.Sprint(d.Complaints()), "after") }), "never: a complaint of what is late")
}

func TestAcknowledgementsAreJudged(t *testing.T) {
	d := newDouble(t, slacktest.Options{})
	_, read, write := d.dial()
	id := d.emit()
	ack := fmt.Sprintf(`{"envelope_id":%q}`, read().ID)
	write(ack)
	check.Require(t, check.Soon(func() bool { return !d.Deliveries()[0].Acked.IsZero() }), "never: it is acknowledged")
	d.Repeat(id)
	check.Equal(t, "the event comes again", read().Payload.EventID, id)
	for _, text := range []string{ack, `{"envelope_id":"nobody's"}`, `{"envelope_id":"big","payload":{"text":"` + strings.Repeat("x", 20*1024) + `"}}`, `{`} {
		write(text)
	}
	check.Require(t, check.Soon(func() bool { return len(d.Complaints()) == 4 }), "never: four complaints")
	for i, word := range []string{"twice", "unknown", "bytes", "not an"} {
		check.Contains(t, "the complaint", d.Complaints()[i], word)
	}
}
