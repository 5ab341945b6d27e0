// The frame of every page, and what several pages show.
//
// Pages are built of Go values, not of templates: a template finds methods by name, so that the linker
// has to keep every method of every library, which is a third of the program.

package web

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/channel"
	"cairn/chat"
	"cairn/llm"
	"cairn/store"
)

// sections are the pages that every page links, except for the login.
var sections = [][2]string{
	{"/", "Conversations"}, {"/chat", "Chat"}, {"/memories", "Memories"}, {"/usage", "Usage"}, {"/tools", "Tools"}, {"/connectors", "Connectors"}, {"/health", "Health"}, {"/log", "Log"},
}

// frame returns the full page around its content, which is of the section with this path; "" for the login.
func (t *router) frame(title, section string, content ...g.Node) g.Node {
	nav := g.Map(sections, func(to [2]string) g.Node { return h.A(h.Href(to[0]), current(to[0] == section), g.Text(to[1])) })
	return h.Doctype(h.HTML(h.Lang("en"),
		h.Head(
			h.Meta(h.Charset("utf-8")),
			h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
			h.TitleEl(g.Text(title+" · Cairn")),
			h.Link(h.Rel("icon"), h.Href("/static/icon.svg")),
			h.Link(h.Rel("stylesheet"), h.Href("/static/chart.css")),
			h.Link(h.Rel("stylesheet"), h.Href("/static/style.css")),
			h.Script(h.Src("/static/app.js"), h.Defer()),
		),
		h.Body(
			h.A(h.Class("skip"), h.Href("#main"), g.Text("Skip to the content")),
			h.Header(
				h.Class("top"),
				h.A(
					h.Class("brand"), h.Href("/"),
					h.Img(h.Src("/static/icon.svg"), h.Alt(""), h.Width("22"), h.Height("22")), g.Text(" Cairn"),
				),
				h.Nav(h.Aria("label", "Pages"), g.If(section != "", nav)),
				h.Span(h.Class("live"), h.ID("connection"), h.Role("status")),
				g.If(section != "" && t.gate.auth.needed, h.Form(h.Method("post"), h.Action("/logout"), h.Button(h.Class("quiet"), g.Text("Log out")))),
			),
			h.Main(
				h.ID("main"),
				h.P(h.ID("flash"), h.Class("flash"), h.Role("status"), g.Attr("hidden")),
				h.NoScript(note(g.Text("Without JavaScript these pages can be read only."))),
				g.Group(content),
			),
			h.Footer(g.Text("Cairn "+t.version+" · conversations never end")),
		),
	))
}

func writePage(w http.ResponseWriter, status int, page g.Node) error {
	var out strings.Builder
	if err := page.Render(&out); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(out.String())) // the client may be gone
	return nil
}

func current(isCurrent bool) g.Node { return g.If(isCurrent, h.Aria("current", "page")) }

func heading(title string, more ...g.Node) g.Node {
	return h.Div(h.Class("head"), h.H1(g.Text(title)), g.Group(more))
}

func faint(content ...g.Node) g.Node { return h.P(h.Class("faint"), g.Group(content)) }

func note(content ...g.Node) g.Node { return h.P(h.Class("note"), g.Group(content)) }

func warning(text string) g.Node { return h.P(h.Class("note warn"), g.Text(text)) }

func tag(class, text string) g.Node {
	return h.Span(h.Class(strings.TrimSpace("tag "+class)), g.Text(text))
}

// change is a form that a script sends to the API, together with body. done is what to say then, if the
// answer has no reason.
func change(method, path, body, done string, content ...g.Node) g.Node {
	return h.Form(h.Data("method", method), h.Data("api", path), h.Data("body", body), h.Data("done", done), g.Group(content))
}

// commandForm is a form that acts on a conversation.
func commandForm(conversation, name, done string, content ...g.Node) g.Node {
	return change(http.MethodPost, apiOf(conversation)+"/"+name, "{}", done, content...)
}

// searchForm shows the same page again, with what is typed as parameters.
func searchForm(content ...g.Node) g.Node {
	return h.Form(h.Class("search"), h.Role("search"), g.Group(content))
}

