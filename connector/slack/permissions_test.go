package slack

import (
	"fmt"
	"strings"
	"testing"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
	"cairn/chat"
	"cairn/testkit/check"
	"cairn/testkit/slacktest"
)

func TestWhereAPostWasRefusedNoModelIsAsked(t *testing.T) {
	r, general, ann := connectedRig(t, slacktest.Options{}, answerN)
	bob := r.w.AddUser("bob")
	r.w.Join(general, bob)
	r.w.Restrict(general, "restricted_action_read_only_channel")
	question := func(person, text string) {
		r.w.Say(slacktest.Post{Channel: general, User: person, Text: mention + text})
	}
	question(ann, "are you there?")
	const want = channel.ChannelReadOnly + " Your message is saved. Once I may write here, ask again."
	check.Equal(t, "ann was told", r.awaitPrivate(general, ann, 1).Text, want)
	check.Equal(t, "model requests", len(r.Model.Requests()), 1)
	question(ann, "are you there now?")
	question(bob, "and for me?")
	check.Equal(t, "bob was told", r.awaitPrivate(general, bob, 1).Text, want)
	check.Equal(t, "model requests", len(r.Model.Requests()), 1)
	check.Len(t, "what ann was told", r.botMessages(general, ann), 1)

	r.w.Restrict(general, "")
	name := r.connector.self.place(general, "").String()
	r.eventually("the bot learns of it", func() bool { return r.connector.CannotWrite(name) == "" })
	question(ann, "and now?")
	r.answered(general, "answer 2")
	check.Equal(t, "refusals logged", strings.Count(r.Log.String(), "msg=writing_refused"), 1)
	check.Contains(t, "the log", r.Log.String(), "msg=writing_recovered")
}

func TestAWrittenCommandIsAnsweredWhereTheBotMayNotWrite(t *testing.T) {
	r, general, ann := connectedRig(t, slacktest.Options{}, answerN)
	r.w.Restrict(general, "restricted_action_read_only_channel")
	for n := range 2 {
		r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "/help"})
		check.Contains(t, "the answer", r.awaitPrivate(general, ann, n+1).Text, "/cairn context")
	}
	check.Len(t, "what all see", r.botMessages(general), 0)
}

func TestDoctorNamesChannelsThatAreReadOnly(t *testing.T) {
	r, general, _ := town(t, slacktest.Options{}, nil)
	r.connector = check.Must(New(r.opts))(t) // as doctor does: nothing else uses it
	facts := check.Must(r.connector.Check(t.Context()))(t)
	check.Lacks(t, "the facts", strings.Join(facts, "\n"), "I cannot answer here")
	r.w.Restrict(general, "restricted_action_read_only_channel")
	facts = check.Must(r.connector.Check(t.Context()))(t)
	check.Contains(t, "the facts", strings.Join(facts, "\n"), "warning: in #general: "+channel.ChannelReadOnly)
}

func TestDoctorReadsFewPagesOfChannels(t *testing.T) {
	r, general, _ := town(t, slacktest.Options{}, nil)
	r.w.Restrict(general, "restricted_action_read_only_channel")
	const most = checkedPages * pageSize
	for n := range most {
		r.w.AddChannel(fmt.Sprint("channel-", n))
	}
	facts := func(within time.Duration) string {
		r.connector = check.Must(New(r.opts))(t)
		r.connector.times.check = within
		return strings.Join(check.Must(r.connector.Check(t.Context()))(t), "\n")
	}
	check.Contains(t, "of too many: the facts", facts(soon), fmt.Sprintf("was checked in %d channels, and not in the others", most), "warning: in #general")
	check.Len(t, "requests", r.w.Calls("users.conversations"), checkedPages)
	r.w.Fail(slacktest.Fault{Of: "users.conversations", RetryAfter: time.Minute, Times: -1})
	check.Contains(t, "of a server that asks to wait: the facts", facts(200*time.Millisecond), "was checked in 0 channels, and not in the others")
}

func TestWhyAPostWasRefused(t *testing.T) {
	r, general, _ := connectedRig(t, slacktest.Options{}, nil)
	thread := chat.ParsePlace(r.connector.self.place(general, "").String())
	thread.Thread = "1700000000.000100"
	why := func(code string) (inChannel, inThread string) {
		r.connector.poster.notePost(chat.ParsePlace(above(thread)), nil)
		r.connector.poster.notePost(thread, nil)
		r.connector.poster.notePost(thread, slackgo.SlackErrorResponse{Err: code})
		return r.connector.CannotWrite(above(thread)), r.connector.CannotWrite(thread.String())
	}
	for code, want := range map[string][2]string{
		"is_archived":                           {channel.ChannelArchived, channel.ChannelArchived},
		"not_in_channel":                        {channel.NotInChannel, channel.NotInChannel},
		"restricted_action":                     {channel.PostingRestricted, channel.PostingRestricted},
		"restricted_action_thread_only_channel": {channel.ThreadsOnly, ""},
		"restricted_action_thread_locked":       {"", channel.ThreadLocked},
		"msg_too_long":                          {"", ""},
	} {
		inChannel, inThread := why(code)
		check.EqualAll(t, code, []string{inChannel, inThread}, want[:])
	}
}
