// The chat pane: a connector like any other. Who talks in the browser is an owner.
package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"cairn/channel"
	"cairn/config"
)

// Chat is the connector of the browser: its conversations are "web:NAME".
type Chat struct{ events *Events }

var _ channel.Connector = (*Chat)(nil)

// NewChat returns the connector whose replies are shown by events.
func NewChat(events *Events) *Chat { return &Chat{events} }

// Name is "web".
func (c *Chat) Name() string { return config.WebName }

// Split leaves a reply whole: a page has room.
func (c *Chat) Split(text string) []string { return []string{text} }

// Reply shows a reply while it is written.
func (c *Chat) Reply(conversation string, _ []string) channel.Writer {
	return &chatWriter{events: c.events, conversation: conversation}
}

// kindReply is an event of a reply on its way.
const kindReply = "reply"

// replyEvent is a reply as far as it is written.
type replyEvent struct {
	Conversation string `json:"conversation"`
	State        string `json:"state" doc:"writing, sent or canceled"`
	Text         string `json:"text,omitempty"`
	Failure      bool   `json:"failure,omitempty" doc:"a sentence about a failure, not the model's words"`

	Buttons []channel.Button `json:"buttons,omitempty" doc:"of a question: commands that answer it"`
}

// chatWriter shows one reply. Text that is being written is shown a few times a second.
type chatWriter struct {
	events       *Events
	conversation string

	mu    sync.Mutex // guards shown
	shown time.Time
}

const showPause = 150 * time.Millisecond

// Show publishes the text so far, unless it did just now.
func (w *chatWriter) Show(text string) {
	w.mu.Lock()
	due := time.Since(w.shown) >= showPause
	if due {
		w.shown = time.Now()
	}
	w.mu.Unlock()
	if due {
		w.events.pass(kindReply, w.conversation, replyEvent{Conversation: w.conversation, State: "writing", Text: text})
	}
}

// Send publishes what is stored by now: the page reads it from the transcript. Nothing can be
// posted twice, since nothing is posted.
func (w *chatWriter) Send(_ context.Context, p channel.Piece) (string, error) {
	w.events.pass(kindReply, w.conversation, replyEvent{Conversation: w.conversation, State: "sent", Text: p.Text, Failure: p.Failure, Buttons: channel.Buttons(p)})
	return fmt.Sprintf("%s-%d", p.Reply, p.Part), nil
}

// Cancel removes what was shown.
func (w *chatWriter) Cancel() {
	w.events.pass(kindReply, w.conversation, replyEvent{Conversation: w.conversation, State: "canceled"})
}

// maxChatName bounds the part of a name after "web:", in characters.
const maxChatName = 64

// isChatName reports whether name may stand after "web:".
func isChatName(name string) bool {
	if name == "" || utf8.RuneCountInString(name) > maxChatName || strings.ContainsRune(" ._-", rune(name[0])) {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune(" ._-", r)
	})
}

// unknownCommand is a line that begins as a command does.
var unknownCommand = regexp.MustCompile(`^/([a-zA-Z]+)(?:\s|$)`)

// maxSaid bounds a message, in characters.
const maxSaid = 100_000

func (v *visit) chatName() (string, error) {
	name := v.PathValue("name")
	if !isChatName(name) {
		return "", errName
	}
	return name, nil
}

var errName = bad("A conversation's name has letters, digits, blanks, dots, dashes and underscores: at most 64.")

// chatRoutes serves the pane.
func (s *Server) chatRoutes() {
	for path, page := range map[string]func(*visit) error{
		"GET /chat": func(v *visit) error {
			http.Redirect(v.w, v.Request, "/chat/"+url.PathEscape(cmp.Or(strings.TrimSpace(v.URL.Query().Get("name")), "general")), http.StatusSeeOther)
			return nil
		},
		"GET /chat/{name}":          chatPage,
		"POST /chat/{name}":         chatForm,
		"GET /chat/{name}/suggest":  suggest,
		"GET /chat/{name}/messages": chatPage, // the part of it that changes, by ?fragment=messages
	} {
		s.handle(path, func(w http.ResponseWriter, r *http.Request) error { return page(&visit{r, s, w}) })
	}
}

// chatSaid reads the newest messages of a chat; none in a new one.
func (v *visit) chatSaid(conversation string) ([]shown, error) {
	var list messageList
	err := v.get(apiOf(conversation)+"/messages", url.Values{"limit": {"100"}}, &list)
	var p *Problem
	if errors.As(err, &p) && p.Status == http.StatusNotFound {
		return nil, nil
	}
	return foundOf(list), err
}

func chatPage(v *visit) error {
	name, err := v.chatName()
	if err != nil {
		return err
	}
	conversation := config.WebName + ":" + name
	said, err := v.chatSaid(conversation)
	if err != nil {
		return err
	}
	return v.show("chat", struct {
		frame
		Chat, Conversation, ID string
		Messages               []shown
		Approvals              []asked
		Commands               []channel.Command
	}{v.frame(name), name, conversation, fmt.Sprintf("web-%d", time.Now().UnixNano()), said, askedIn(conversation, v.s.operator.Approvals(conversation)), channel.Commands})
}

// chatForm takes a message, or runs a command. A message with a known id is the same message:
// a page that is sent again doubles nothing. It answers when the message is on disk.
func chatForm(v *visit) error {
	name, err := v.chatName()
	if err != nil {
		return err
	}
	if err := v.ParseForm(); err != nil {
		return bad("The form cannot be read.")
	}
	var said messageTaken
	m := messageNew{Text: v.PostForm.Get("text"), ID: v.PostForm.Get("id")}
	if err := v.ask(http.MethodPost, apiOf(config.WebName+":"+name)+"/messages", nil, m, &said); err != nil {
		return err
	}
	if strings.Contains(v.Header.Get("Accept"), "application/json") {
		return answer(v.w, http.StatusOK, doneAnswer{Done: true, Reason: said.Answer})
	}
	return v.done("/chat/"+url.PathEscape(name), said.Answer)
}

// say runs a command, or delivers a message with settings for its turn. note is what a command
// answers.
func (s *Server) say(ctx context.Context, conversation string, m messageNew, settings channel.Patch) (note string, err error) {
	text := m.Text
	who := channel.Person{ID: config.WebOwner, Name: "owner", Manager: true}
	if channel.IsCommand(text) {
		answer, _, err := s.o.Hub.Run(ctx, conversation, who, text)
		return strings.Join(append([]string{answer.Text}, answer.Items...), "\n"), err
	}
	if word := unknownCommand.FindStringSubmatch(text); word != nil { // it would be sent to the model and paid for
		_, err := channel.FindCommand(word[1])
		return "", problem(http.StatusUnprocessableEntity, "%v", err)
	}
	if strings.HasPrefix(text, "//") {
		text = text[1:]
	}
	_, err = s.o.Hub.Deliver(ctx, conversation, channel.Inbound{
		ID: m.ID, AuthorID: who.ID, Author: who.Name, Text: text, Time: time.Now(), Addressed: true, Compaction: settings,
	})
	return "", err
}

// suggest completes a command's argument.
func suggest(v *visit) error {
	name, err := v.chatName()
	if err != nil {
		return err
	}
	q := v.URL.Query()
	choices, err := v.s.o.Hub.Suggest(v.Context(), config.WebName+":"+name, channel.Person{ID: config.WebOwner, Name: "owner", Manager: true}, q.Get("command"), q.Get("typed"))
	if err != nil {
		return err
	}
	return answer(v.w, http.StatusOK, append([]channel.Choice{}, choices...))
}
