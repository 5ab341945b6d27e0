// People talk, and the bot hears and answers them.

package discord

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/connector/platform"
	"cairn/memory"
	"cairn/testkit/channeltest"
	"cairn/testkit/check"
	"cairn/testkit/discordtest"
	"cairn/testkit/llmtest"
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
	check.Contains(t, "the list of conversations", fmt.Sprint(r.Store.Places(t.Context(), "", 10, 0)), " #square · town 0 ", " ann 0 ", " <nil>")

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
	r.connector.state.places.Delete(thread) // as one that was archived when the bot came: it is looked up
	r.Fail(discordtest.Fault{Of: "GET /channels/*", Status: 503})
	r.converse(thread, "still here?", 3)
	check.Equal(t, "answers in the parent", len(r.sent(r.square)), 2)
}

func TestABurstKeepsItsOrderAndDelaysNobodyElse(t *testing.T) {
	const burst = 250 // more than a batch of a queue; each message is a commit
	r := newRig(t, discordtest.Options{}).start()
	park := r.Channel(r.guild.ID, "park").ID
	for _, line := range numbered("line ", burst) {
		r.Say(r.square, r.ann.ID, line)
	}
	r.converse(park, "and here?", 1)
	r.Repeat(1) // an event that comes twice is one message
	r.converse(r.square, "the last", 1)
	r.Repeat(4)
	r.converse(r.square, "more", 2)
	said := r.texts(r.place(r.square), burst+2)
	check.EqualAll(t, "messages", said, append(numbered("line ", burst), "the last", "more"))
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
	r.opts.AttachmentTokens = 100
	r.opts.Pictures = true
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

func TestAnAnswerThatARestartBreaksOffIsFinishedInItsPlace(t *testing.T) {
	r := newRig(t, discordtest.Options{}, quick).start()
	text := slowly(r, 200, 30*time.Millisecond)
	r.ask(r.square, "tell me slowly")
	r.until("the first words", func() bool { return len(r.sent(r.square)) == 1 })
	r.restart(func() { r.Model.Delay = 0 })
	r.until("the whole reply", func() bool { s := r.sent(r.square); return len(s) > 0 && s[0].Content == text })
	r.Idle(r.place(r.square))
	check.Equal(t, "messages", len(r.sent(r.square)), 1)
}

func TestWhatIsNoAnswerTakesOverNone(t *testing.T) {
	r := newRig(t, discordtest.Options{}, quick).start()
	m := r.Say(r.square, r.ann.ID, "a question")
	const posts = "POST /channels/*/messages"
	r.Fail(discordtest.Fault{Of: posts, Cut: true}) // it did not arrive, but nobody knows
	broken := r.connector.Reply(r.place(r.square), []string{m.ID}).(*writer)
	broken.Show("half a thought")
	r.until("the first words to be lost", func() bool { return r.count(posts) == 1 })
	broken.Stop()
	r.sendAll(r.connector.Reply(r.place(r.square), []string{m.ID}), "the answer", m.ID)
	broken.deleteStreamed(r.ctx, 0) // leaves the answer that came in its place
	r.answers(r.square, 1)

	half := func(place string) (w channel.Writer, question string) { // maybe by an earlier process; half of the answer is shown
		m := r.Say(place, r.ann.ID, "question")
		r.heard(r.place(place), 1)
		check.NoError(t, platform.Sleep(r.ctx, 5*time.Millisecond))
		r.connector.shards.list()[0].opened = time.Now()
		w = r.connector.Reply(r.place(place), []string{m.ID})
		w.Show("half an answer")
		r.until("the words", func() bool { return len(r.sent(place)) == 1 })
		return w, m.ID
	}
	place := r.Channel(r.guild.ID, "place").ID
	w, question := half(place)
	notice := channel.Piece{Row: 1, Reply: "shortened-1", Parts: 1, Text: "(too long)", To: []string{question}, Failure: true}
	check.Must(r.send(r.place(place), notice))(t)
	check.That(t, r.sent(place)[1].MessageReference == nil, "a notice replies to the question")
	r.sendAll(w, "the answer", question)
	check.EqualAll(t, "it says", r.contents(place), []string{"the answer", "(too long)"})

	place = r.Channel(r.guild.ID, "place").ID
	w, question = half(place) // after a failed attempt at an answer comes another one, or a sentence that says so
	r.Fail(discordtest.Fault{Of: "DELETE /channels/*/messages/*", Delay: 300 * time.Millisecond})
	w.Cancel()
	r.sendAll(r.connector.Reply(r.place(place), []string{question}), "That did not work.", question)
	r.until("the end of the first attempt", func() bool { return r.count("DELETE /channels/"+place+"/messages/*") == 1 })
	r.stop() // what was started ends
	check.EqualAll(t, "it says", r.contents(place), []string{"That did not work."})
}

func TestResultOfATaskIsAnswered(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	r.Model.Func = channeltest.Delegate
	r.Helper = &llmtest.Model{Func: echo}
	r.start()
	r.ask(r.square, "count")
	check.EqualAll(t, "answers", r.answers(r.square, 2), []string{"started", "they say 42"})
	r.Idle(r.place(r.square))
	place := r.Channel(r.guild.ID, "place").ID
	for n, text := range []string{"go", "go on"} {
		r.ask(place, text)
		r.answersLast(place, n+1, "started")
	}
	r.Idle(r.place(place))
	questions := r.heard(r.place(place), 2)
	r.restart(func() { r.ask(r.square, "back?") }) // said while the bot is away after it
	r.answersLast(r.square, 3, "yes")
	for i, sending := range []bool{false, true} { // it replaces no answer, when it is sent and when it may have been sent
		piece := channel.Piece{Row: 99, Reply: fmt.Sprint("reply-", i), Parts: 1, Text: fmt.Sprint("they say ", i), To: []string{questions[i].ID}, Sending: sending}
		check.Must(r.send(r.place(place), piece))(t)
	}
	check.EqualAll(t, "answers", r.answers(place, 4), []string{"started", "started", "they say 0", "they say 1"})
}

// Discord knows no tables and underlines __bold__ text.
func TestWhatDiscordDoesNotKnowOfMarkdownIsConverted(t *testing.T) {
	const text = "__Prices__\n\n| Item | EUR |\n|---|--:|\n| Pen | 3 |\n\n#### Open\n- [ ] order"
	r := newRig(t, discordtest.Options{}).start()
	w := r.connector.Reply(r.place(r.square), nil)
	for i, piece := range r.connector.Split(text) {
		_, err := w.Send(t.Context(), channel.Piece{Reply: "r", Part: i, Parts: 1, Text: piece})
		check.NoError(t, err)
	}
	check.EqualAll(t, "what is posted", r.contents(r.square), []string{"**Prices**\n\n```\nItem │ EUR\n─────┼────\nPen  │   3\n```\n\n**Open**\n- ☐ order"})
}
