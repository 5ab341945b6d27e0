// People: those of a conversation, and what is known of one of them, as routes of the API and as pages.

package web

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/chat"
	"cairn/memory"
	"cairn/store"
)

// peopleList is a page of the people of a conversation.
type peopleList struct {
	People []memory.Acquaintance `json:"people"`
	Total  int                   `json:"total"`
}

func listPeople(r *request) (list peopleList, err error) {
	limit, offset := r.page()
	all, err := memory.Of(r.conversation).People(r.Context())
	from := min(offset, len(all))
	return peopleList{listOf(all[from:min(from+limit, len(all))]), len(all)}, err
}

func peoplePage(v *visit) page {
	name := v.name()
	list := ask(v, listPeople)
	if list.Total == 0 {
		return page{content: h.P(g.Text("Nobody has written here yet."))}
	}
	view := g.Group{
		table("list", []string{"Person", "#Memories", "Newest message"}, list.People, func(a memory.Acquaintance) []g.Node {
			return []g.Node{
				g.Group{
					personLink(name, store.Person{ID: a.ID, Name: a.Name}), h.Span(h.Class("faint"), g.Text(" "+a.ID)),
					g.If(a.OptedOut, g.Group{g.Text(" "), tag("warn", "opted out")}),
					g.If(len(a.Others) > 0, h.Div(h.Class("faint"), h.Dir("auto"), g.Text("also called "+strings.Join(a.Others, ", ")))),
				},
				grouped(a.Memories),
				g.Iff(!a.Last.IsZero(), func() g.Node { return timeView(a.Last) }),
			}
		}),
		faint(grouped(list.Total), g.Text(" in all")),
		v.pager(list.Total),
	}
	return page{content: live(name, v.URL.RequestURI(), view), part: view}
}

// personAnswer is what is known of a person, and their newest messages.
type personAnswer struct {
	memory.Profile
	Messages []FoundMessage `json:"messages" jsonschema:"of the person, newest first"`
}

func showPerson(r *request) (a personAnswer, err error) {
	ms := memory.Of(r.conversation)
	limit, _ := r.page()
	a.Profile, err = ms.Profile(r.Context(), r.PathValue("person"))
	if unknown, ok := errors.AsType[*memory.PersonError](err); ok {
		return a, problem(http.StatusNotFound, "%v.", unknown)
	}
	a.Messages = []FoundMessage{}
	if err != nil || len(a.Namesakes) > 0 {
		return a, err
	}
	found, err := ms.Recall(r.Context(), memory.Question{By: cmp.Or(a.ID, a.Name), Limit: limit})
	if _, silent := errors.AsType[*memory.PersonError](err); silent {
		return a, nil
	}
	if len(found) > 0 {
		a.Name = cmp.Or(found[0].Author, a.Name)
	}
	a.Messages = append(a.Messages, foundMessages(found)...)
	return a, err
}

func personPageOf(conversation string, who store.Person) string {
	return pageOf(conversation) + "/people/" + url.PathEscape(cmp.Or(who.ID, who.Name))
}

// personLink is a name that leads to what is known of the person.
func personLink(conversation string, who store.Person) g.Node {
	if who.Name == "" {
		return g.Text("nobody named")
	}
	return h.A(h.Class("person"), h.Href(personPageOf(conversation, who)), h.Dir("auto"), g.Text(who.Name))
}

// shownMessages is how many messages of a person their page shows.
const shownMessages = 10

func personPage(v *visit) page {
	name := v.name()
	if err := v.enter(name); err != nil {
		v.fail(err)
		return page{}
	}
	v.Set("limit", strconv.Itoa(shownMessages))
	a := ask(v, showPerson)
	called, err := v.conversation.Transcript().Called(v.Context())
	v.fail(err)
	place := h.Span(h.Class("faint"), h.Dir("auto"), g.If(a.ID != a.Name, g.Text(a.ID+" ")), g.Text("in "+called))
	head := heading(cmp.Or(a.Name, a.ID), place, conversationTabs(name, ""))
	view := g.Group{
		g.If(a.OptedOut, note(g.Text("Opted out of memories: no new ones are saved of what they write, and none about them."))),
		namesakesView(name, a),
		profileView(name, a),
		messagesOf(name, a),
	}
	return page{a.Name, g.Group{head, live(name, v.URL.RequestURI(), view)}, view}
}

