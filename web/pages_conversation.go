// The pages of all conversations and of one.

package web

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/channel"
)

const pageSize = 50

func conversationsPage(v *visit) error {
	q := v.URL.Query().Get("q")
	var list conversationList
	if err := v.get("/api/conversations", query("q", q, "offset", v.offset(), "limit", pageSize), &list); err != nil {
		return err
	}
	table := conversationsView(list, v.pager(list.Total))
	return v.show("Conversations", map[string]g.Node{"live": table},
		heading("Conversations", searchForm(searchBox(q, "Search names"), button("", "Search"))),
		live("conversations", v.URL.RequestURI(), table),
	)
}

var conversationColumns = []column{{Name: "Conversation"}, {Name: "Window"}, {Name: "Messages", Number: true}, {Name: "Newest"}, {Name: "State"}}

func conversationsView(list conversationList, pager g.Node) g.Node {
	if list.Total == 0 {
		return h.P(g.Text("There is no such conversation yet. Talk to the bot in Discord, in Slack, or "), h.A(h.Href("/chat"), g.Text("here")), g.Text("."))
	}
	return g.Group{
		table("list", conversationColumns, list.Conversations, func(c listedConversation) []g.Node {
			return []g.Node{
				g.Group{
					h.A(h.Href(pageOf(c.Channel)), h.Dir("auto"), g.Text(cmp.Or(c.Name, c.Channel))),
					g.If(c.Name != "", g.Group{h.Br(), h.Span(h.Class("faint"), g.Text(c.Channel))}),
				},
				windowFill{c.Used, c.Max}.view(),
				grouped(c.Messages),
				c.newest(),
				c.state(),
			}
		}),
		faint(grouped(list.Total), g.Text(" in all")),
		pager,
	}
}

func (c listedConversation) newest() g.Node {
	if c.Last.IsZero() {
		return h.Span(h.Class("faint"), g.Text("never"))
	}
	return timeView(c.Last)
}

func (c listedConversation) state() g.Node {
	switch c.State {
	case "idle":
		return nil
	case "paused":
		return tag("warn", c.State)
	}
	return tag("", c.State)
}

// showConversation shows a page of a conversation.
func (v *visit) showConversation(tab string, parts map[string]g.Node, content ...g.Node) error {
	name := v.name()
	c, err := v.s.find(v.Context(), name)
	if err != nil {
		return err
	}
	called, err := c.Transcript().Called(v.Context())
	if err != nil {
		return err
	}
	head := heading(called, g.If(called != name, h.Span(h.Class("faint"), g.Text(name))), conversationTabs(name, tab))
	return v.show(tab+" · "+called, parts, head, g.Group(content))
}

// conversationTabs link the pages of a conversation; here is the name of the current one.
func conversationTabs(name, here string) g.Node {
	chat, isChat := strings.CutPrefix(name, "web:")
	tab := func(name, href string) g.Node {
		return g.Group{h.A(h.Href(href), current(name == here), g.Text(name)), g.Text(" ")}
	}
	return h.Nav(
		h.Class("tabs"), h.Aria("label", "This conversation"),
		tab("Overview", pageOf(name)),
		tab("Messages", pageOf(name)+"/messages"),
		tab("Memories", "/memories?conversation="+url.QueryEscape(name)),
		tab("Settings", pageOf(name)+"/settings"),
		g.If(isChat, tab("Chat", chatPageOf(chat))),
	)
}

func conversationPage(v *visit) error {
	var d conversationAnswer
	var past historyAnswer
	var tasks taskList
	here := apiOf(v.name())
	if err := errors.Join(v.get(here, nil, &d), v.get(here+"/history", nil, &past), v.get(here+"/tasks", nil, &tasks)); err != nil {
		return err
	}
	paused, err := v.pausedView(v.name())
	if err != nil {
		return err
	}
	state := g.Group{
		cardsView(d),
		paused,
		g.Iff(d.Running != "", func() g.Node {
			return note(h.Span(h.Class("spinner"), h.Aria("hidden", "true")), g.Text(" "+d.Running))
		}),
		approvalsView(v.name(), d.Approvals),
		g.If(d.Paused != "", warning(d.Paused)),
		g.If(d.Last != "", note(g.Text("Last: "+d.Last))),
		g.If(d.Ready != "", note(g.Text("Ready: "+d.Ready))),
		sawtooth(d, past),
		composition(d),
		tasksView(tasks.Tasks),
		stackView(v.name(), append(d.Past.Earlier, d.Stack...)),
	}
	return v.showConversation("Overview", map[string]g.Node{"live": state},
		live(v.name(), v.URL.RequestURI(), state),
		actionsView(v.name()),
	)
}

func actionsView(name string) g.Node {
	action := func(action, label, done string) g.Node {
		return g.Group{command(name, action, done, button("", label)), g.Text(" ")}
	}
	return h.Section(
		h.Class("actions"), h.Aria("label", "Actions"),
		command(
			name, "compact", "The older messages are summarized. The conversation goes on.", h.Class("wide"),
			h.Label(g.Text("Focus "), h.Input(h.Name("focus"), h.MaxLength("500"), h.Placeholder("what to keep in detail (optional)"))),
			button("main", "Compact now"),
		),
		action("undo", "Undo the latest compaction", "Undone."),
		action("new", "New session", "A new session. The earlier messages are summarized in the background; nothing is lost."),
		action("pause", "Pause answers", "The bot is paused here until it is resumed. Messages are still saved."),
	)
}

func cardsView(d conversationAnswer) g.Node {
	card := func(name string, value g.Node, more ...g.Node) g.Node {
		return h.Div(h.Class("card"), h.Span(h.Class("faint"), g.Text(name)), value, g.Group(more))
	}
	next, _, _ := strings.Cut(d.Next, " ")
	messages := thousands(d.Verbatim) + " word for word"
	if d.InPart > 0 {
		messages += fmt.Sprintf(", %d shortened", d.InPart)
	}
	model := "agent " + d.Agent
	if d.Usage != nil {
		model += fmt.Sprintf(", %.4f so far", d.Usage.Total.Cost)
	}
	return h.Div(
		h.Class("cards"),
		card("Window", h.Strong(g.Textf("%.1f %%", d.UsedPct)), h.Span(g.Text(thousands(d.Used)+" of "+thousands(d.Max)+" tokens")), windowFill{d.Used, d.Max}.bar()),
		card("Next", h.Strong(g.Text(next)), h.Span(g.Text(d.Next))),
		card("Messages", h.Strong(grouped(d.Messages)), h.Span(g.Text(messages))),
		card("Model", h.Strong(h.Class("small"), g.Text(d.Model)), h.Span(g.Text(model))),
	)
}

var taskColumns = []column{{Name: "Task"}, {Name: "Agent"}, {Name: "State"}, {Name: "Messages", Number: true}, {Name: "What to do"}}

func tasksView(all []channel.Task) g.Node {
	if len(all) == 0 {
		return nil
	}
	return g.Group{
		h.H2(g.Text("Tasks of other agents")),
		table("list tasks", taskColumns, all, func(t channel.Task) []g.Node {
			return []g.Node{
				h.A(h.Href(pageOf(t.Conversation)), g.Text(strconv.FormatInt(t.Number, 10))),
				g.Text(t.Agent),
				tag("", string(t.State)),
				grouped(t.Messages),
				h.Span(h.Dir("auto"), g.Text(cmp.Or(t.Text, "(deleted)"))),
			}
		}),
	}
}
