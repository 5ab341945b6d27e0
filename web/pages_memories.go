// The pages of all memories and of one.

package web

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/chat"
	"cairn/memory"
)

func memoriesPage(v *visit) page {
	list, err := v.s.listMemories(v.request)
	if !unspoken(v.Get("conversation"), err) { // which has no memories
		v.fail(err)
	}
	found := g.Node(h.P(g.Text("No memories match. They are saved when messages are summarized, and by /remember.")))
	if list.Total > 0 {
		found = g.Group{
			h.Ul(h.Class("memories"), g.Map(list.Memories, listedMemory)),
			faint(grouped(list.Total), g.Text(" in all")),
			v.pager(list.Total),
		}
	}
	choose := func(label, name string, choices ...g.Node) g.Node {
		return h.Label(g.Text(label+" "), h.Select(h.Name(name), h.Aria("label", label), g.Group(choices)))
	}
	return page{title: "Memories", content: g.Group{
		heading("Memories"),
		searchForm(
			searchBox(v.Get("q"), "Search"),
			choose("Kind", "kind", h.Option(h.Value(""), g.Text("any")), options(memory.Kinds, v.Get("kind"))),
			choose("State", "state", options(memory.States, cmp.Or(v.Get("state"), "current"))),
			h.Label(g.Text("About "), h.Input(h.Name("about"), h.Value(v.Get("about")), g.Attr("size", "10"))),
			h.Label(g.Text("Conversation "), h.Input(h.Name("conversation"), h.Value(v.Get("conversation")), g.Attr("size", "16"))),
			button("", "Show"),
		),
		found,
	}}
}

func memoryPageOf(id int64) string { return fmt.Sprint("/memories/", id) }

func memoryLink(m memory.Memory) g.Node {
	return h.A(h.Href(memoryPageOf(m.ID)), h.Dir("auto"), g.Text(m.Content))
}

func listedMemory(m memory.Memory) g.Node {
	return h.Li(
		tag("", m.Kind), g.Text(" "),
		g.If(m.Pinned, g.Group{tag("warn", "pinned"), g.Text(" ")}),
		g.If(m.State != "active", g.Group{tag("", m.State), g.Text(" ")}),
		memoryLink(m),
		h.Div(
			h.Class("faint"),
			g.If(!strings.Contains(m.Content, m.Speaker), g.Group{h.Span(h.Dir("auto"), g.Text(m.Speaker)), g.Text(" · ")}),
			timeView(m.SaidAt), g.Text(" · "+m.Conversation),
			g.If(m.Confirmed > 1, g.Textf(" · said %d times", m.Confirmed)),
		),
	)
}

func memoryPage(v *visit) page {
	m := ask(v, v.s.showMemory)
	from := g.Node(messageViews(m.Conversation, m.Messages))
	if len(m.Messages) == 0 {
		from = faint(g.Text("Its messages are gone, or it was saved by hand."))
	}
	title := fmt.Sprint("Memory ", m.ID)
	return page{title: title, content: g.Group{
		heading(title, h.A(h.Href("/memories"), g.Text("all memories"))),
		h.BlockQuote(h.Class("text"), h.Dir("auto"), g.Text(m.Content)),
		factsView(m.Memory),
		h.Section(h.Class("actions"), memoryActions(m.Memory)),
		h.H2(g.Text("Origin")),
		from,
		g.If(len(m.Chain) > 0, g.Group{h.H2(g.Text("Versions")), h.Ol(g.Map(m.Chain, func(old memory.Memory) g.Node {
			return h.Li(memoryLink(old), g.Text(" "), h.Span(h.Class("faint"), g.Text(old.State+", "), timeView(old.SaidAt)))
		}))}),
	}}
}

func factsView(m memory.Memory) g.Node {
	fact := func(name string, value ...g.Node) g.Node { return g.Group{h.Dt(g.Text(name)), h.Dd(value...)} }
	return h.Dl(
		h.Class("facts"),
		fact("Kind", g.Text(m.Kind)),
		fact("State", g.Text(m.State), g.If(m.Pinned, g.Text(", pinned"))),
		fact("Said by", h.Dir("auto"), g.Text(cmp.Or(m.Speaker, "nobody named"))),
		g.If(m.About != "", fact("About", g.Text(m.About))),
		fact("Said", timeView(m.SaidAt), g.Text(", "+chat.Counted(m.Confirmed, "time", "times"))),
		fact("Importance", g.Textf("%.2f", m.Importance)),
		fact("Saved by", g.Text(m.By)),
		fact("In", h.A(h.Href(pageOf(m.Conversation)), g.Text(m.Conversation))),
		g.If(!m.Expires.IsZero(), fact("Ends", timeView(m.Expires))),
	)
}

func memoryActions(m memory.Memory) g.Node {
	action := func(body, done string, content ...g.Node) g.Node {
		return change(http.MethodPatch, "/api"+memoryPageOf(m.ID), body, done, content...)
	}
	if m.State == "forgotten" {
		return action(`{"state": "active"}`, "Restored.", button("main", "Restore"))
	}
	pin := action(`{"pinned": true}`, "Pinned: it neither expires nor fades.", button("", "Pin"))
	if m.Pinned {
		pin = action(`{"pinned": false}`, "Unpinned.", button("", "Unpin"))
	}
	return g.Group{
		g.If(m.State == "active", action(
			"{}", "Changed.", h.Class("wide"),
			h.Label(g.Text("Text "), h.Textarea(h.Name("content"), h.Rows("2"), h.MaxLength("1000"), h.Required(), h.Dir("auto"), g.Text(m.Content))),
			button("", "Change"),
		)),
		pin,
		action(`{"state": "forgotten"}`, "Forgotten. You can restore it here.", button("danger", "Forget")),
	}
}
