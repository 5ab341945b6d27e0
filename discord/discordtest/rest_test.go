// The REST API's strictness, by requests of the bare library.
package discordtest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"

	"cairn/discord/discordtest"
)

// refused fails unless err is a REST error with this HTTP status and code.
func refused(t *testing.T, err error, status, code int) {
	t.Helper()
	var rest *discordgo.RESTError
	if !errors.As(err, &rest) || rest.Response.StatusCode != status || rest.Message == nil || rest.Message.Code != code {
		t.Errorf("got %v, want %d with code %d", err, status, code)
	}
}

func TestMessagesAreJudged(t *testing.T) {
	v := newTown(t, discordtest.Options{})
	s := v.session()
	path := discordgo.EndpointChannelMessages(v.channel)
	post := func(body string) error {
		_, err := s.RequestWithBucketID("POST", path, json.RawMessage(body), path)
		return err
	}
	text := func(content string) string {
		b, _ := json.Marshal(map[string]string{"content": content})
		return string(b)
	}
	for _, c := range []struct {
		claim, body string
		code        int // 0: taken
	}{
		{"2000 characters are taken", text(strings.Repeat("é", 2000)), 0},
		{"2001 characters are refused", text(strings.Repeat("é", 2001)), 50035},
		{"1001 characters of two UTF-16 units are refused", text(strings.Repeat("😀", 1001)), 50035},
		{"no content is refused", `{}`, 50006},
		{"blank content is refused", text(" \n "), 50006},
		{"an embed needs no content", `{"embeds":[{"title":"x"}]}`, 0},
		{"a null parse is refused", `{"content":"x","allowed_mentions":{"parse":null}}`, 50035},
		{"null allowed_mentions are refused", `{"content":"x","allowed_mentions":null}`, 50035},
		{"a list of allowed_mentions is refused", `{"content":"x","allowed_mentions":[]}`, 50035},
		{"an unknown kind of mention is refused", `{"content":"x","allowed_mentions":{"parse":["all"]}}`, 50035},
		{"parse and ids of one kind are refused", `{"content":"x","allowed_mentions":{"parse":["users"],"users":["1"]}}`, 50035},
		{"an empty parse is taken", `{"content":"x","allowed_mentions":{"parse":[]}}`, 0},
		{"a reply to nothing is refused", `{"content":"x","message_reference":{"message_id":"1"}}`, 50035},
		{"a reply to nothing that may fail is taken", `{"content":"x","message_reference":{"message_id":"1","fail_if_not_exists":false}}`, 0},
		{"a nonce of 26 characters is refused", `{"content":"x","nonce":"` + strings.Repeat("n", 26) + `"}`, 50035},
		{"a button without a row is refused", `{"content":"x","components":[{"type":2,"custom_id":"a"}]}`, 50035},
		{"six buttons in a row are refused", `{"content":"x","components":[{"type":1,"components":[` + strings.Repeat(`{"type":2},`, 5) + `{"type":2}]}]}`, 50035},
		{"a row with a button is taken", `{"content":"x","components":[{"type":1,"components":[{"type":2,"style":1,"custom_id":"a","label":"A"}]}]}`, 0},
	} {
		t.Run(c.claim, func(t *testing.T) {
			switch err := post(c.body); {
			case c.code != 0:
				refused(t, err, http.StatusBadRequest, c.code)
			case err != nil:
				t.Error(err)
			}
		})
	}
}

func TestWhoIsNotified(t *testing.T) {
	v := newTown(t, discordtest.Options{})
	s := v.session()
	content := "@everyone and <@" + v.person.ID + ">"
	loud, err := s.ChannelMessageSend(v.channel, content)
	if err != nil || !loud.MentionEveryone || len(loud.Mentions) != 1 {
		t.Errorf("without allowed_mentions %+v (%v); want all to be notified", loud, err)
	}
	none := &discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{}}
	quiet, err := s.ChannelMessageSendComplex(v.channel, &discordgo.MessageSend{Content: content, AllowedMentions: none})
	if err != nil || quiet.MentionEveryone || len(quiet.Mentions) != 0 {
		t.Errorf("with an empty parse %+v (%v); want nobody to be notified", quiet, err)
	}
	edited, err := s.ChannelMessageEdit(v.channel, quiet.ID, content+"!")
	if err != nil || !edited.MentionEveryone {
		t.Errorf("an edit without allowed_mentions gave %+v (%v); want all to be notified", edited, err)
	}
	_, err = s.ChannelMessageSendComplex(v.channel, &discordgo.MessageSend{Content: "x", AllowedMentions: &discordgo.MessageAllowedMentions{}})
	refused(t, err, http.StatusBadRequest, 50035) // discordgo sends a nil Parse as null
}

