// The messages of a chat as they follow each other: with what was summarized, remembered and reported between them.

package web

import (
	"fmt"
	"net/http"
	"slices"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/channel/report"
	"cairn/chat"
	"cairn/llm"
	"cairn/memory"
	"cairn/store"
)

const chatMessages = 100 // on a page

// flow is what a chat shows between its oldest and its newest message on the page.
type flow struct {
	list      messageList
	notices   []replyEvent
	summaries []report.StackEntry
	memories  []memory.Memory
	waiting   []store.Inbound
	answering bool
	last      string // id of the newest message of a person, which may be asked again
}

// messagesView shows the newest messages, or those before one.
func (c chatRoom) messagesView() g.Node {
	if c.conversation == nil {
		return g.Group{faint(g.Textf("There are no messages here yet. What you write, %s answers.", c.botName())), c.pausedView(c.name)}
	}
	f := c.flow()
	if len(f.list.Messages)+len(f.waiting) == 0 {
		return g.Group{faint(g.Text("There are no messages here yet.")), c.pausedView(c.name)}
	}
	view := g.Group{f.latestView(), g.If(f.list.Before > 0, h.P(h.Class("earlier"), h.A(h.Href(messagesBefore(c.name, f.list.Before)), g.Text("↑ Earlier messages"))))}
	for i, m := range f.list.Messages {
		if i == 0 {
			view = append(view, c.earlierMark(f, m.Seq))
		}
		if m.Role != llm.RoleTool && (m.Text != "" || len(m.With) > 0) {
			view = append(view, c.messageView(m.Record))
		}
		view = append(view, c.memoriesView(f, m.Seq), noticesView(f, i), c.marksView(f, i))
	}
	return append(
		view,
		g.Map(f.waiting, func(m store.Inbound) g.Node { return c.waitingView(m) }),
		c.pausedView(c.name), approvalsView(c.name, c.endpoints.operator.Approvals(c.name)),
		g.If(f.answering, h.Span(h.ID("answering"), g.Attr("hidden"))),
	)
}

func (c chatRoom) flow() (f flow) {
	c.Set("limit", fmt.Sprint(chatMessages))
	f.list = ask(c.visit, listMessages)
	f.notices = c.endpoints.events.notices(c.name)
	now, err := c.endpoints.operator.Context(c.Context(), c.name)
	c.fail(err)
	f.summaries = append(now.Past.Earlier, now.Stack...)
	f.waiting, err = c.conversation.Inbox().Oldest(c.Context(), pageSize)
	c.fail(err)
	doing, _ := c.endpoints.operator.Activity(c.name)
	f.answering = doing.Answering
	for _, m := range f.list.Messages {
		if m.Role == llm.RoleUser { // an own one, if it may be asked again
			f.last = map[bool]string{true: m.ID}[isMine(m.Record)]
		}
	}
	for _, m := range f.waiting {
		f.last = m.ID
	}
	if n := len(f.list.Messages); n > 0 {
		f.memories, err = memory.FromMessages(c.Context(), c.conversation, f.list.Messages[0].Seq, f.list.Messages[n-1].Seq)
		c.fail(err)
	}
	return f
}

// messageView shows a message with what people do with it; a script shows the buttons.
func (c chatRoom) messageView(m chat.Record) g.Node {
	return h.Article(
		h.Class("message "+string(m.Role)), h.Data("seq", fmt.Sprint(m.Seq)), h.Data("id", m.ID),
		h.Header(
			h.B(h.Dir("auto"), g.Text(c.who(m))), g.Text(" "), messageLink(c.name, m.Seq), g.Text(" "),
			h.Span(h.Class("faint"), timeView(m.Time)), toolsView(isMine(m)),
		),
		c.contentView(m),
	)
}

func isMine(m chat.Record) bool { return m.Role == llm.RoleUser && m.AuthorID == owner.ID }

// toolsView are the buttons of a message. Those that act on the newest message are in all, so that none changes when another one is the
// newest: a screen reader would read it out again.
func toolsView(mine bool) g.Node {
	tool := func(name, label string, more ...g.Node) g.Node {
		return h.Button(h.Type("button"), h.Class("quiet"), h.Data("tool", name), g.Group(more), g.Text(label))
	}
	return h.Span(h.Class("tools"), tool("copy", "Copy"), g.If(mine, tool("edit", "Edit", g.Attr("hidden"))), tool("again", "Answer again", g.Attr("hidden")))
}

// latestView says which message may be edited, and whether it may be answered again.
func (f flow) latestView() g.Node {
	again := false
	if n := len(f.list.Messages); n > 0 && len(f.waiting) == 0 && !f.answering {
		newest := f.list.Messages[n-1].Record
		again = f.last != "" && (newest.Role == llm.RoleAssistant || isMine(newest))
	}
	return h.Span(h.ID("latest"), g.Attr("hidden"), h.Data("id", f.last), h.Data("again", map[bool]string{true: "yes"}[again]))
}

