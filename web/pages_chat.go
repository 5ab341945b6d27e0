// The page of the chat pane.

package web

import (
	"fmt"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/channel"
	"cairn/config"
	"cairn/store"
)

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
		list = ask(v, v.s.messages)
		waiting, err = v.conversation.Inbox().Oldest(v.Context(), pageSize)
		v.fail(err)
	} else if !unspoken(conversation, err) {
		v.fail(err)
	}
	now, _ := v.s.operator.Activity(conversation)
	said := g.Group{
		saidView(conversation, list, v.s.o.Events.notices(conversation)),
		waitingView(waiting),
		v.pausedView(conversation),
		approvalsView(conversation, v.s.operator.Approvals(conversation)),
		g.If(now.Answering, h.Span(h.ID("answering"), g.Attr("hidden"))),
	}
	return page{name, chatView(name, conversation, said), said}
}

// saidView shows the newest messages, and the bot's notices between them.
func saidView(conversation string, said messageList, notices []replyEvent) g.Node {
	if len(said.Messages) == 0 {
		return faint(g.Text("Nobody has said anything here yet."))
	}
	view := g.Group{earlierLink(conversation, said)}
	for i, m := range said.Messages {
		m.Calls = nil // they are on the page of the messages
		view = append(view, g.If(m.Role != "tool" && m.Text != "", messageView(conversation, m.Record, "")))
		for _, n := range notices {
			if !n.Time.Before(m.Time) && (i == len(said.Messages)-1 || n.Time.Before(said.Messages[i+1].Time)) {
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
			h.Header(h.B(h.Dir("auto"), g.Text(m.Author)), g.Text(" "), h.Span(h.Class("faint"), g.Text("waits to be answered"))),
			longText("", m.Text),
		)
	})
}

// chatView is the chat. A script shows the form, which it sends to the API.
func chatView(name, conversation string, messages g.Node) g.Node {
	return g.Group{
		heading(name, conversationTabs(conversation, "Chat")),
		h.Section(h.ID("said"), h.Aria("live", "polite"), h.Data("conversation", conversation), h.Data("src", chatPageOf(name)+"?fragment=messages"), messages),
		h.Article(
			h.Class("message assistant"), h.ID("writing"), g.Attr("hidden"),
			h.Header(h.B(g.Text("assistant")), g.Text(" "), h.Span(h.Class("spinner"), h.Aria("hidden", "true"))),
			longText("", ""),
		),
		h.P(h.Class("note"), h.ID("note"), h.Role("status"), g.Attr("hidden")),
		command(
			conversation, "messages", "", h.ID("chat"), h.Class("chat"), g.Attr("hidden"),
			h.Label(h.Class("skip"), h.For("text"), g.Text("Message")),
			h.Textarea(
				h.ID("text"), h.Name("text"), h.Aria("controls", "choices"), h.Aria("autocomplete", "list"), h.Rows("3"), h.Required(), h.MaxLength("100000"),
				h.Placeholder("Write to the bot. / shows the commands; Enter sends, Shift-Enter starts a new line"),
			),
			h.Div(h.Class("row"), button("main", "Send"), h.Button(h.Type("button"), h.ID("stop"), g.Attr("hidden"), g.Text("Stop"))),
			h.Ul(h.ID("choices"), h.Class("choices"), h.Role("listbox"), h.Aria("label", "Commands"), g.Attr("hidden")),
		),
		h.Ul(h.ID("commands"), g.Attr("hidden"), g.Map(channel.Commands, func(c channel.Command) g.Node {
			suggests := ""
			for i, a := range c.Args {
				if a.Suggests {
					suggests = fmt.Sprint(i)
				}
			}
			return h.Li(h.Data("name", c.Name), h.Data("usage", c.Usage()), h.Data("help", c.Help), h.Data("suggests", suggests))
		})),
		h.Script(h.Src("/static/chat.js"), h.Defer()),
		searchForm(h.Action("/chat"), h.Label(g.Text("Another conversation "), h.Input(h.Name("name"), h.MaxLength("64"))), button("", "Open")),
	}
}