func searchBox(value, label string) g.Node {
	return h.Input(h.Type("search"), h.Name("q"), h.Value(value), h.Placeholder(label), h.Aria("label", label))
}

// choose is a choice in a form.
func choose(label, name string, choices ...g.Node) g.Node {
	return h.Label(g.Text(label+" "), h.Select(h.Name(name), h.Aria("label", label), g.Group(choices)))
}

func textField(label, name, value string, size int) g.Node {
	return h.Label(g.Text(label+" "), h.Input(h.Name(name), h.Value(value), g.Attr("size", strconv.Itoa(size))))
}

// periodFields are the fields of a form for a time in the past.
func (v *visit) periodFields() g.Node {
	return g.Group{textField("Since", "since", v.Get("since"), 10), textField("Until", "until", v.Get("until"), 10)}
}

func hidden(name, value string) g.Node {
	return h.Input(h.Type("hidden"), h.Name(name), h.Value(value))
}

func button(class, text string) g.Node {
	return h.Button(g.If(class != "", h.Class(class)), g.Text(text))
}

func options(all []string, chosen string) g.Node {
	return g.Map(all, func(one string) g.Node { return h.Option(g.If(one == chosen, h.Selected()), g.Text(one)) })
}

// table shows rows, each with a cell in each column; the first cell heads the row. The head of a column, where
// a # marks numbers, labels each cell on a narrow screen.
func table[T any](class string, columns []string, rows []T, cellsOf func(T) []g.Node) g.Node {
	parse := func(column string) (name string, class g.Node) {
		name, number := strings.CutPrefix(column, "#")
		return name, g.If(number, h.Class("number"))
	}
	head := h.THead(h.Tr(g.Map(columns, func(column string) g.Node {
		name, class := parse(column)
		return h.Th(h.Scope("col"), class, g.Text(name))
	})))
	return h.Table(h.Class(class), head, h.TBody(g.Map(rows, func(row T) g.Node {
		cells := cellsOf(row)
		view := g.Group{h.Th(h.Scope("row"), cells[0])}
		for i, column := range columns[1:] {
			name, class := parse(column)
			view = append(view, h.Td(h.Data("label", name), class, cells[i+1]))
		}
		return h.Tr(append(view, cells[len(columns):]...)) // attributes of the row
	})))
}

// live is a part of a page that a script reads again when something happens in a conversation; "*"
// means anywhere, "conversations" in any of them.
func live(in, from string, content g.Node) g.Node {
	return h.Section(h.Data("live", in), h.Data("src", from), content)
}

// percentOf returns how full a window is, in percent, with one decimal.
func percentOf(used, window int) float64 { return float64(used*1000/max(window, 1)) / 10 }

// bar shows how full a window is. The browser colours it: otherwise from 80 % on, and again from 95 % on.
func bar(label string, percent float64) g.Node {
	return h.Meter(
		h.Max("100"), g.Attr("low", "80"), g.Attr("high", "95"), g.Attr("optimum", "0"), h.Value(fmt.Sprintf("%.1f", percent)),
		h.Aria("label", label),
	)
}

// messageView shows a message, with a link to it among its conversation's messages. match is the part
// of its text or of a file that a search found: where the text does not contain it, the page shows it instead.
func messageView(conversation string, m chat.Record, match string) g.Node {
	return quotedView(conversation, m, match, h.ID(fmt.Sprint("m", m.Seq)))
}

// quotedView is messageView for a message that the page may show twice; id is an attribute.
func quotedView(conversation string, m chat.Record, match string, id g.Node) g.Node {
	content := g.Group{
		g.If(m.Text != "" && m.Role != "assistant", longText("", m.Text)),
		g.Iff(m.Text != "" && m.Role == "assistant", func() g.Node { return markdownView(m.Text) }),
		g.If(m.Text == "" && len(m.Calls)+len(m.With) == 0, h.Div(h.Class("faint"), g.Text("no text"))),
		g.Map(m.With, func(w chat.With) g.Node {
			return h.Div(h.Class("faint"), g.Text(strings.Join([]string{w.Kind, w.Name, w.Caption}, " ")))
		}),
	}
	for _, c := range m.Calls {
		content = append(content, longText("faint", chat.CallLine(c)))
	}
	if !strings.Contains(m.Text, match) {
		content = g.Group{longText("", match)}
	}
	by := g.Text(cmp.Or(m.Author, m.Tool, string(m.Role)))
	if m.Role == llm.RoleUser && m.Author != "" {
		by = personLink(conversation, store.Person{ID: m.AuthorID, Name: m.Author})
	}
	return h.Article(
		h.Class("message "+string(m.Role)), id,
		h.Header(
			h.B(h.Dir("auto"), by), g.Text(" "), messageLink(conversation, m.Seq), g.Text(" "),
			h.Span(h.Class("faint"), timeView(m.Time)),
		),
		content,
	)
}