// namesakesView lets people choose whom a name means.
func namesakesView(name string, a personAnswer) g.Node {
	if len(a.Namesakes) == 0 {
		return nil
	}
	return note(
		g.Text("Several people are called this here: "),
		g.Map(a.Namesakes, func(who store.Person) g.Node {
			return g.Group{personLink(name, who), h.Span(h.Class("faint"), g.Text(" "+who.ID)), g.Text(" ")}
		}),
	)
}

func profileView(name string, a personAnswer) g.Node {
	if len(a.Now)+len(a.Doubt)+len(a.Past)+len(a.Other) == 0 {
		return faint(g.Text("There are no memories about this person here."))
	}
	section := func(title string, all []memory.Memory, view func([]memory.Memory) g.Node) g.Node {
		return g.Iff(len(all) > 0, func() g.Node { return g.Group{h.H2(g.Text(title)), view(all)} })
	}
	return g.Group{
		section("True now", a.Now, factsTable),
		section("In doubt", a.Doubt, func(all []memory.Memory) g.Node {
			return g.Group{faint(g.Text("These contradict each other. Open the wrong one to forget it.")), factsTable(all)}
		}),
		section("What was", a.Past, factsTable),
		section("Other memories", a.Other, func(all []memory.Memory) g.Node {
			return h.Ul(h.Class("memories"), g.Map(all, listedMemory))
		}),
	}
}

// factsTable shows memories that state facts: what, since when, and who said so where.
func factsTable(all []memory.Memory) g.Node {
	return table("list of-person", []string{"What", "Value", "When", "Said"}, all, func(m memory.Memory) []g.Node {
		return []g.Node{
			h.Span(h.Dir("auto"), g.Text(m.Attribute)),
			h.Div(
				h.A(h.Href(memoryPageOf(m.ID)), h.Dir("auto"), g.Text(m.Value)), g.If(m.Pinned, g.Group{g.Text(" "), tag("warn", "pinned")}),
				h.Div(h.Class("faint"), h.Dir("auto"), g.Text(m.Content)),
			),
			g.Text(periodOf(m)),
			h.Div(
				personLink(m.Conversation, store.Person{ID: m.SpeakerID, Name: m.Speaker}), g.Text(" "),
				h.Span(h.Class("faint"), timeView(m.SaidAt), g.If(m.Confirmed > 1, g.Textf(", %d times", m.Confirmed))),
				g.Map(m.Sources[:min(len(m.Sources), shownSources)], func(seq int64) g.Node {
					return g.Group{g.Text(" "), messageLink(m.Conversation, seq)}
				}),
			),
		}
	})
}

// shownSources is how many messages a row of a table links.
const shownSources = 3

// periodOf says when a memory is, was or will be true, or when it happens: "since May 2022", "2019 to May 2022", "not before May 2027"; "" if
// nobody said.
func periodOf(m memory.Memory) string {
	since := memory.ShownPeriod(m.Since, chat.DateFormat)
	end := memory.ShownPeriod(m.End(), chat.DateFormat)
	switch {
	case since != "" && end == "" && m.Upcoming:
		return "not before " + since
	case since != "" && (since == end || end == "" && m.Kind == "event"):
		return since
	case since != "" && end != "":
		return since + " to " + end
	case end != "":
		return "until " + end
	case since != "":
		return "since " + since
	}
	return ""
}

// messagesOf shows the newest messages of a person.
func messagesOf(name string, a personAnswer) g.Node {
	if len(a.Namesakes) > 0 {
		return nil
	}
	view := g.Node(faint(g.Text("There are no messages of this person here.")))
	if len(a.Messages) > 0 {
		all := pageOf(name) + "/messages?by=" + url.QueryEscape(cmp.Or(a.ID, a.Name))
		view = g.Group{
			g.Map(a.Messages, func(m FoundMessage) g.Node { return messageView(name, m.Record, "") }),
			h.P(h.A(h.Href(all), g.Text("All messages of this person"))),
		}
	}
	return g.Group{h.H2(g.Text("Newest messages")), view}
}
