// The chat pane: a connector to the browser, whose user is an owner, and its page.

package web

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/time/rate"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/channel/report"
	"cairn/config"
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
	w.often.Do(func() { w.publish(replyEvent{State: "writing", Text: text}) })
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
	Text       string         `json:"text" jsonschema:"a message, or a command as /context; at most 100000 characters"`
	ID         string         `json:"id" jsonschema:"at most 100 bytes, unique in the conversation, not cairn:…; a message with a known id is the same one"`
	Compaction map[string]any `json:"compaction,omitempty" jsonschema:"settings for the turn that answers it: {\"background_threshold\": 0.7}"`

	terminalFields
}

type messageTaken struct {
	ID     string `json:"id"`
	Answer string `json:"answer,omitempty" jsonschema:"of a command"`
	Silent string `json:"silent,omitempty" jsonschema:"in a conversation of terminals: why the bot does not answer"`
}

// chats are the conversations at this server, to which people and programs write.
type chats struct {
	hub      *channel.Hub
	settings func() *config.Settings
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
	chat, ours := strings.CutPrefix(name, config.WebName+":")
	if !ours {
		return taken, problem(http.StatusConflict, "Messages can only be sent to conversations of the browser and of terminals, such as %s:general and terminal:general.", config.WebName)
	}
	if !validChatName().MatchString(chat) {
		return taken, errName
	}
	switch b.Text = strings.TrimSpace(b.Text); {
	case b.terminalFields != terminalFields{}:
		return taken, bad("author, time, mention and dm are for conversations of terminals.")
	case b.Text == "":
		return taken, bad("Write something first: text is missing or empty.")
	case utf8.RuneCountInString(b.Text) > maxMessage:
		return taken, bad("A message has at most %d characters; this one has %d.", maxMessage, utf8.RuneCountInString(b.Text))
	case b.ID == "" || len(b.ID) > 100 || strings.HasPrefix(b.ID, "cairn:") || strings.ContainsRune(b.ID, utf8.RuneError): // of a task's result; several would become one
		return taken, bad(`A message needs an id of at most 100 bytes of valid UTF-8, unique in its conversation, that does not begin with "cairn:".`)
	}
	settings, err := report.PatchOf(b.Compaction)
	if err != nil {
		return taken, invalid("%v", err)
	}
	taken.ID = b.ID
	if command.Is(b.Text) {
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
	_, err = c.hub.Deliver(r.Context(), name, channel.Inbound{
		ID: b.ID, AuthorID: owner.ID, Author: owner.Name, Text: b.Text, Time: time.Now(), Addressed: true, Compaction: settings,
	})
	return taken, err
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

func chatPage(v *visit) page {
	name := v.PathValue("chat")
	if !validChatName().MatchString(name) {
		v.fail(errName)
	}
	conversation := config.WebName + ":" + name
	var list messageList
	var waiting []store.Inbound
	if err := v.enter(conversation); err == nil {
		v.Set("limit", "100")
		list = ask(v, listMessages)
		waiting, err = v.conversation.Inbox().Oldest(v.Context(), pageSize)
		v.fail(err)
	} else if !unspoken(conversation, err) {
		v.fail(err)
	}
	now, _ := v.endpoints.operator.Activity(conversation)
	content := g.Group{
		chatMessages(conversation, list, v.endpoints.events.notices(conversation)),
		waitingView(waiting),
		v.pausedView(conversation),
		approvalsView(conversation, v.endpoints.operator.Approvals(conversation)),
		g.If(now.Answering, h.Span(h.ID("answering"), g.Attr("hidden"))),
	}
	return page{name, chatView(name, conversation, content), content}
}

// chatMessages shows the newest messages, and the bot's notices between them.
func chatMessages(conversation string, newest messageList, notices []replyEvent) g.Node {
	if len(newest.Messages) == 0 {
		return faint(g.Text("There are no messages here yet."))
	}
	view := g.Group{earlierLink(conversation, newest)}
	for i, m := range newest.Messages {
		m.Calls = nil // they are on the page of the messages
		view = append(view, g.If(m.Role != "tool" && m.Text != "", messageView(conversation, m.Record, "")))
		for _, n := range notices {
			if !n.Time.Before(m.Time) && (i == len(newest.Messages)-1 || n.Time.Before(newest.Messages[i+1].Time)) {
				view = append(view, h.P(h.Class("note warn"), h.Dir("auto"), g.Text(n.Text)))
			}
		}
	}
	return view
}

// waitingView shows the messages in the inbox: most wait for the end of the answer before them.
func waitingView(all []store.Inbound) g.Node {
	return g.Map(all, func(m store.Inbound) g.Node {
		return h.Article(
			h.Class("message user"),
			h.Header(h.B(h.Dir("auto"), g.Text(m.Author)), g.Text(" "), h.Span(h.Class("faint"), g.Text("waiting for an answer"))),
			longText("", m.Text),
		)
	})
}

// chatView is the chat. A script shows the form, which it sends to the API.
func chatView(name, conversation string, messages g.Node) g.Node {
	return g.Group{
		heading(name, conversationTabs(conversation, "Chat")),
		h.Section(
			h.ID("said"), h.Aria("live", "polite"), h.Data("conversation", conversation),
			h.Data("src", chatPageOf(name)+"?fragment=messages"), messages,
		),
		h.Article(
			h.Class("message assistant"), h.ID("writing"), g.Attr("hidden"),
			h.Header(h.B(g.Text("assistant")), g.Text(" "), h.Span(h.Class("spinner"), h.Aria("hidden", "true"))),
			longText("", ""),
		),
		h.P(h.Class("note"), h.ID("note"), h.Role("status"), g.Attr("hidden")),
		commandForm(
			conversation, "messages", "", h.ID("chat"), h.Class("chat"), g.Attr("hidden"),
			h.Label(h.Class("skip"), h.For("text"), g.Text("Message")),
			h.Textarea(
				h.ID("text"), h.Name("text"), h.Aria("controls", "choices"), h.Aria("autocomplete", "list"), h.Rows("3"), h.Required(), h.MaxLength("100000"),
				h.Placeholder("Write to the bot. / shows the commands; Enter sends, Shift-Enter starts a new line"),
			),
			h.Div(h.Class("row"), button("main", "Send"), h.Button(h.Type("button"), h.ID("stop"), g.Attr("hidden"), g.Text("Stop"))),
			h.Ul(h.ID("choices"), h.Class("choices"), h.Role("listbox"), h.Aria("label", "Commands"), g.Attr("hidden")),
		),
		h.Ul(h.ID("commands"), g.Attr("hidden"), g.Map(command.All, func(c command.Command) g.Node {
			suggests := ""
			for i, a := range c.Args {
				if a.Suggests {
					suggests = fmt.Sprint(i)
				}
			}
			return h.Li(h.Data("name", c.Name), h.Data("usage", c.Usage()), h.Data("help", c.Help), h.Data("suggests", suggests))
		})),
		h.Script(h.Src("/static/chat.js"), h.Defer()),
		searchForm(
			h.Action("/chat"), h.Label(g.Text("Another conversation "), h.Input(h.Name("name"), h.MaxLength("64"))),
			button("", "Open"),
		),
	}
}