// messageLink leads to a message among its conversation's messages.
func messageLink(conversation string, seq int64) g.Node {
	number := fmt.Sprint("m", seq)
	return h.A(h.Class("faint"), h.Href(messagesBefore(conversation, seq+pageSize/2)+"#"+number), g.Text("#"+number[1:]))
}

func messageViews(conversation string, all []chat.Record) g.Node {
	return g.Map(all, func(m chat.Record) g.Node { return messageView(conversation, m, "") })
}

// longText is text that people or models wrote, with their line breaks.
func longText(class, text string) g.Node {
	return h.Div(h.Class(strings.TrimSpace("text "+class)), h.Dir("auto"), g.Text(text))
}

func approvalsView(conversation string, all []channel.Approval) g.Node {
	return g.Map(all, func(a channel.Approval) g.Node {
		answer := func(body, class, label string) g.Node {
			return change(http.MethodPost, apiOf(conversation)+"/approvals/"+url.PathEscape(a.Code), body, "", button(class, label))
		}
		return h.Div(
			h.Class("note warn approval"),
			h.P(g.Text("The model wants to call "), h.B(g.Text(a.Tool)), g.Text(" with "), h.Code(g.Text(a.Arguments))),
			answer(`{"allow": true}`, "main", "Allow"), g.Text(" "), answer(`{"allow": false}`, "", "Deny"),
		)
	})
}

// pausedView says so if the bot does not answer in a conversation.
func (v *visit) pausedView(conversation string) g.Node {
	paused, all, err := v.endpoints.operator.Paused(v.Context(), conversation)
	v.fail(err)
	switch {
	case all:
		return warning("The whole bot is paused: it saves messages, but does not answer them. /resume everywhere ends the pause.")
	case paused:
		return h.Div(
			h.Class("note warn"),
			h.P(g.Text("The bot is paused here: it saves messages, but does not answer them. /resume ends the pause.")),
			commandForm(conversation, "resume", "The bot is answering here again.", button("", "Answer again")),
		)
	}
	return nil
}

func pageOf(name string) string { return "/c/" + url.PathEscape(name) }

// messagesBefore returns the path of the page of messages before the one with this seq.
func messagesBefore(name string, seq int64) string {
	return fmt.Sprintf("%s/messages?before=%d", pageOf(name), seq)
}

// chatPageOf returns the path of a chat: name is the part of the conversation's after "web:".
func chatPageOf(name string) string { return "/chat/" + url.PathEscape(name) }

// day formats a time, in the zone of the settings.
func day(t time.Time) string {
	t = t.Local()
	if t.Year() == time.Now().Year() {
		return t.Format("2 Jan 15:04") + chat.Offset(t)
	}
	return t.Format("2 Jan 2006")
}

// timeView shows a time; hovering over it shows it in full, with its zone.
func timeView(t time.Time) g.Node { return timeAs(t, day(t)) }

// secondView is timeView to the second.
func secondView(t time.Time) g.Node { return timeAs(t, t.Local().Format("2 Jan 15:04:05")) }

func timeAs(t time.Time, text string) g.Node {
	const full = "Monday, 2 January 2006, 15:04:05 MST"
	return h.Time(h.DateTime(t.UTC().Format(time.RFC3339)), h.Title(t.Local().Format(full)), g.Text(text))
}

func thousands[N int | int64](n N) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "\u202f" + text[i:]
	}
	return text
}

func grouped[N int | int64](n N) g.Node { return g.Text(thousands(n)) }
