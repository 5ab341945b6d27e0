// The chat pane: a connector to the browser, whose user is an owner.
package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"cairn/channel"
	"cairn/config"
)

// Chat is the connector of the browser: its conversations are "web:NAME".
type Chat struct{ events *Events }

var _ channel.Connector = (*Chat)(nil)

// NewChat returns the connector. It publishes replies as events.
func NewChat(events *Events) *Chat { return &Chat{events} }

// Name returns "web".
func (c *Chat) Name() string { return config.WebName }

// Split returns the whole reply: a page has no length limit.
func (c *Chat) Split(text string) []string { return []string{text} }

// Reply returns a writer that publishes a reply while it is generated.
func (c *Chat) Reply(conversation string, _ []string) channel.Writer {
	return &chatWriter{events: c.events, conversation: conversation, often: rate.Sometimes{Interval: showInterval}}
}

// kindReply is the kind of events about a reply in progress.
const kindReply = "reply"

// replyEvent is a reply, complete or partial.
type replyEvent struct {
	Conversation string `json:"conversation"`
	State        string `json:"state" jsonschema:"writing, sent or canceled"`
	Text         string `json:"text,omitempty"`
	Failure      bool   `json:"failure,omitempty" jsonschema:"a sentence about a failure, not the model's words"`

	Buttons []channel.Button `json:"buttons,omitempty" jsonschema:"of a question: commands that answer it"`
	Time    time.Time        `json:"time"`
}

// publishReply publishes an event about a reply. A notice is kept, because it is not in the transcript.
func (e *Events) publishReply(r replyEvent) {
	r.Time = time.Now().UTC()
	e.send(kindReply, r.Conversation, r, r.State == "sent" && r.Failure && r.Buttons == nil)
}

// notices returns the notices of a conversation since the start, oldest first.
func (e *Events) notices(conversation string) (all []replyEvent) {
	for _, one := range e.ofKind(kindReply) {
		var r replyEvent
		if one.Conversation == conversation && json.Unmarshal(one.Data, &r) == nil {
			all = append(all, r)
		}
	}
	return all
}

// chatWriter publishes one reply.
type chatWriter struct {
	events       *Events
	conversation string
	often        rate.Sometimes // limits partial text
}

const showInterval = 150 * time.Millisecond

// Show publishes the text so far, unless it has just done so.
func (w *chatWriter) Show(text string) {
	w.often.Do(func() {
		w.events.publishReply(replyEvent{Conversation: w.conversation, State: "writing", Text: text})
	})
}

// Send publishes a piece that is already stored: the page reads it from the transcript, so a
// repeated Send posts nothing twice.
func (w *chatWriter) Send(_ context.Context, p channel.Piece) (string, error) {
	w.events.publishReply(replyEvent{Conversation: w.conversation, State: "sent", Text: p.Text, Failure: p.Failure, Buttons: channel.Buttons(p)})
	return fmt.Sprintf("%s-%d", p.Reply, p.Part), nil
}

// Cancel publishes that the partial text is void.
func (w *chatWriter) Cancel() {
	w.events.publishReply(replyEvent{Conversation: w.conversation, State: "canceled"})
}

// validChatName matches what may follow "web:" in a name. Words of Hindi and Thai have marks (M).
var validChatName = regexp.MustCompile(`^[\pL\pN][\pL\pM\pN ._-]{0,63}$`)

// unknownCommand matches a line that looks like a command.
var unknownCommand = regexp.MustCompile(`^/([a-zA-Z]+)(?:\s|$)`)

// maxMessage limits a message, in characters.
const maxMessage = 100_000

func (v *visit) chatName() (string, error) {
	name := v.PathValue("name")
	if !validChatName.MatchString(name) {
		return "", errName
	}
	return name, nil
}

var errName = bad("A conversation's name may have at most 64 letters, digits, spaces, dots, dashes and underscores.")

// owner is who uses the browser.
var owner = channel.Person{ID: config.WebOwner, Name: "owner", Manager: true}

// say runs a command, or delivers a message with settings for its turn. note is the command's
// output.
func (s *Server) say(ctx context.Context, conversation string, m messageNew, settings channel.Patch) (note string, err error) {
	text := m.Text
	if channel.IsCommand(text) {
		answer, _, err := s.o.Hub.Run(ctx, conversation, owner, text)
		if answer.Awaited && answer.Then != nil {
			return answer.Then(ctx), err
		}
		return strings.Join(append([]string{answer.Text}, answer.Items...), "\n"), err
	}
	if word := unknownCommand.FindStringSubmatch(text); word != nil { // otherwise it would be sent to the model, at a cost
		_, err := channel.FindCommand(word[1])
		return "", problem(http.StatusUnprocessableEntity, "%v", err)
	}
	if strings.HasPrefix(text, "//") {
		text = text[1:]
	}
	_, err = s.o.Hub.Deliver(ctx, conversation, channel.Inbound{
		ID: m.ID, AuthorID: owner.ID, Author: owner.Name, Text: text, Time: time.Now(), Addressed: true, Compaction: settings,
	})
	return "", err
}

// suggest completes the argument of a command.
func suggest(v *visit) error {
	name, err := v.chatName()
	if err != nil {
		return err
	}
	q := v.URL.Query()
	choices, err := v.s.o.Hub.Suggest(v.Context(), config.WebName+":"+name, owner, q.Get("command"), q.Get("typed"))
	if err != nil {
		return err
	}
	return answer(v.w, http.StatusOK, append([]channel.Choice{}, choices...))
}
