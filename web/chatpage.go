// The page of the chat: the list of chats, the messages, and the box to write in.

package web

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/channel/command"
	"cairn/config"
	"cairn/privacy"
	"cairn/store"
)

func chatPage(v *visit) page {
	name := v.PathValue("chat")
	if !validChatName().MatchString(name) {
		v.fail(errName)
	}
	c := chatRoom{visit: v, name: config.WebName + ":" + name, called: name}
	if err := v.enter(c.name); err == nil {
		c.called, err = v.conversation.Transcript().Called(v.Context())
		v.fail(err)
		if c.called == c.name {
			c.called = name
		}
	} else if !unspoken(c.name, err) {
		v.fail(err)
	}
	if v.err != nil {
		return page{}
	}
	switch v.Get("fragment") {
	case "rooms":
		return page{part: c.roomsView()}
	case "holding":
		return page{part: c.holdingView()}
	case "messages":
		return page{part: c.messagesView()}
	}
	return page{title: c.called, content: c.view()}
}

// chatRoom is a chat on its page.
type chatRoom struct {
	*visit
	name   string // of the conversation, which need not exist
	called string
}

// botName returns what the page calls the bot.
func (c chatRoom) botName() string {
	id := c.endpoints.operator.AgentID(c.name)
	first, size := utf8.DecodeRuneInString(id)
	return string(unicode.ToUpper(first)) + id[size:]
}

func (c chatRoom) view() g.Node {
	src := chatPageOf(c.PathValue("chat"))
	return h.Div(
		h.Class("chatroom"), h.ID("chatroom"),
		h.Aside(
			h.ID("rooms"), h.Class("rooms"), h.Aria("label", "Chats"), h.Data("src", src+"?fragment=rooms"),
			c.searchView(), h.Div(h.ID("roomlist"), c.roomsView()),
		),
		h.Div(
			h.Class("talk"),
			c.headView(),
			conversationTabs(c.name, "Chat"),
			h.Section(
				h.ID("said"), h.Aria("live", "polite"), h.Aria("label", "Messages"), h.Data("conversation", c.name),
				h.Data("src", src+"?fragment=messages"), c.messagesView(),
			),
			h.Article(
				h.Class("message assistant"), h.ID("writing"), g.Attr("hidden"),
				h.Header(h.B(g.Text(c.botName())), g.Text(" "), h.Span(h.Class("spinner"), h.Aria("hidden", "true"))),
				h.Div(),
			),
			h.P(h.Class("note"), h.ID("note"), h.Role("status"), g.Attr("hidden")),
			c.boxView(),
		),
		commandsView(),
		g.Map([]string{"chat", "chatmenu", "chatfiles", "chatedit", "chatrooms"}, func(name string) g.Node {
			return h.Script(h.Src("/static/"+name+".js"), h.Defer())
		}),
	)
}

// headView is the head of the chat: its name, how full the window is, and what people do with a whole chat.
func (c chatRoom) headView() g.Node {
	now, _ := c.endpoints.operator.Activity(c.name)
	percent := percentOf(now.Used, now.Window)
	return h.Div(
		h.Class("chathead"),
		h.Button(h.Type("button"), h.ID("rooms-open"), h.Aria("expanded", "false"), h.Aria("controls", "rooms"), g.Attr("hidden"), g.Text("Chats")),
		h.H1(h.Dir("auto"), g.Text(c.called)),
		h.A(
			h.Class("gauge"), h.ID("gauge"), h.Href(pageOf(c.name)), g.If(now.Window == 0, g.Attr("hidden")),
			bar("how full the window is", percent), h.Span(g.Textf("%.0f %%", percent)), h.Span(h.Class("skip"), g.Text("of the window is used")),
		),
		c.manageView(),
	)
}

