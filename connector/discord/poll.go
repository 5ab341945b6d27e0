// Polls, and what Discord says at their end.

package discord

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/bwmarrin/discordgo"
)

// pollEnded is the type of the message that Discord sends, in the name of a poll's author, when the votes are counted (Discord, Message:
// Message Reference, Content Attribution, Poll result messages).
const pollEnded discordgo.MessageType = 46

type poll struct {
	Question struct{ Text string }
	Answers  []struct {
		ID    int                   `json:"answer_id"`
		Media struct{ Text string } `json:"poll_media"`
	}
	Results *struct { // nil: unknown
		Final  bool                      `json:"is_finalized"`
		Counts []struct{ ID, Count int } `json:"answer_counts"` // without those that nobody chose
	}
}

// text returns the poll in brackets, with its votes once they are final.
func (p *poll) text() string {
	if p == nil {
		return ""
	}
	var answers []string
	for _, a := range p.Answers {
		answer := a.Media.Text
		if p.Results != nil && p.Results.Final {
			votes := 0
			for _, c := range p.Results.Counts {
				if c.ID == a.ID {
					votes = c.Count
				}
			}
			answer = fmt.Sprintf("%s (%d)", answer, votes)
		}
		answers = append(answers, answer)
	}
	return fmt.Sprintf("[poll: %s — %s]", p.Question.Text, strings.Join(answers, " / "))
}

// pollResult returns what a message says of the end of a poll (Discord, Message: Poll Result Embed Fields); "" if it is no such message.
func (m message) pollResult() string {
	if m.Type != pollEnded {
		return ""
	}
	said := make(map[string]string)
	for _, e := range m.Embeds {
		for _, f := range e.Fields {
			said[f.Name] = f.Value
		}
	}
	if len(said) == 0 {
		return "" // without the message content intent
	}
	total := cmp.Or(said["total_votes"], "0")
	result := "no answer won; votes: " + total
	if winner := said["victor_answer_text"]; winner != "" {
		result = fmt.Sprintf("%s won; votes: %s of %s", winner, said["victor_answer_votes"], total)
	}
	return fmt.Sprintf("[the poll has ended: %s — %s]", said["poll_question_text"], result)
}
