// The chat in the browser: its connector, whose user is an owner, and how messages arrive.

package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/time/rate"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/channel/report"
	"cairn/config"
	"cairn/connector/platform"
	"cairn/internal/lazy"
	"cairn/store"
)

// Chat is the connector of the browser: its conversations are "web:NAME".
type Chat struct{ events *Events }

var _ channel.Connector = (*Chat)(nil)

func NewChat(events *Events) *Chat { return &Chat{events} }

func (c *Chat) Name() string { return config.WebName }

// Split returns the reply in one piece: a page has no length limit.
func (c *Chat) Split(text string) []string { return []string{text} }

func (c *Chat) Reply(conversation string, _ []string) channel.Writer {
	return &chatWriter{events: c.events, conversation: conversation, often: rate.Sometimes{Interval: showInterval}}
}

type replyEvent struct {
	Conversation string `json:"conversation"`
	State        string `json:"state" jsonschema:"writing, sent or canceled"`
	Text         string `json:"text,omitempty"`
	HTML         string `json:"html,omitempty" jsonschema:"of a text that is being written: as the dashboard shows it"`
	Failure      bool   `json:"failure,omitempty" jsonschema:"a sentence about a failure, not the model's words"`

	Buttons []channel.Button `json:"buttons,omitempty" jsonschema:"of a question: commands that answer it"`
	Time    time.Time        `json:"time"`

	// Of a conversation of terminals.
	To    []string `json:"to,omitempty" jsonschema:"ids of the messages that it answers"`
	Reply string   `json:"reply,omitempty" jsonschema:"id of the reply, once it was sent"`
	Row   int64    `json:"row,omitempty" jsonschema:"the order of what was sent: GET …/replies has what came after it"`
	Part  int      `json:"part,omitempty"`
	Parts int      `json:"parts,omitempty"`
}

// notices returns the notices of a conversation since the start, oldest first.
func (e *Events) notices(conversation string) []replyEvent {
	return slices.DeleteFunc(keptOf[replyEvent](e), func(r replyEvent) bool { return r.Conversation != conversation })
}

type chatWriter struct {
	events       *Events
	conversation string
	often        rate.Sometimes // limits partial text
}

const showInterval = 150 * time.Millisecond

// publish publishes an event about the reply. A notice is kept, because it is not in the transcript.
func (w *chatWriter) publish(r replyEvent) {
	r.Conversation, r.Time = w.conversation, time.Now().UTC()
	w.events.send(kindReply, r.Conversation, r, r.State == "sent" && r.Failure && r.Buttons == nil)
}

func (w *chatWriter) Show(text string) {
	w.often.Do(func() {
		shown := ""
		if w.events.watched() {
			shown = partialHTML(text)
		}
		w.publish(replyEvent{State: "writing", Text: text, HTML: shown})
	})
}

func (w *chatWriter) Cancel() { w.publish(replyEvent{State: "canceled"}) }

// Send publishes a piece that is already stored: the page reads it from the transcript, so a
// repeated Send posts nothing twice.
func (w *chatWriter) Send(_ context.Context, p channel.Piece) (string, error) {
	w.publish(replyEvent{State: "sent", Text: p.Text, Failure: p.Failure, Buttons: channel.Buttons(p)})
	return fmt.Sprintf("%s-%d", p.Reply, p.Part), nil
}

// validChatName matches what may follow "web:" in a name. Words of Hindi and Thai have marks (M).
var validChatName = lazy.Pattern(`^[\pL\pN][\pL\pM\pN ._-]{0,63}$`)

var unknownCommand = lazy.Pattern(`^/([a-zA-Z]+)(?:\s|$)`)

const maxMessage = 100_000

var errName = bad("A conversation's name may have at most 64 letters, digits, spaces, dots, dashes and underscores.")

// owner is who uses the browser.
var owner = access.Person{ID: config.WebOwner, Name: "owner", Manager: true}

type messageNew struct {
	Text       string         `json:"text" jsonschema:"a message, or a command as /context; at most 100000 characters; may be empty with files, and with replaces"`
	ID         string         `json:"id" jsonschema:"at most 100 bytes, unique in the conversation, not cairn:…; a message with a known id is the same one"`
	Compaction map[string]any `json:"compaction,omitempty" jsonschema:"settings for the turn that answers it: {\"background_threshold\": 0.7}"`
	Files      []fileNew      `json:"files,omitempty" jsonschema:"pictures, text files, PDFs and recordings: at most 10, with at most 20 MB together"`
	Replaces   string         `json:"replaces,omitempty" jsonschema:"id of the newest message of a person: it is deleted with its answer, and its files move to this message; without a text that stays, too, and it is only answered again"`

	terminalFields
}

type messageTaken struct {
	ID        string `json:"id"`
	Answer    string `json:"answer,omitempty" jsonschema:"of a command"`
	Silent    string `json:"silent,omitempty" jsonschema:"in a conversation of terminals: why the bot does not answer"`
	Elsewhere bool   `json:"elsewhere,omitempty" jsonschema:"another process of the bot answers in the conversation of terminals: GET …/wait, then GET …/replies"`
}

