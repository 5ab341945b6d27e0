// The page of a conversation's messages.

package web

import (
	"fmt"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/channel"
)

func messagesPage(v *visit) error {
	q, before := v.URL.Query().Get("q"), v.URL.Query().Get("before")
	var list messageList
	if err := v.get(apiOf(v.name())+"/messages", query("limit", pageSize, "q", q, "before", before), &list); err != nil {
		return err
	}
	var stack summaryList
	if q == "" {
		if err := v.get(apiOf(v.name())+"/summaries", nil, &stack); err != nil {
			return err
		}
	}
	stack.Stack = append(stack.Past.Earlier, stack.Stack...)
	all := h.P(g.Text("Nothing found."))
	if len(list.Messages) > 0 {
		all = messagesView(v.name(), list.Messages, stack.Stack)
	}
	here := pageOf(v.name()) + "/messages"
	var later g.Node // if the page does not end with the newest message
	if n := len(list.Messages); n > 0 && before == fmt.Sprint(list.Messages[n-1].Seq+1) {
		later = h.A(h.Href(messagesBefore(v.name(), list.Messages[n-1].Seq+1+pageSize)), g.Text("↓ Later messages"))
	}
	return v.showConversation("Messages", nil,
		searchForm(searchBox(q, "Search messages"), button("", "Search")),
		g.If(q != "", faint(g.Text("The best first. "), h.A(h.Href(here), g.Text("All messages")))),
		g.If(list.Before > 0, h.P(h.A(h.Href(messagesBefore(v.name(), list.Before)), g.Text("↑ Earlier messages")))),
		all,
		g.If(before != "", h.P(h.Class("pager"), later, h.A(h.Href(here), g.Text("The newest messages")))),
	)
}

// messagesView shows messages, and each summary after those that it covers.
func messagesView(name string, all []messageAnswer, stack []channel.StackEntry) g.Node {
	var view g.Group
	for i, m := range all {
		view = append(view, messageView(name, m.Record, m.Match))
		for _, s := range stack {
			last := i == len(all)-1 || all[i+1].Seq > s.To
			if m.Seq <= s.To && m.Seq >= s.From && last {
				view = append(view, h.P(
					h.Class("marker"), h.ID(fmt.Sprint("s", s.ID)),
					h.A(h.Href(summaryPageOf(name, s.ID)), g.Textf("▲ the model sees #%d to #%d as a summary of %d tokens", s.From, s.To, s.Tokens)),
				))
			}
		}
	}
	return view
}
