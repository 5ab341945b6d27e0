// What people can do about one message, which they choose in its menu, or name by its number.

package command

import (
	"context"
	"errors"
	"strings"

	"cairn/channel/sentences"
	"cairn/chat"
	"cairn/llm"
	"cairn/memory"
	"cairn/store"
)

// messagePrefix begins an argument that names a message by the platform's id.
const messagePrefix = "msg:"

// cutMessage splits a message's platform id from the rest of the arguments; "": they do not begin with one.
func cutMessage(args string) (id, rest string) {
	word, rest := cutWord(args)
	id, found := strings.CutPrefix(word, messagePrefix)
	if !found {
		return "", args
	}
	return id, rest
}

// message finds the message that an argument names: by its number, "12" or "#12", or by the platform's id. named is false if the argument
// names none. The error is a sentences.Problem if there is no such message.
func (c *Call) message(ctx context.Context, argument string) (m chat.Message, named bool, err error) {
	id, _ := cutMessage(argument)
	seq, isNumber := numberOf(argument)
	switch {
	case id != "":
		m, err = c.Records.Transcript().Sent(ctx, id)
	case isNumber:
		m, err = c.Records.Transcript().Message(ctx, seq)
	default:
		return m, false, nil
	}
	switch {
	case errors.Is(err, store.ErrNotFound) && id != "":
		err = sentences.NewProblem("I do not have that message: I have not read it, or it was deleted.")
	case errors.Is(err, store.ErrNotFound):
		err = sentences.NewProblem("There is no such message in this conversation.")
	}
	return m, true, err
}

// errWaits is why nothing can be done with a message that the loop has not read yet.
var errWaits = sentences.NewProblem("I have not read that message yet. Try again in a moment.")

// messageToRemember returns what a message says. own serves if the bot has not read it, see Line.
func messageToRemember(ctx context.Context, c *Call, id, own string) (w memory.KeepRequest, err error) {
	m, _, err := c.message(ctx, messagePrefix+id)
	w = memory.KeepRequest{Person: m.Author, PersonID: m.AuthorID}
	switch _, unknown := sentences.ProblemOf(err); {
	case unknown && own != "":
		m.Text = own
		w = memory.KeepRequest{Person: c.Who.Name, PersonID: c.Who.ID}
	case err != nil:
		return w, err
	case m.Seq == 0: // a memory of it could not rest on it, and would outlive it
		return w, errWaits
	case m.Role != llm.RoleUser:
		w = memory.KeepRequest{Person: c.Who.Name, PersonID: c.Who.ID}
	}
	if m.Seq != 0 {
		w.Messages = []int64{m.Seq}
	}
	w.Content = chat.Excerpt(m.Text, memory.MaxContent-1)
	if w.Content == "" {
		return w, sentences.NewProblem("That message has no text that I could remember.")
	}
	return w, nil
}

// forgetMessage deletes a message of a person as if it was deleted on the platform: its author and managers may.
func forgetMessage(ctx context.Context, c *Call, id string) (Answer, error) {
	m, _, err := c.message(ctx, messagePrefix+id)
	switch {
	case err != nil:
		return Answer{}, err
	case m.Role != llm.RoleUser:
		return Answer{}, sentences.NewProblem("That is one of my own messages. I can forget those of people.")
	case (c.Who.ID == "" || m.AuthorID != c.Who.ID) && !c.Rules.Manages(c.Records.Name(), c.Who):
		return Answer{}, denial("That message is not yours. Ask its author, or someone who manages this place.")
	}
	if err := c.Conversation.ForgetMessage(ctx, id); err != nil {
		return Answer{}, err
	}
	return Answer{Text: "I have deleted that message from what I keep, and what I knew from it alone. Here it stays visible until its author deletes it."}, nil
}
