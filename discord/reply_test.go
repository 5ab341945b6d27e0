// People talk, and the bot hears and answers them.

package discord

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"

	"cairn/discord/discordtest"
	"cairn/internal/check"
	"cairn/internal/platform"
	"cairn/memory"
	"cairn/words/wordstest"
)

func TestWhatIsAddressedToTheBotIsAnswered(t *testing.T) {
	r := newRig(t, discordtest.Options{}).start()
	r.Say(r.square, r.ann.ID, "nobody in particular") // is context only
	m := r.converse(r.square, "how are you?", 1)
	to := r.sent(r.square)[0].MessageReference
	check.That(t, to != nil && to.MessageID == m.ID, "the answer refers to %+v", to)
	said := r.heard(r.place(r.square), 2)
	check.That(t, said[0].Text == "nobody in particular" && !said[0].Addressed && said[1].Addressed && said[1].Author == "ann", "it heard %+v", said)
	check.Equal(t, "how often the model was asked", len(r.Model.Requests()), 1)
	r.Post(r.square, r.ann.ID, discordtest.Post{Content: "fine too", ReplyTo: r.sent(r.square)[0].ID}) // a reply need not name it
	r.answersLast(r.square, 2, "echo: fine too")

	direct := r.Direct(r.ann.ID).ID // is in the conversation with that person
	r.Say(direct, r.ann.ID, "between us")
	r.answersLast(direct, 1, "echo: between us")
	said = r.heard("discord:@me/"+direct, 1)
	check.That(t, said[0].Text == "between us" && said[0].Addressed, "it heard %+v", said[0])
	names := map[string]bool{}
	for _, l := range check.Must(r.Store.Listing(t.Context()))(t) {
		names[l.Name] = true
	}
	check.That(t, names["#square · town"] && names["ann"], "the list of conversations does not say what people call them: %v", names)

	place := r.Channel(r.guild.ID, "roles").ID
	role := r.Role(r.guild.ID, "helpers", 0)
	r.Permit(r.guild.ID, r.Bot.ID, "", 0, role.ID)
	r.Dispatch("GUILD_MEMBER_UPDATE", map[string]any{"guild_id": r.guild.ID, "user": r.Bot, "roles": []string{role.ID}})
	r.Say(place, r.ann.ID, "<@&"+role.ID+"> who knows?")
	r.answersLast(place, 1, "echo: @helpers who knows?")

	thread := r.Thread(r.square, r.ann.ID, "plans").ID // is a conversation of its own
	r.converse(thread, "first", 1)
	r.Say(thread, r.ann.ID, "second, unasked")
	r.answersLast(thread, 2, "echo: second, unasked")
	check.EqualAll(t, "in the thread", r.texts(r.place(r.square)+"/"+thread, 2), []string{"first", "second, unasked"})
	r.connector.state.remove(thread) // as one that was archived when the bot came: it is looked up
	r.Fail(discordtest.Fault{Of: "GET /channels/*", Status: 503})
	r.converse(thread, "still here?", 3)
	check.Equal(t, "answers in the parent", len(r.sent(r.square)), 2)
}

func TestABurstKeepsItsOrderAndDelaysNobodyElse(t *testing.T) {
	const burst = 250 // more than a batch of a queue; each message is a commit
	r := newRig(t, discordtest.Options{}).start()
	park := r.Channel(r.guild.ID, "park").ID
	for i := range burst {
		r.Say(r.square, r.ann.ID, fmt.Sprint("line ", i))
	}
	r.converse(park, "and here?", 1)
	r.Repeat(1) // an event that comes twice is one message
	r.converse(r.square, "the last", 1)
	r.Repeat(4)
	r.converse(r.square, "more", 2)
	said := r.texts(r.place(r.square), burst+2)
	check.Len(t, "messages", said, burst+2)
	for i, text := range said[:burst] {
		check.Require(t, text == fmt.Sprint("line ", i), "message %d is %q", i, text)
	}
}

func TestMentionOnlyNeedsNoPrivilege(t *testing.T) {
	r := newRig(t, discordtest.Options{Forbidden: discordgo.IntentMessageContent})
	r.opts.MentionOnly = true
	r.start()
	r.Say(r.square, r.ann.ID, "not for the bot")
	r.converse(r.square, "for the bot", 1)
	direct := r.Direct(r.ann.ID).ID
	r.Say(direct, r.ann.ID, "and this")
	r.answers(direct, 1)
	check.EqualAll(t, "it heard only what it may read", r.texts(r.place(r.square), 1), []string{"for the bot"})
	check.Equal(t, "it asked for the privileged intent", r.Connections()[0].Intents&discordgo.IntentMessageContent, 0)
}

// "Translate this" and the like are written as replies, also to messages from before the bot came.
func TestRepliesToWhatIsNotTold(t *testing.T) {
	r := newRig(t, discordtest.Options{}).start()
	r.converse(r.square, "one", 1) // after which no older history is read
	at := time.Now()
	reply := func(to, text string) { // does not say to what, but for its id
		at = at.Add(time.Second)
		r.Dispatch("MESSAGE_CREATE", map[string]any{
			"id": idAt(at), "channel_id": r.square, "guild_id": r.guild.ID, "type": 19, "content": text,
			"author": map[string]any{"id": r.ann.ID, "username": "ann"}, "message_reference": map[string]any{"message_id": to},
		})
	}
	reply(r.Say(r.square, r.ann.ID, "to nobody").ID, "nor this")
	reply(r.sent(r.square)[0].ID, "two")
	r.answersLast(r.square, 2, "echo: two")

	r.Drop(1)
	long := r.Say(r.square, r.User("bob").ID, strings.Repeat("word ", 90)+"and its end")
	r.Post(r.square, r.ann.ID, discordtest.Post{Content: "<@" + r.Bot.ID + "> translate this", ReplyTo: long.ID})
	r.answers(r.square, 3)
	asked := r.Model.Requests()[2].Messages
	check.Contains(t, "the request", asked[len(asked)-1].Text, "replying to bob: ", "and its end")
}

