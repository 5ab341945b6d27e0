// The lines of a summary: what each rests on, and a form to rewrite it.

package web

import (
	"fmt"
	"net/http"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/channel/report"
	"cairn/chat"
)

// linesView shows a summary's text, and below each line that claims something what it rests on.
func (v *visit) linesView(name string, s report.StackEntry) g.Node {
	if len(s.Lines)+len(s.DroppedLines) == 0 {
		return longText("boxed", s.Text)
	}
	var view g.Group
	lines := s.Lines
	for i, text := range strings.Split(s.Text, "\n") {
		if len(lines) > 0 && lines[0].At == i {
			view = append(view, v.lineView(name, s, lines[0]))
			lines = lines[1:]
			continue
		}
		text = strings.TrimSpace(strings.TrimLeft(text, "#"))
		if text != "" {
			view = append(view, h.Div(h.Class("part"), h.Dir("auto"), g.Text(text)))
		}
	}
	return g.Group{
		h.Div(h.Class("boxed lines"), view),
		g.If(len(s.DroppedLines) > 0, h.Details(h.Class("evidence"), h.Summary(g.Textf("Lines that are not in it (%d)", len(s.DroppedLines))), g.Map(s.DroppedLines, droppedView))),
		g.If(s.Without+s.Dropped > 0, faint(g.Textf("Lines: %d; without evidence: %d; dropped because the messages contradict them: %d.",
			len(s.Lines), s.Without, s.Dropped))),
	}
}

// droppedView shows a line that is not in a summary, and why.
func droppedView(l report.DroppedLine) g.Node {
	return h.Div(h.Class("line"), h.Div(h.Class("text"), h.Dir("auto"), g.Text(l.Text)), h.Span(h.Class("faint"), h.Dir("auto"), g.Text(l.Why)))
}

func (v *visit) lineView(name string, s report.StackEntry, l report.SummaryLine) g.Node {
	return h.Div(
		h.Class("line"), h.ID(fmt.Sprintf("s%d-%d", s.ID, l.Number)),
		h.Div(h.Class("text"), h.Dir("auto"), g.Text(l.Text)),
		v.evidenceView(name, l),
		v.rewriteView(name, s.ID, l),
	)
}

// evidenceView shows what a line rests on; its messages are in the page, so that it works without a script.
func (v *visit) evidenceView(name string, l report.SummaryLine) g.Node {
	on := "rests on what was shown beside these messages"
	if l.Earlier != 0 {
		on = fmt.Sprintf("rests on summary %d", l.Earlier)
	}
	switch {
	case l.By != "":
		return h.Span(h.Class("faint"), g.Text("written by "), h.Span(h.Dir("auto"), g.Text(l.By)))
	case len(l.Seqs) > 0:
		if l.Earlier != 0 {
			on += " (" + report.Numbered(l.Seqs) + ")"
		} else {
			on = "rests on " + report.Numbered(l.Seqs)
		}
		messages, err := report.Evidence(v.Context(), v.conversation, l)
		v.fail(err)
		return h.Details(h.Class("evidence"), h.Summary(g.Text(on)), g.Map(messages, func(m chat.Record) g.Node {
			return quotedView(name, m, "", nil)
		}))
	case l.Beside:
		return h.Span(h.Class("faint"), g.Text(on))
	case l.Evidence != nil:
		return tag("unproven", "no evidence")
	}
	return nil
}

// rewriteView is a form, or in the part of another page, which is read again at any time, a link to it.
func (v *visit) rewriteView(name string, summary int64, l report.SummaryLine) g.Node {
	if v.Has("fragment") {
		return h.A(h.Class("faint"), h.Href(fmt.Sprintf("%s#s%d-%d", summaryPageOf(name, summary), summary, l.Number)), g.Text("rewrite"))
	}
	path := fmt.Sprintf("%s/summaries/%d/lines/%d", apiOf(name), summary, l.Number)
	form := func(body, done string, content ...g.Node) g.Node {
		return change(http.MethodPost, path, body, done, h.Data("next", pageOf(name)+"/summaries/"), g.Group(content))
	}
	return h.Details(
		h.Class("rewrite"), h.Summary(g.Text("rewrite")),
		form(
			"{}", "The line is rewritten, and later summaries keep your wording. Undo reverts this.",
			h.Textarea(h.Name("text"), h.Aria("label", "The line"), h.Dir("auto"), h.Rows("2"), h.MaxLength("500"), h.Required(), g.Text(l.Text)),
			button("main", "Save"),
		),
		form(`{"text": ""}`, "The line is removed. Undo reverts this.", button("quiet", "Remove the line")),
	)
}
