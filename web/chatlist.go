// The list of chats beside a chat.

package web

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/chat"
	"cairn/config"
	"cairn/internal/lazy"
	"cairn/store"
)

// newChatName returns a name for a chat that nobody has named.
func newChatName() string { return "chat-" + strconv.FormatInt(time.Now().UnixMilli(), 36) }

var unnamedChat = lazy.Pattern(`^chat-[0-9a-z]{6,12}$`)

// searchView is a form that works without a script, and a link to a new chat.
func (c chatRoom) searchView() g.Node {
	return h.Div(
		h.Class("roomshead"),
		h.A(h.Class("button main"), h.Href("/chat?new=yes"), g.Text("New chat")),
		h.Form(h.Role("search"), h.ID("find"), h.Action(chatPageOf(c.PathValue("chat"))), h.Input(
			h.Type("search"), h.Name("find"), h.Value(c.Get("find")), h.MaxLength("64"), h.Placeholder("Search chats"), h.Aria("label", "Search chats"),
		)),
	)
}

// roomsView lists the chats, the one with the newest message first, and below them those in the archive.
func (c chatRoom) roomsView() g.Node {
	words := strings.TrimSpace(c.Get("find"))
	list := func(archived string) []store.Place {
		all, _, err := store.PlacesOf(c.Context(), c.endpoints.store, store.PlaceFilter{
			Words: words, Connector: config.WebName, Archived: archived, Limit: 2 * pageSize,
		})
		c.fail(err)
		return all
	}
	open := list("no")
	archived := list("yes")
	var view g.Group
	if len(open) > 0 {
		view = append(view, h.Ul(g.Map(open, c.roomView)))
	}
	if len(archived) > 0 {
		view = append(view, h.Details(g.If(words != "", g.Attr("open")), h.Summary(g.Textf("Archive (%d)", len(archived))), h.Ul(g.Map(archived, c.roomView))))
	}
	switch {
	case len(view) > 0:
	case words == "":
		view = g.Group{faint(g.Text("There are no other chats yet."))}
	case validChatName().MatchString(words):
		view = g.Group{faint(g.Text("No chat has this name.")), h.P(h.A(h.Href("/chat/"+pathOf(words)), h.Dir("auto"), g.Text("Open a new chat named "+words)))}
	default:
		view = g.Group{faint(g.Text("No chat has this name."))}
	}
	return view
}

func (c chatRoom) roomView(p store.Place) g.Node {
	name := strings.TrimPrefix(p.Channel, config.WebName+":")
	state := g.Node(nil)
	if now, _ := c.endpoints.operator.Activity(p.Channel); now.Answering {
		state = h.Span(h.Class("spinner"), h.Role("img"), h.Aria("label", "answering"))
	}
	return h.Li(h.A(
		h.Href(chatPageOf(name)), current(p.Channel == c.name), h.Data("channel", p.Channel), h.Data("newest", fmt.Sprint(p.Next-1)),
		h.Span(h.Class("called"), h.Dir("auto"), g.Text(cmp.Or(p.Name, c.firstWords(p.Channel, name)))), state,
		h.Span(h.Class("faint"), g.If(!p.Last.IsZero(), timeView(p.Last))),
	))
}

const titleLength = 40 // characters

// firstWords returns how the first message of a chat begins that nobody has named; else the chat's name. It is not stored: the
// message may be deleted.
func (c chatRoom) firstWords(conversation, name string) string {
	if !unnamedChat().MatchString(name) {
		return name
	}
	records, err := c.endpoints.store.Find(c.Context(), conversation)
	if err != nil {
		c.fail(err)
		return name
	}
	first, err := records.Transcript().Page(c.Context(), 1, 1)
	c.fail(err)
	for _, m := range first {
		return cmp.Or(chat.Excerpt(m.Text, titleLength), name)
	}
	return name
}
