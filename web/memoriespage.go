// The pages of memories: a table in which several are changed together, and one memory.

package web

import (
	"cmp"
	"fmt"
	"net/http"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/chat"
	"cairn/memory"
	"cairn/store"
)

func memoriesPage(v *visit) page {
	list, err := v.endpoints.memories.list(v.request)
	if !unspoken(v.Get("conversation"), err) { // which has no memories
		v.fail(err)
	}
	found := g.Node(h.P(g.Text("No memories match. They are saved when messages are summarized, and by /remember.")))
	if list.Total > 0 {
		found = g.Group{
			memoryTable(list.Memories),
			faint(grouped(list.Total), g.Text(" in all")),
			v.pager(list.Total),
		}
	}
	return page{title: "Memories", content: g.Group{
		heading("Memories"),
		searchForm(
			searchBox(v.Get("q"), "Search"),
			choose("Kind", "kind", h.Option(h.Value(""), g.Text("any")), options(memory.Kinds, v.Get("kind"))),
			choose("State", "state", options(memory.States, cmp.Or(v.Get("state"), "current"))),
			textField("About", "about", v.Get("about"), 10),
			textField("Conversation", "conversation", v.Get("conversation"), 16),
			v.periodFields(),
			choose("Order", "sort", h.Option(h.Value(""), g.Text("default")), options(memory.Sorts, v.Get("sort"))),
			button("", "Show"),
		),
		found,
		newMemory(v.Get("conversation")),
		h.Script(h.Src("/static/memories.js"), h.Defer()),
	}}
}

// memoryTable lists memories. A script shows the boxes and the buttons that change all those whose boxes are checked.
func memoryTable(all []memory.Memory) g.Node {
	columns := []string{"Memory", "About", "Said by", "Said", "Conversation"}
	person := func(m memory.Memory, id, name string) g.Node {
		return g.Iff(name != "", func() g.Node { return personLink(m.Conversation, store.Person{ID: id, Name: name}) })
	}
	bulk := func(text, body, done string) g.Node {
		return h.Button(h.Type("button"), h.Data("body", body), h.Data("done", done), g.Text(text))
	}
	return h.Form(
		h.ID("memories"), h.Data("api", memoriesPath+"/"),
		h.Div(
			h.Class("bulk"), h.Role("toolbar"), h.Aria("label", "Change the selected memories"), g.Attr("hidden"),
			h.Label(h.Input(h.Type("checkbox"), h.ID("all")), g.Text(" all on this page")),
			h.Span(h.ID("selected"), h.Class("faint"), h.Role("status")),
			bulk("Forget", `{"state": "forgotten"}`, "Forgotten. Choose the state “forgotten” above to restore them."),
			bulk("Restore", `{"state": "active"}`, "Restored."),
			bulk("Pin", `{"pinned": true}`, "Pinned: they neither expire nor fade."),
			bulk("Unpin", `{"pinned": false}`, "Unpinned."),
		),
		table("list memory-table", columns, all, func(m memory.Memory) []g.Node {
			return []g.Node{
				g.Group{
					h.Input(h.Type("checkbox"), h.Name("id"), h.Value(fmt.Sprint(m.ID)), h.Aria("label", fmt.Sprint("Select memory ", m.ID)), g.Attr("hidden")),
					memoryTags(m), memoryLink(m), periodView(m),
				},
				person(m, m.AboutID, m.About),
				person(m, m.SpeakerID, m.Speaker),
				g.Group{timeView(m.SaidAt), g.If(m.Confirmed > 1, h.Span(h.Class("faint"), g.Textf(" %d times", m.Confirmed)))},
				h.A(h.Href(pageOf(m.Conversation)), h.Dir("auto"), g.Text(m.Conversation)),
			}
		}),
	)
}