// chats are the conversations at this server, to which people and programs write.
type chats struct {
	hub      *channel.Hub
	settings func() *config.Settings
	files    func() platform.Files // see Options
	log      *slog.Logger
	posts    posts

	terminals *terminals
}

func (c *chats) routes() []route {
	post := send("POST "+conversationPath+"/messages", "Send a message or a command to a conversation web:NAME or terminal:NAME, which may be new: "+
		"202 once the message is on disk; 200 with a command's answer", c.post,
		http.StatusOK, http.StatusAccepted, http.StatusBadRequest, http.StatusConflict, http.StatusUnprocessableEntity, http.StatusTooManyRequests)
	post.fresh = true
	return []route{post}
}

func (c *chats) post(r *request, b messageNew) (taken messageTaken, err error) {
	name := r.PathValue("conversation")
	if ofTerminals(name) {
		return c.terminals.post(r, name, b)
	}
	b.Text = strings.TrimSpace(b.Text)
	if err := b.check(name); err != nil {
		return taken, err
	}
	settings, err := report.PatchOf(b.Compaction)
	if err != nil {
		return taken, invalid("%v", err)
	}
	taken.ID = b.ID
	if command.Is(b.Text) {
		if len(b.Files) > 0 || b.Replaces != "" {
			return taken, invalid("A command takes no files, and replaces no message.")
		}
		answer, _, err := c.hub.Run(r.Context(), name, owner, b.Text)
		taken.Answer = answer.String()
		if answer.Awaited && answer.Then != nil {
			taken.Answer = answer.Then(r.Context()).String()
		}
		return taken, err
	}
	_, spoken := command.Spoken(b.Text)
	if word := unknownCommand().FindStringSubmatch(b.Text); word != nil && !spoken { // otherwise it would be sent to the model, at a cost
		_, err := command.Find(word[1])
		return taken, invalid("%v", err)
	}
	if strings.HasPrefix(b.Text, "//") {
		b.Text = b.Text[1:]
	}
	if err := c.takePost(r, name); err != nil {
		return taken, err
	}
	r.status = http.StatusAccepted
	m := channel.Inbound{
		ID: b.ID, AuthorID: owner.ID, Author: owner.Name, Text: b.Text, Time: time.Now(), Addressed: true, Compaction: settings,
	}
	m.Attachments, err = c.attachments(r.Context(), name, m, b.Files)
	if err != nil {
		return taken, err
	}
	return taken, c.deliver(r.Context(), name, b.Replaces, m)
}

// deliver delivers a message, in place of another one if that has an id.
func (c *chats) deliver(ctx context.Context, name, replaces string, m channel.Inbound) (err error) {
	if replaces == "" {
		_, err = c.hub.Deliver(ctx, name, m)
		return err
	}
	_, err = channel.Replace(ctx, c.hub, name, replaces, m)
	if errors.Is(err, store.ErrNotNewest) {
		return problem(http.StatusConflict, "Only the newest message can be asked again, and a newer one follows this one.")
	}
	return err
}

// check returns what is wrong with a message to a conversation.
func (b messageNew) check(name string) error {
	chat, ours := strings.CutPrefix(name, config.WebName+":")
	if !ours {
		return problem(http.StatusConflict, "Messages can only be sent to conversations of the browser and of terminals, such as %s:general and terminal:general.", config.WebName)
	}
	switch {
	case b.terminalFields != terminalFields{}:
		return bad("author, time, mention and dm are for conversations of terminals.")
	case !validChatName().MatchString(chat):
		return errName
	case b.Text == "" && len(b.Files) == 0 && b.Replaces == "":
		return bad("Write something first: text is missing or empty.")
	case strings.HasPrefix(b.Replaces, "cairn:"):
		return invalid("Only a message of a person can be replaced.")
	case len(b.Files) > 0 && b.Replaces != "":
		return invalid("A message that replaces another one keeps that one's files: send files with a message of their own.")
	case utf8.RuneCountInString(b.Text) > maxMessage:
		return bad("A message has at most %d characters; this one has %d.", maxMessage, utf8.RuneCountInString(b.Text))
	case b.ID == "" || len(b.ID) > 100 || strings.HasPrefix(b.ID, "cairn:") || strings.ContainsRune(b.ID, utf8.RuneError): // of a task's result; several would become one
		return bad(`A message needs an id of at most 100 bytes of valid UTF-8, unique in its conversation, that does not begin with "cairn:".`)
	}
	return nil
}

// suggest completes the argument of a command.
func (c *chats) suggest(w http.ResponseWriter, r *http.Request) error {
	if !validChatName().MatchString(r.PathValue("chat")) {
		return errName
	}
	q := r.URL.Query()
	choices, err := c.hub.Suggest(r.Context(), config.WebName+":"+r.PathValue("chat"), owner, q.Get("command"), q.Get("typed"))
	if err == nil {
		writeJSON(w, http.StatusOK, "application/json", listOf(choices))
	}
	return err
}
