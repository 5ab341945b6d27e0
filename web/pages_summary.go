// The summaries of a conversation, and the page of one.

package web

import (
	"fmt"
	"net/url"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/channel"
)

// summaryPageOf returns the path of a summary's page.
func summaryPageOf(name string, id int64) string {
	return fmt.Sprintf("%s/summaries/%d", pageOf(name), id)
}

// stackView shows the summaries at the top of a prompt. Opening one reads what it stands for.
func stackView(name string, stack []channel.StackEntry) g.Node {
	title := h.H2(g.Text("Summaries at the top of the prompt"))
	if len(stack) == 0 {
		return g.Group{title, faint(g.Text("Nothing has been summarized yet: the model sees every message verbatim."))}
	}
	return g.Group{title, entriesView(name, stack)}
}

func entriesView(name string, all []channel.StackEntry) g.Node {
	return h.Ol(h.Class("stack"), g.Map(all, func(s channel.StackEntry) g.Node {
		kind := string(s.Kind)
		if s.Level > 0 {
			kind += fmt.Sprint(" ", s.Level)
		}
		href := summaryPageOf(name, s.ID)
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

func summaryPage(v *visit) error {
	var s summaryAnswer
	from := query("limit", pageSize, "from", v.URL.Query().Get("from"))
	if err := v.get(apiOf(v.name())+"/summaries/"+url.PathEscape(v.PathValue("id")), from, &s); err != nil {
		return err
	}
	summary := summaryView(v.name(), s)
	return v.show(v.name(), map[string]g.Node{"summary": summary},
		heading(fmt.Sprint("Summary ", s.Summary.ID), h.A(h.Href(pageOf(v.name())), g.Text("back to "+v.name()))),
		summary,
	)
}

func summaryView(name string, s summaryAnswer) g.Node {
	view := g.Group{
		h.P(tag(string(s.Summary.Kind), string(s.Summary.Kind)), g.Textf(" of messages #%d to #%d, by %s, %s tokens", s.Summary.From, s.Summary.To, s.Summary.By, thousands(s.Summary.Tokens))),
		longText("boxed", s.Summary.Text),
	}
	if len(s.Children) > 0 {
		view = append(view, h.H2(g.Text("Made of")), entriesView(name, s.Children))
	}
	if len(s.Messages) > 0 {
		view = append(view, h.H2(g.Text("Stands for")), messageViews(name, s.Messages))
	}
	if s.From > 0 {
		view = append(view, h.P(h.A(h.Href(fmt.Sprintf("%s?from=%d", summaryPageOf(name, s.Summary.ID), s.From)), g.Text("More messages →"))))
	}
	return view
}