// manageView is what people do with a whole chat.
func (c chatRoom) manageView() g.Node {
	patch := func(body string, content ...g.Node) g.Node {
		return change(http.MethodPatch, apiOf(c.name), body, "Done.", content...)
	}
	archive := patch(`{"archived": true}`, button("", "Archive"))
	if list := c.placed(); list.Archived {
		archive = patch(`{"archived": false}`, button("", "Take out of the archive"))
	}
	export := func(format, text string) g.Node {
		return h.A(h.Href(apiOf(c.name)+"/export?format="+format), g.Text(text))
	}
	called := c.called
	if called == c.PathValue("chat") {
		called = ""
	}
	return h.Details(
		h.Class("manage"), h.ID("manage"), g.If(c.conversation == nil, g.Attr("hidden")), h.Summary(g.Text("This chat")),
		h.Div(
			h.Class("managed"),
			patch("{}", h.Class("row"), h.Data("keep", "name"),
				h.Label(g.Text("Name "), h.Input(h.Name("name"), h.Value(called), h.MaxLength(fmt.Sprint(maxCalled)), h.Placeholder(c.PathValue("chat")), h.Dir("auto"))),
				button("", "Rename")),
			archive,
			h.P(g.Text("Export as "), export("markdown", "Markdown"), g.Text(" or "), export("json", "JSON")),
			h.Details(
				h.Data("src", chatPageOf(c.PathValue("chat"))+"?fragment=holding"), h.Summary(h.Class("bad"), g.Text("Delete …")),
			),
		),
	)
}

// placed returns the chat as the list has it.
func (c chatRoom) placed() (found store.Place) {
	all, _, err := store.PlacesOf(c.Context(), c.endpoints.store, store.PlaceFilter{Words: c.name, Connector: config.WebName, Limit: pageSize})
	c.fail(err)
	for _, p := range all {
		if p.Channel == c.name {
			found = p
		}
	}
	return found
}

// holdingView says what a deletion deletes, with the button that does it.
func (c chatRoom) holdingView() g.Node {
	if c.conversation == nil {
		return nil
	}
	_, all, err := privacy.In(c.endpoints.store).Holdings(c.Context(), c.name)
	c.fail(err)
	return change(
		http.MethodPost, purgePath, string(encoded(Selected{Conversation: c.name})), "Deleted.", h.Data("then", "/chat"),
		h.P(g.Textf("This permanently deletes %s, with files, summaries and settings of this chat. There is no undo.", all.Total())),
		button("danger", "Delete this chat"),
	)
}

// boxView is the box to write in. A script shows it, and sends what is written to the API.
func (c chatRoom) boxView() g.Node {
	return commandForm(
		c.name, "messages", "", h.ID("chat"), h.Class("chat"), g.Attr("hidden"),
		h.Ul(h.ID("choices"), h.Class("choices"), h.Role("listbox"), h.Aria("label", "Commands"), g.Attr("hidden")),
		h.P(h.ID("editing"), h.Class("editing"), g.Attr("hidden"), h.Span(g.Text("Your last message, changed, is answered again; its answer is deleted. ")), h.Button(h.Type("button"), h.ID("edit-cancel"), g.Text("Cancel"))),
		h.Ul(h.ID("files"), h.Class("files"), h.Aria("label", "Files"), g.Attr("hidden")),
		h.Label(h.Class("skip"), h.For("text"), g.Text("Message")),
		h.Textarea(
			h.ID("text"), h.Name("text"), h.Aria("controls", "choices"), h.Aria("autocomplete", "list"),
			h.Rows("1"), h.MaxLength("100000"), h.Dir("auto"), h.Placeholder("Write to "+c.botName()+" (/ for commands)"),
		),
		h.Div(
			h.Class("row"),
			h.Input(h.Type("file"), h.ID("file"), g.Attr("multiple"), h.Class("skip"), h.TabIndex("-1"), h.Aria("label", "Files")),
			h.Button(h.Type("button"), h.ID("attach"), g.Text("Attach files")),
			h.Span(h.Class("grow faint hint"), g.Text("Enter sends, Shift-Enter starts a new line")),
			h.Button(h.Type("button"), h.ID("stop"), g.Attr("hidden"), g.Text("Stop")),
			button("main", "Send"),
		),
	)
}

// commandsView lists the commands for the menu.
func commandsView() g.Node {
	return h.Ul(h.ID("commands"), g.Attr("hidden"), g.Map(command.All, func(c command.Command) g.Node {
		suggests := ""
		for i, a := range c.Args {
			if a.Suggests {
				suggests = fmt.Sprint(i)
			}
		}
		return h.Li(h.Data("name", c.Name), h.Data("usage", c.Usage()), h.Data("help", c.Help), h.Data("suggests", suggests))
	}))
}

// openChat leads to the chat that a form names.
func openChat(w http.ResponseWriter, r *http.Request) error {
	name := cmp.Or(strings.TrimSpace(r.URL.Query().Get("name")), "general")
	if r.URL.Query().Has("new") {
		name = newChatName()
	}
	http.Redirect(w, r, chatPageOf(name), http.StatusSeeOther)
	return nil
}