func TestPingsCanBeRefused(t *testing.T) {
	v := newTown(t, discordtest.Options{RefusePings: true})
	s := v.session()
	none := &discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{}}
	m, err := s.ChannelMessageSendComplex(v.channel, &discordgo.MessageSend{Content: "x", AllowedMentions: none})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.ChannelMessageSend(v.channel, "x")
	refused(t, err, http.StatusBadRequest, 50035)
	_, err = s.ChannelMessageEdit(v.channel, m.ID, "y")
	refused(t, err, http.StatusBadRequest, 50035)
}

func TestEditsDeletionsAndReplies(t *testing.T) {
	v := newTown(t, discordtest.Options{})
	s := v.session()
	theirs := v.say("hello")
	ours, err := s.ChannelMessageSendReply(v.channel, "hi", &discordgo.MessageReference{MessageID: theirs.ID})
	if err != nil || ours.ReferencedMessage == nil || ours.ReferencedMessage.Content != "hello" {
		t.Fatalf("the reply is %+v, %v", ours, err)
	}
	for _, content := range []string{"hi a", "hi a b"} {
		if _, err := s.ChannelMessageEdit(v.channel, ours.ID, content); err != nil {
			t.Error(err)
		}
	}
	sent := v.Sent(v.channel)
	if len(sent) != 1 || sent[0].Content != "hi a b" || len(sent[0].Edits) != 2 || sent[0].Edits[0].Content != "hi a" {
		t.Errorf("recorded %+v", sent)
	}
	_, err = s.ChannelMessageEdit(v.channel, ours.ID, "")
	refused(t, err, http.StatusBadRequest, 50006)
	_, err = s.ChannelMessageEdit(v.channel, theirs.ID, "x")
	refused(t, err, http.StatusForbidden, 50005)
	refused(t, s.ChannelMessageDelete(v.channel, theirs.ID), http.StatusForbidden, 50013)
	if err := s.ChannelMessageDelete(v.channel, ours.ID); err != nil {
		t.Error(err)
	}
	refused(t, s.ChannelMessageDelete(v.channel, ours.ID), http.StatusNotFound, 10008)
	if sent := v.Sent(v.channel); !sent[0].Deleted {
		t.Error("the deletion is not recorded")
	}
	if n := v.InvalidRequests(); n != 2 {
		t.Errorf("%d invalid requests, want the two 403", n)
	}
}

func TestHistoryIsReadInWindows(t *testing.T) {
	v := newTown(t, discordtest.Options{})
	s := v.session()
	var ids []string
	for _, content := range numbered(0, 10) {
		ids = append(ids, v.say(content).ID)
	}
	for _, c := range []struct {
		claim                 string
		limit                 int
		before, after, around string
		want                  string
	}{
		{"the last, newest first", 3, "", "", "", "9 8 7"},
		{"those just before", 2, ids[5], "", "", "4 3"},
		{"those just after", 2, "", ids[5], "", "7 6"},
		{"those around", 3, "", "", ids[5], "6 5 4"},
	} {
		t.Run(c.claim, func(t *testing.T) {
			all, err := s.ChannelMessages(v.channel, c.limit, c.before, c.after, c.around)
			var got []string
			for _, m := range all {
				got = append(got, m.Content)
			}
			if err != nil || strings.Join(got, " ") != c.want {
				t.Errorf("got %v (%v), want %s", got, err, c.want)
			}
		})
	}
	_, err := s.ChannelMessages(v.channel, 101, "", "", "")
	refused(t, err, http.StatusBadRequest, 50035)
	_, err = s.ChannelMessages(v.channel, 10, ids[1], ids[2], "")
	refused(t, err, http.StatusBadRequest, 50035)
}

func TestLookups(t *testing.T) {
	v := newTown(t, discordtest.Options{})
	s := v.session()
	thread := v.Thread(v.channel, v.person.ID, "aside")
	if c, err := s.Channel(thread.ID); err != nil || !c.IsThread() || c.ParentID != v.channel {
		t.Errorf("thread: %+v, %v", c, err)
	}
	if g, err := s.Guild(v.guild.ID); err != nil || g.OwnerID != v.person.ID {
		t.Errorf("guild: %+v, %v", g, err)
	}
	if m, err := s.GuildMember(v.guild.ID, v.person.ID); err != nil || m.User.Username != "ann" {
		t.Errorf("member: %+v, %v", m, err)
	}
	if l, err := s.GuildThreadsActive(v.guild.ID); err != nil || len(l.Threads) != 1 {
		t.Errorf("threads: %+v, %v", l, err)
	}
	d, err := s.UserChannelCreate(v.person.ID)
	if err != nil || d.Type != discordgo.ChannelTypeDM || d.ID != v.Direct(v.person.ID).ID {
		t.Errorf("direct: %+v, %v", d, err)
	}
	if err := s.ChannelTyping(d.ID); err != nil || len(v.Requests("POST /channels/*/typing")) != 1 {
		t.Errorf("typing: %v", err)
	}
	started := v.say("start here")
	own, err := s.MessageThreadStart(v.channel, started.ID, "from a message", 60)
	if err != nil || own.ID != started.ID {
		t.Errorf("a thread at a message has the id %v (%v), want the message's", own, err)
	}
	if g, err := s.GatewayBot(); err != nil || g.SessionStartLimit.MaxConcurrency != 1 {
		t.Errorf("gateway: %+v, %v", g, err)
	}
}

