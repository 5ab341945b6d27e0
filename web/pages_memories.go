// The pages of all memories and of one.

package web

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/memory"
)

func memoriesPage(v *visit) error {
	query := v.URL.Query()
	query.Set("limit", strconv.Itoa(pageSize))
	var list memoryList
	if err := v.get("/api/memories", query, &list); err != nil {
		return err
	}
	found := g.Node(h.P(g.Text("No memories match. They are saved when messages are summarized, and by /remember.")))
	if list.Total > 0 {
		found = g.Group{
			h.Ul(h.Class("memories"), g.Map(list.Memories, listedMemory)),
			faint(grouped(list.Total), g.Text(" in all")),
			v.pager(list.Total),
		}
	}
	return v.show("Memories", nil,
		heading("Memories"),
		h.Form(
			h.Class("search filters"), h.Role("search"),
			searchBox(query.Get("q"), "Search"),
			h.Label(g.Text("Kind "), h.Select(h.Name("kind"), h.Option(h.Value(""), g.Text("any")), options(memory.Kinds, query.Get("kind")))),
			h.Label(g.Text("State "), h.Select(h.Name("state"), options(memory.States, cmp.Or(query.Get("state"), "current")))),
			h.Label(g.Text("About "), h.Input(h.Name("about"), h.Value(query.Get("about")), g.Attr("size", "10"))),
			h.Label(g.Text("Conversation "), h.Input(h.Name("conversation"), h.Value(query.Get("conversation")), g.Attr("size", "16"))),
			button("", "Show"),
		),
		found,
	)
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
			g.If(m.Speaker != "", g.Group{h.Span(h.Dir("auto"), g.Text(m.Speaker)), g.Text(" · ")}),
			timeView(m.SaidAt), g.Text(" · "+m.Conversation),
			g.If(m.Confirmed > 1, g.Textf(" · said %d times", m.Confirmed)),
		),
	)
}

func memoryPage(v *visit) error {
	var m memory.Details
	if err := v.get("/api/memories/"+url.PathEscape(v.PathValue("id")), nil, &m); err != nil {
		return err
	}
	from := g.Node(messageViews(m.Conversation, m.Messages))
	if len(m.Messages) == 0 {
		from = faint(g.Text("Its messages are gone, or it was saved by hand."))
	}
	title := fmt.Sprint("Memory ", m.ID)
	return v.show(title, nil,
		heading(title, h.A(h.Href("/memories"), g.Text("all memories"))),
		h.BlockQuote(h.Class("text"), h.Dir("auto"), g.Text(m.Content)),
		factsView(m.Memory),
		h.Section(h.Class("actions"), memoryActions(m.Memory)),
		h.H2(g.Text("Origin")),
		from,
		g.If(len(m.Chain) > 0, g.Group{h.H2(g.Text("Versions")), h.Ol(g.Map(m.Chain, func(old memory.Memory) g.Node {
			return h.Li(memoryLink(old), g.Text(" "), h.Span(h.Class("faint"), g.Text(old.State+", "), timeView(old.SaidAt)))
		}))}),
	)
}

func factsView(m memory.Memory) g.Node {
	fact := func(name string, value ...g.Node) g.Node { return g.Group{h.Dt(g.Text(name)), h.Dd(value...)} }
	state, times := m.State, "1 time"
	if m.Pinned {
		state += ", pinned"
	}
	if m.Confirmed != 1 {
		times = fmt.Sprintf("%d times", m.Confirmed)
	}
	return h.Dl(
		h.Class("facts"),
		fact("Kind", g.Text(m.Kind)),
		fact("State", g.Text(state)),
		fact("Said by", h.Dir("auto"), g.Text(cmp.Or(m.Speaker, "nobody named"))),
		g.If(m.About != "", fact("About", g.Text(m.About))),
		fact("Said", timeView(m.SaidAt), g.Text(", "+times)),
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
