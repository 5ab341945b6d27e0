// Polls and forwarded messages are text.

package discord

import (
	"context"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"

	"cairn/channel/access"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/discordtest"
	"cairn/testkit/llmtest"
)

func TestAPollAndItsEndAreText(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	r.Rules.Respond = func(string) access.Respond { return access.RespondAll }
	r.Model.Func = func(context.Context, int, llm.Request) (llm.Response, error) { return llmtest.Say("I see."), nil }
	r.start()
	asked := discordgo.Poll{Question: discordgo.PollMedia{Text: "Where shall we go?"}, Answers: []discordgo.PollAnswer{
		{Media: &discordgo.PollMedia{Text: "Turin"}}, {Media: &discordgo.PollMedia{Text: "Rome"}},
	}}
	poll := r.Post(r.square, r.ann.ID, discordtest.Post{Poll: &asked}).ID
	r.answers(r.square, 1)
	r.EndPoll(r.square, poll, 1, 3)
	r.answers(r.square, 2) // although nobody can reply to the end of a poll
	check.Contains(t, "a search", r.tell("/recall Rome won").String(), "Rome won; votes: 3 of 4")
	said := r.heard(r.place(r.square), 2)
	check.Equal(t, "a poll", said[0].Text, "[poll: Where shall we go? — Turin / Rome]")
	check.Equal(t, "its end", said[1].Text, "[the poll has ended: Where shall we go? — Rome won; votes: 3 of 4]")
	check.Equal(t, "its author", said[1].AuthorID, r.ann.ID)
	check.Equal(t, "it refers to", said[1].ReplySeq, said[0].Seq)

	r.Delete(r.square, poll, said[1].ID)
	r.until("the deletion", func() bool { return !strings.Contains(r.tell("/recall Rome").String(), "votes: 3") })
	check.Lacks(t, "a search", r.tell("/recall Where shall we go?").String(), "Turin / Rome")

	late := r.Channel(r.guild.ID, "late").ID
	poll = r.Post(late, r.ann.ID, discordtest.Post{Poll: &asked}).ID
	r.answers(late, 1)
	r.restart(func() { r.EndPoll(late, poll, 2, 2) })
	check.Equal(t, "an end that was missed", r.heard(r.place(late), 2)[1].Text, "[the poll has ended: Where shall we go? — no answer won; votes: 4]")
	m := check.Must(r.connector.history.messageByID(r.ctx, late, poll, false))(t)
	check.Equal(t, "the poll with its votes", r.connector.history.translator.textOf(m, r.guild.ID, self{}, false), "[poll: Where shall we go? — Turin (2) / Rome (2)]")
}

func TestWhatIsForwardedIsMarked(t *testing.T) {
	r := newRig(t, discordtest.Options{}).start()
	file := discordtest.File{Name: "plan.txt", ContentType: "text/plain", Data: []byte("go by train")}
	from := r.Post(r.square, r.ann.ID, discordtest.Post{Content: "the plan", Files: []discordtest.File{file}})
	forward := r.Post(r.square, r.ann.ID, discordtest.Post{Forward: from.ID}).ID
	said := r.heard(r.place(r.square), 2)
	check.Equal(t, "it is forwarded", said[1].Text, "[forwarded] the plan")
	check.That(t, len(said[1].Attachments) == 1 && said[1].Attachments[0].Name == "plan.txt", "its files are %+v", said[1].Attachments)
	r.Delete(r.square, from.ID) // a snapshot stays
	r.until("the deletion", func() bool { return len(r.heard(r.place(r.square), 1)) == 1 })
	check.Contains(t, "a search", r.tell("/recall plan").String(), "[forwarded] the plan")
	r.Delete(r.square, forward)
	r.until("the deletion", func() bool { return !strings.Contains(r.tell("/recall plan").String(), "the plan") })
}
