// Polls and forwarded messages.

package discordtest

import (
	"slices"
	"strconv"

	"github.com/bwmarrin/discordgo"
)

// ask adds the poll of a post, or the snapshot of the message that it forwards (Discord, Poll: Poll Object; Message: Message Reference,
// Forwards; Message Snapshot Structure, which has no author).
func (m *Message) ask(w *world, p Post) {
	if (p.Poll != nil || p.Forward != "") && p.Content != "" {
		panic("discordtest: a poll, or a forwarded message, has no content")
	}
	if p.Poll != nil {
		if len(p.Poll.Answers) < 1 || len(p.Poll.Answers) > 10 || len([]rune(p.Poll.Question.Text)) > 300 {
			panic("discordtest: a poll has a question of at most 300 characters, and at most 10 answers")
		}
		asked := *p.Poll
		asked.Answers = slices.Clone(asked.Answers)
		for i := range asked.Answers {
			asked.Answers[i].AnswerID = i + 1
		}
		m.Poll = &asked
	}
	if p.Forward != "" {
		from := w.message(m.ChannelID, p.Forward)
		m.MessageReference = &discordgo.MessageReference{Type: discordgo.MessageReferenceTypeForward, MessageID: from.ID, ChannelID: from.ChannelID}
		m.MessageSnapshots = []discordgo.MessageSnapshot{{Message: &discordgo.Message{
			Type: from.Type, Content: from.Content, Embeds: from.Embeds, Attachments: from.Attachments, Timestamp: from.Timestamp, Flags: from.Flags,
		}}}
	}
}

// EndPoll ends a poll with votes for its answers, in their order: its results are final, and a message in the name of its author says so
// (Discord, Message: Poll result messages, Poll Result Embed Fields). That no answer wins if several have most votes is judgement, from
// the fields that may be missing.
func (s *Server) EndPoll(channel, message string, votes ...int) {
	s.do(func(w *world) {
		m := w.message(channel, message)
		ended := *m.Poll
		ended.Results = &discordgo.PollResults{Finalized: true}
		most := slices.Max(votes)
		total := 0
		winners := 0
		for i, n := range votes {
			if n > 0 {
				ended.Results.AnswerCounts = append(ended.Results.AnswerCounts, &discordgo.PollAnswerCount{ID: i + 1, Count: n})
			}
			if n == most {
				winners++
			}
			total += n
		}
		m.Poll = &ended
		w.dispatchMessage("MESSAGE_UPDATE", m)
		field := func(name, value string) *discordgo.MessageEmbedField {
			return &discordgo.MessageEmbedField{Name: name, Value: value}
		}
		says := &discordgo.MessageEmbed{Type: "poll_result", Fields: []*discordgo.MessageEmbedField{
			field("poll_question_text", ended.Question.Text), field("victor_answer_votes", strconv.Itoa(most)), field("total_votes", strconv.Itoa(total)),
		}}
		if winners == 1 {
			winner := slices.Index(votes, most)
			says.Fields = append(says.Fields, field("victor_answer_id", strconv.Itoa(winner+1)), field("victor_answer_text", ended.Answers[winner].Media.Text))
		}
		n := w.newMessage(w.channel(channel), m.Author, "")
		n.reply(m)
		n.Type = 46
		n.Embeds = []*discordgo.MessageEmbed{says}
		n.Mentions = []*discordgo.User{m.Author}
		w.post(n)
	})
}