// memoryTags are the kind of a memory, and what is unusual about it.
func memoryTags(m memory.Memory) g.Node {
	return g.Group{
		tag("", m.Kind), g.Text(" "),
		g.If(m.Pinned, g.Group{tag("warn", "pinned"), g.Text(" ")}),
		g.If(m.State != "active", g.Group{tag("", m.State), g.Text(" ")}),
		g.If(m.Doubt() == "in doubt", g.Group{tag("warn", m.Doubt()), g.Text(" ")}),
	}
}

// periodView shows when a memory is or was true, if that is known.
func periodView(m memory.Memory) g.Node {
	period := periodOf(m)
	if period == "" {
		return nil
	}
	if m.Doubt() == "was so" {
		period = "was so " + period
	}
	return h.Div(h.Class("faint"), g.Text(period))
}

// newMemory is the form for a memory that a person adds.
func newMemory(conversation string) g.Node {
	return h.Details(
		h.Class("add"),
		h.Summary(g.Text("Add a memory")),
		change(
			http.MethodPost, memoriesPath, "{}", "Saved.", h.Data("next", "/memories/"), h.Class("wide"),
			h.Label(g.Text("Fact "), h.Textarea(h.Name("content"), h.Rows("2"), h.MaxLength("1000"), h.Required(), h.Placeholder("One sentence that stands alone: Ada prefers green tea"))),
			h.Div(
				h.Class("row"),
				h.Label(g.Text("Conversation "), h.Input(h.Name("conversation"), h.Value(conversation), h.Required(), h.Placeholder("terminal:general"))),
				choose("Kind", "kind", options(memory.Kinds, "fact")),
				textField("About", "about", "", 10),
				button("main", "Add"),
			),
		),
	)
}

func memoryPageOf(id int64) string { return fmt.Sprint("/memories/", id) }

func memoryLink(m memory.Memory) g.Node {
	return h.A(h.Href(memoryPageOf(m.ID)), h.Dir("auto"), g.Text(m.Content))
}

func listedMemory(m memory.Memory) g.Node {
	return h.Li(
		memoryTags(m), memoryLink(m),
		h.Div(
			h.Class("faint"),
			g.If(m.Speaker != "", g.Group{personLink(m.Conversation, store.Person{ID: m.SpeakerID, Name: m.Speaker}), g.Text(" · ")}),
			g.If(m.About != "" && m.About != m.Speaker, g.Group{
				g.Text("about "), personLink(m.Conversation, store.Person{ID: m.AboutID, Name: m.About}), g.Text(" · "),
			}),
			g.If(m.Doubt() == "was so" && periodOf(m) != "", g.Text("was so ")),
			g.If(periodOf(m) != "", g.Text(periodOf(m)+" · said ")),
			timeView(m.SaidAt), g.Text(" · "+m.Conversation),
			g.If(m.Confirmed > 1, g.Textf(" · said %d times", m.Confirmed)),
		),
	)
}

func memoryPage(v *visit) page {
	m := ask(v, v.endpoints.memories.show)
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
		fact("State", g.Text(m.State), g.If(m.Doubt() == "in doubt", g.Text(", in doubt")), g.If(m.Pinned, g.Text(", pinned"))),
		g.If(m.Attribute != "", fact("Fact", h.Dir("auto"), g.Text(m.Attribute+": "+m.Value))),
		g.If(periodOf(m) != "", fact("When", g.Text(periodOf(m)))),
		fact("Said by", personLink(m.Conversation, store.Person{ID: m.SpeakerID, Name: m.Speaker})),
		g.If(m.About != "", fact("About", personLink(m.Conversation, store.Person{ID: m.AboutID, Name: m.About}))),
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
			h.Label(
				g.Text("Text "),
				h.Textarea(h.Name("content"), h.Rows("2"), h.MaxLength("1000"), h.Required(), h.Dir("auto"), g.Text(m.Content)),
			),
			button("", "Change"),
		)),
		pin,
		action(`{"state": "forgotten"}`, "Forgotten. You can restore it here.", button("danger", "Forget")),
	}
}