func TestFilesAreReadOrDescribed(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	r.opts.AttachmentTokens, r.opts.Pictures = 100, true
	r.start()
	huge := bytes.Repeat([]byte("x"), platform.MaxText+1)
	r.Fail(discordtest.Fault{Of: "GET /attachments/*/*/*", Status: 503})
	m := r.Post(r.square, r.ann.ID, discordtest.Post{Content: "<@" + r.Bot.ID + "> look", Files: []discordtest.File{
		{Name: "notes.txt", ContentType: "text/plain; charset=utf-8", Data: []byte("the plan is simple")},
		{Name: "main.go", Data: []byte("package main")},
		{Name: "cat.png", ContentType: "image/png", Data: []byte("\x89PNG\r\n\x1a\nnot much of a picture")},
		{Name: "huge.log", ContentType: "text/plain", Data: huge},
		{Name: "song.mp3", ContentType: "audio/mpeg", Data: []byte("la la")},
	}})
	r.answers(r.square, 1)
	files := r.heard(r.place(r.square), 1)[0].Attachments
	check.Len(t, "files", files, 5)
	check.That(t, files[0].Text == "the plan is simple" && files[1].Text == "package main", "the text files: %+v", files[:2])
	check.That(t, files[2].File != 0 && files[2].Kind == "image", "the picture: %+v", files[2])
	check.That(t, strings.HasPrefix(files[3].Text, "xxx") && len(files[3].Text) <= 1000 && files[3].Size == int64(len(huge)), "what is read in part: %+v", files[3])
	check.That(t, files[4].Kind == "audio" && files[4].Name == "song.mp3", "what is only described: %+v", files[4])
	fetched := r.count("GET /attachments/*/*/*")
	r.Edit(r.square, m.ID, "look here")
	r.until("the edit", func() bool { return r.Transcript(r.place(r.square))[0].Text == "look here" })
	check.Equal(t, "the text of a file after an edit", r.Transcript(r.place(r.square))[0].Attachments[0].Text, "the plan is simple")
	check.Equal(t, "files that were fetched", r.count("GET /attachments/*/*/*"), fetched)
}

func TestWhoMayReadIsStoredWithWhatIsSaid(t *testing.T) {
	r := newRig(t, discordtest.Options{}).start()
	memory.In(r.Store).Share(true)
	for n, deny := range []string{"0", "1024"} { // View Channel
		r.Dispatch("GUILD_CREATE", map[string]any{
			"id": r.guild.ID, "roles": []any{map[string]any{"id": r.guild.ID, "name": "@everyone", "permissions": "66560"}},
			"channels": []any{map[string]any{"id": r.square, "type": 0, "name": "square", "permission_overwrites": []any{map[string]any{"id": r.guild.ID, "type": 0, "allow": "0", "deny": deny}}}},
		})
		r.converse(r.square, "hello", n+1)
		c := check.Must(r.Store.Find(t.Context(), r.place(r.square)))(t)
		_, here, err := memory.Of(c).Shared(t.Context())
		check.NoError(t, err)
		check.Equal(t, "a channel shares its memories where everyone is denied "+deny, here, deny == "0")
	}
}

// FuzzEvent reads any data as each event that carries what people said, as their use of a command, or as a button.
func FuzzEvent(f *testing.F) {
	for _, text := range wordstest.Texts() {
		quoted, _ := json.Marshal(text)
		f.Add([]byte(`{"id":"12","channel_id":"20","author":{"id":"3","username":` + string(quoted) + `},"content":` + string(quoted) + `,"attachments":[{"filename":` + string(quoted) + `}],"data":{"name":"forget","custom_id":` + string(quoted) + `,"options":[{"name":"which","value":` + string(quoted) + `}]}}`))
		f.Add([]byte(text))
	}
	f.Add([]byte(`{"id":"1","author":{"id":"3"},"content":"<t:9223372036854775807:R> <t:-99999999999999:R> <@99999999999999999999>","type":19,"referenced_message":{"referenced_message":{}},"message_snapshots":[{}],"poll":{"answers":[{}]},"embeds":[{}],"mentions":[{}]}`))
	f.Add([]byte(`{"id":5,"author":[],"content":{},"member":"x","data":{"name":"memories","custom_id":"page 99999999999999999999 /memories","options":[{"name":"query","value":{"a":1}}]}}`))
	d := bot(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		in, ok := d.inbound(read[message](data), place{Guild: "9"})
		if ok && (in.ID == "" || in.AuthorID == "" || in.AuthorID == "1" || in.Time.IsZero() || !utf8.ValidString(in.Text+in.Author+in.Quote) || in.Text == "" && len(in.Attachments) == 0) {
			t.Fatalf("%q is heard as %+v", data, in)
		}
		i := read[interaction](data)
		check.HasPrefix(t, "a command", i.line(), "/")
		check.That(t, !i.person().Manager || i.Member == nil || i.Member.Permissions != 0, "%q manages", data)
		line, _, ok := parseCustomID(i.Data.CustomID)
		check.That(t, !ok || strings.Contains(i.Data.CustomID, line), "the button %q runs %q", i.Data.CustomID, line)
		_, _, _ = read[deletion](data), read[guild](data), read[place](data)
	})
}
