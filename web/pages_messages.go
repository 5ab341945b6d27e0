// The pages of a conversation's messages, and of a summary.

package web

import (
	"fmt"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/channel/report"
	"cairn/memory"
)

func messages(v *visit) page {
	path := pageOf(v.name()) + "/messages"
	q := v.question()
	before := v.Get("before")
	list := ask(v, listMessages)
	var stack []report.StackEntry
	if q.IsEmpty() {
		all := ask(v, v.endpoints.conversations.summaries)
		stack = append(all.Past.Earlier, all.Stack...)
	}
	view := g.Node(h.P(g.Text("Nothing found.")))
	var later g.Node // if the page does not end with the newest message
	if n := len(list.Messages); n > 0 {
		view = messagesView(v.name(), list.Messages, stack)
		if end := list.Messages[n-1].Seq + 1; q.IsEmpty() && before == fmt.Sprint(end) {
			later = h.A(h.Href(messagesBefore(v.name(), end+pageSize)), g.Text("↓ Later messages"))
		}
	}
	return page{content: g.Group{
		searchForm(
			searchBox(q.Text, "Search messages"), textField("By", "by", q.By, 10), v.periodFields(),
			choose("Order", "order", h.Option(h.Value(""), g.Text("default")), options(memory.Orders, q.Order)), button("", "Search"),
		),
		g.If(!q.IsEmpty(), faint(g.Text("The "+order(q)+" first. "), h.A(h.Href(path), g.Text("All messages")))),
		g.If(q.IsEmpty(), earlierLink(v.name(), list)),
		view,
		g.If(!q.IsEmpty() && list.Before > 0, h.P(h.Class("pager"), h.A(h.Href(v.with("before", list.Before)), g.Text("↓ Earlier messages")))),
		g.If(q.IsEmpty() && before != "", h.P(h.Class("pager"), later, h.A(h.Href(path), g.Text("The newest messages")))),
	}}
}

// order says which of the messages that a search found come first.
func order(q memory.Question) string {
	switch {
	case q.Order != "":
		return q.Order
	case strings.TrimSpace(q.Text) == "":
		return "newest"
	}
	return "best"
}

func earlierLink(conversation string, list messageList) g.Node {
	return g.If(list.Before > 0, h.P(h.A(h.Href(messagesBefore(conversation, list.Before)), g.Text("↑ Earlier messages"))))
}

// messagesView shows messages, and each summary after those that it covers.
func messagesView(name string, all []FoundMessage, stack []report.StackEntry) (view g.Group) {
	for i, m := range all {
		view = append(view, messageView(name, m.Record, m.Match))
		for _, s := range stack {
			last := i == len(all)-1 || all[i+1].Seq > s.To
			if m.Seq <= s.To && m.Seq >= s.From && last {
				view = append(view, h.P(
					h.Class("marker"), h.ID(fmt.Sprint("s", s.ID)),
					h.A(
						h.Href(summaryPageOf(name, s.ID)),
						g.Textf("▲ the model sees #%d to #%d as a summary of %d tokens", s.From, s.To, s.Tokens),
					),
				))
			}
		}
	}
	return view
}

func summaryPageOf(name string, id int64) string {
	return fmt.Sprintf("%s/summaries/%d", pageOf(name), id)
}

// summariesView shows summaries. Opening one reads what it replaced.
func summariesView(name string, all []report.StackEntry) g.Node {
	return h.Ol(h.Class("stack"), g.Map(all, func(s report.StackEntry) g.Node {
		kind := string(s.Kind)
		href := summaryPageOf(name, s.ID)
		if s.Level > 0 {
			kind += fmt.Sprint(" ", s.Level)
		}
		return h.Li(h.Class("entry "+string(s.Kind)), h.Details(
			h.Data("src", href+"?fragment=summary"),
			h.Summary(
				h.Span(h.Class("span"), g.Textf("#%d – #%d", s.From, s.To)), g.Text(" "),
				tag(string(s.Kind), kind), g.Text(" "),
				h.Span(
					h.Class("faint"), timeView(s.FromTime), g.If(day(s.FromTime) != day(s.ToTime), g.Group{g.Text(" to "), timeView(s.ToTime)}),
					g.Text(" · "+thousands(s.Tokens)+" tokens · by "+string(s.By)),
				),
			),
			longText("", s.Text),
			h.P(h.A(h.Href(href), g.Text("Open: the messages behind it"))),
		))
	}))
}

func summaryPage(v *visit) page {
	name := v.name()
	if err := v.enter(name); err != nil {
		v.fail(err)
		return page{}
	}
	a := ask(v, showSummary)
	s := a.Summary
	kind := string(a.Summary.Kind)
	view := g.Group{
		h.P(tag(kind, kind), g.Textf(" of messages #%d to #%d, by %s, %s tokens", s.From, s.To, s.By, thousands(s.Tokens))),
		v.linesView(name, s),
	}
	if len(a.Children) > 0 {
		view = append(view, h.H2(g.Text("Covered summaries")), summariesView(name, a.Children))
	}
	if len(a.Messages) > 0 {
		view = append(view, h.H2(g.Text("Covered messages")), messageViews(name, a.Messages))
	}
	if a.From > 0 {
		view = append(view, h.P(h.A(h.Href(fmt.Sprintf("%s?from=%d", summaryPageOf(name, s.ID), a.From)), g.Text("More messages →"))))
	}
	back := h.A(h.Href(pageOf(name)), g.Text("back to "+name))
	return page{name, g.Group{heading(fmt.Sprint("Summary ", s.ID), back), view}, view}
}