// who returns what a chat calls the author of a message.
func (c chatRoom) who(m chat.Record) string {
	switch {
	case m.Role == llm.RoleAssistant:
		return c.botName()
	case m.AuthorID == owner.ID:
		return "You"
	}
	return m.Author
}

// contentView shows the text and the files of a message.
func (c chatRoom) contentView(m chat.Record) g.Node {
	text := g.Node(nil)
	switch {
	case m.Text == "":
	case m.Role == llm.RoleAssistant:
		text = markdownView(m.Text)
	default:
		text = longText("", m.Text)
	}
	return g.Group{text, filesView(c.name, m.With)}
}

// filesView shows what came with a message: pictures, and the names of other files.
func filesView(conversation string, all []chat.With) g.Node {
	return g.Map(all, func(w chat.With) g.Node {
		if w.File == 0 {
			return h.Div(h.Class("faint file"), h.Dir("auto"), g.Text(attachmentWords(w)))
		}
		src := fmt.Sprintf("%s/files/%d", apiOf(conversation), w.File)
		return h.A(h.Class("picture"), h.Href(src), h.Aria("label", attachmentWords(w)), h.Img(h.Src(src), h.Alt(attachmentWords(w)), h.Loading("lazy")))
	})
}

// waitingView shows a message in the inbox: most wait for the end of the answer before them.
func (c chatRoom) waitingView(m store.Inbound) g.Node {
	by := m.Author
	if m.AuthorID == owner.ID {
		by = "You"
	}
	return h.Article(
		h.Class("message user"), h.Data("id", m.ID),
		h.Header(
			h.B(h.Dir("auto"), g.Text(by)), g.Text(" "), h.Span(h.Class("faint"), g.Text("waiting for an answer")),
			toolsView(m.AuthorID == owner.ID),
		),
		longText("", m.Text),
		filesView(c.name, withOf(m.Attachments)),
	)
}

// memoriesView shows what is remembered of a message, below it.
func (c chatRoom) memoriesView(f flow, seq int64) g.Node {
	return g.Map(f.memories, func(m memory.Memory) g.Node {
		if m.Sources[len(m.Sources)-1] != seq {
			return nil
		}
		id := fmt.Sprintf("%s/%d", memoriesPath, m.ID)
		return h.Div(
			h.Class("kept"),
			h.Span(h.Class("faint"), g.Text("Remembered: ")), h.A(h.Href(fmt.Sprintf("/memories/%d", m.ID)), h.Dir("auto"), g.Text(m.Content)), g.Text(" "),
			change(http.MethodPatch, id, `{"state": "forgotten"}`, "Forgotten: it is not recalled any more. The page of the memory restores it.", button("quiet", "Undo")),
		)
	})
}

// noticesView shows the bot's notices that came after a message, and before the next one.
func noticesView(f flow, i int) g.Node {
	all := f.list.Messages
	return g.Map(f.notices, func(n replyEvent) g.Node {
		after := !n.Time.Before(all[i].Time) && (i == len(all)-1 || n.Time.Before(all[i+1].Time))
		return g.If(after, h.P(h.Class("note warn"), h.Dir("auto"), g.Text(n.Text)))
	})
}

// marksView shows the summaries that end with a message, or with one before the next.
func (c chatRoom) marksView(f flow, i int) g.Node {
	all := f.list.Messages
	return g.Map(f.summaries, func(s report.StackEntry) g.Node {
		ends := s.To >= all[i].Seq && (i == len(all)-1 || s.To < all[i+1].Seq)
		return g.If(ends, c.markView(s))
	})
}

// earlierMark shows the newest summary that ends before the messages of the page.
func (c chatRoom) earlierMark(f flow, first int64) g.Node {
	for _, s := range slices.Backward(f.summaries) {
		if s.To < first {
			return c.markView(s)
		}
	}
	return nil
}

// markView marks where the model sees a summary. It opens to its lines, with their evidence, and to the messages behind it.
func (c chatRoom) markView(s report.StackEntry) g.Node {
	return h.Details(
		h.Class("marker"), h.Data("src", summaryPageOf(c.name, s.ID)+"?fragment=summary"),
		h.Summary(g.Textf("▲ %s sees #%d to #%d as a summary of %s tokens", c.botName(), s.From, s.To, thousands(s.Tokens))),
		h.P(h.A(h.Href(summaryPageOf(c.name, s.ID)), g.Text("The summary, and the messages behind it"))),
	)
}