func TestFilesGoBothWays(t *testing.T) {
	v := newTown(t, discordtest.Options{})
	s := v.session()
	theirs := v.Post(v.channel, v.person.ID, discordtest.Post{Files: []discordtest.File{{Name: "a.txt", ContentType: "text/plain", Data: []byte("abc")}}})
	ours, err := s.ChannelFileSend(v.channel, "b.txt", strings.NewReader("defg"))
	if err != nil || len(ours.Attachments) != 1 || ours.Attachments[0].Size != 4 {
		t.Fatalf("sent %+v, %v", ours, err)
	}
	for url, want := range map[string]int{theirs.Attachments[0].URL: 3, ours.Attachments[0].URL: 4} {
		answer, err := v.Client().Get(url)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.ContentLength != int64(want) {
			t.Errorf("%s has %d bytes, want %d", url, answer.ContentLength, want)
		}
	}
}

func TestFilesAreFewAndNotBig(t *testing.T) {
	v := newTown(t, discordtest.Options{})
	s := v.session()
	send := func(size, count int) error {
		var files []*discordgo.File
		for range count {
			files = append(files, &discordgo.File{Name: "a.bin", Reader: strings.NewReader(strings.Repeat("x", size))})
		}
		_, err := s.ChannelMessageSendComplex(v.channel, &discordgo.MessageSend{Files: files})
		return err
	}
	if err := send(1, 10); err != nil {
		t.Error(err)
	}
	refused(t, send(1, 11), http.StatusBadRequest, 30015)
	refused(t, send(10<<20+1, 1), http.StatusRequestEntityTooLarge, 40005)
}

func TestCommandsAreJudged(t *testing.T) {
	v := newTown(t, discordtest.Options{})
	s := v.session()
	type cmd = discordgo.ApplicationCommand
	type opt = discordgo.ApplicationCommandOption
	text := discordgo.ApplicationCommandOptionString
	put := func(c ...*cmd) error {
		_, err := s.ApplicationCommandBulkOverwrite(v.Bot.ID, "", c)
		return err
	}
	many := make([]*cmd, 101)
	for i := range many {
		many[i] = &cmd{Name: fmt.Sprint("c", i), Description: "x"}
	}
	for claim, bad := range map[string][]*cmd{
		"capitals":                     {{Name: "Help", Description: "x"}},
		"spaces":                       {{Name: "a b", Description: "x"}},
		"no description":               {{Name: "a"}},
		"a description of 101":         {{Name: "a", Description: strings.Repeat("x", 101)}},
		"one name twice":               {{Name: "a", Description: "x"}, {Name: "a", Description: "y"}},
		"required after optional":      {{Name: "a", Description: "x", Options: []*opt{{Type: text, Name: "b", Description: "x"}, {Type: text, Name: "c", Description: "x", Required: true}}}},
		"choices and autocomplete":     {{Name: "a", Description: "x", Options: []*opt{{Type: text, Name: "b", Description: "x", Autocomplete: true, Choices: []*discordgo.ApplicationCommandOptionChoice{{Name: "x", Value: "x"}}}}}},
		"an option of an unknown kind": {{Name: "a", Description: "x", Options: []*opt{{Type: 99, Name: "b", Description: "x"}}}},
	} {
		t.Run(claim+" is refused", func(t *testing.T) { refused(t, put(bad...), http.StatusBadRequest, 50035) })
	}
	refused(t, put(many...), http.StatusBadRequest, 30032)
	if err := put(many[:2]...); err != nil {
		t.Error(err)
	}
	if err := put(&cmd{Name: "help", Description: "x"}); err != nil {
		t.Error(err)
	}
	names := slices.Collect(func(yield func(string) bool) {
		for _, c := range v.Commands("") {
			yield(c.Name)
		}
	})
	if len(names) != 1 || names[0] != "help" {
		t.Errorf("registered are %v, want only the last set", names)
	}
}
