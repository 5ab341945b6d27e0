// The pages of all conversations and of one.

package web

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/channel"
	"cairn/chat"
	"cairn/config"
	"cairn/internal/chart"
	"cairn/llm/prices"
	"cairn/simulate"
	"cairn/store"
)

const pageSize = 50

func conversationsPage(v *visit) page {
	q := v.Get("q")
	list := ask(v, v.endpoints.conversations.list)
	columns := []string{"Conversation", "Window", "#Messages", "Newest", "State"}
	all := g.Node(g.Group{
		table("list", columns, list.Conversations, func(c listedConversation) []g.Node {
			full := percentOf(c.Used, c.Max)
			newest := h.Span(h.Class("faint"), g.Text("never"))
			if !c.Last.IsZero() {
				newest = timeView(c.Last)
			}
			return []g.Node{
				g.Group{
					h.A(h.Href(pageOf(c.Channel)), h.Dir("auto"), g.Text(cmp.Or(c.Name, c.Channel))),
					g.If(c.Name != "", g.Group{h.Br(), h.Span(h.Class("faint"), g.Text(c.Channel))}),
				},
				h.Span(h.Class("fill"), bar("how full the window is", full), g.Textf(" %.0f %%", full)),
				grouped(c.Messages),
				newest,
				g.Group{
					g.If(c.State != "idle", tag(map[string]string{"paused": "warn"}[c.State], c.State)),
					g.If(c.CannotWrite != "", h.Span(h.Title(c.CannotWrite), tag("warn", "may not write"))),
				},
			}
		}),
		faint(grouped(list.Total), g.Text(" in all")),
		v.pager(list.Total),
	})
	if list.Total == 0 {
		all = h.P(
			g.Text("There is no such conversation yet. Talk to the bot in Discord, in Slack, or "),
			h.A(h.Href("/chat"), g.Text("here")), g.Text("."),
		)
	}
	return page{"Conversations", g.Group{
		heading("Conversations", searchForm(searchBox(q, "Search names"), button("", "Search"))),
		live("conversations", v.URL.RequestURI(), all),
	}, all}
}

// tab returns a page of a conversation; a chat in which nobody has written yet has an empty one.
func tab(name string, show func(*visit) page) func(*visit) page {
	return func(v *visit) page {
		conversation := v.name()
		p := page{content: h.P(g.Text("There are no messages here yet."))}
		called := conversation
		err := v.enter(conversation)
		if err == nil {
			p = show(v)
			called, err = v.conversation.Transcript().Called(v.Context())
		}
		if !unspoken(conversation, err) {
			v.fail(err)
		}
		head := heading(called, g.If(called != conversation, h.Span(h.Class("faint"), g.Text(conversation))), conversationTabs(conversation, name))
		return page{name + " · " + called, g.Group{head, p.content}, p.part}
	}
}

// conversationTabs link the pages of a conversation; selected is the name of the current one.
func conversationTabs(name, selected string) g.Node {
	chat, isChat := strings.CutPrefix(name, config.WebName+":")
	link := func(name, href string) g.Node {
		return g.Group{h.A(h.Href(href), current(name == selected), g.Text(name)), g.Text(" ")}
	}
	return h.Nav(
		h.Class("tabs"), h.Aria("label", "This conversation"),
		link("Overview", pageOf(name)),
		link("Messages", pageOf(name)+"/messages"),
		link("People", pageOf(name)+"/people"),
		link("Memories", "/memories?conversation="+url.QueryEscape(name)),
		link("Settings", pageOf(name)+"/settings"),
		g.If(isChat, link("Chat", chatPageOf(chat))),
	)
}

func overview(v *visit) page {
	within := rangeOf(v.Values)
	name := v.name()
	d := ask(v, v.endpoints.conversations.show)
	past := ask(v, v.endpoints.conversations.history)
	tasks := ask(v, listTasks)
	_, policy, err := policyOf(v.Context(), v.endpoints.operator, v.conversation)
	v.fail(err)
	summaries := g.Node(faint(g.Text("Nothing has been summarized yet: the model sees every message verbatim.")))
	if stack := append(d.Past.Earlier, d.Stack...); len(stack) > 0 {
		summaries = summariesView(name, stack)
	}
	state := g.Group{
		cardsView(d),
		v.pausedView(name),
		g.If(d.CannotWrite != "", warning(d.CannotWrite)),
		g.Iff(d.Running != "", func() g.Node {
			return note(h.Span(h.Class("spinner"), h.Aria("hidden", "true")), g.Text(" "+d.Running))
		}),
		approvalsView(name, d.Approvals),
		g.If(d.Paused != "", warning(d.Paused)),
		g.If(d.Last != "", note(g.Text("Last: "+d.Last))),
		g.If(d.Ready != "", note(g.Text("Ready: "+d.Ready))),
		figure(chart.Sawtooth{
			Title:  "Tokens of the next request, over the messages",
			First:  within.From,
			Last:   within.To,
			Panels: []chart.Panel{panelOf(d, past, simulate.LevelsOf(policy, d.Max))},
			Desc:   fmt.Sprintf("%d of %d tokens are used now; summaries were applied %s", d.Used, d.Max, stepsIn(past.Compactions, within)),
		}),
		g.If(len(past.Compactions) > 0, faint(g.Text("Summaries were applied "+stepsIn(past.Compactions, within)+"."))),
		searchForm(rangeFields(within), button("", "Show in the chart")),
		composition(d),
		tasksView(tasks.Tasks),
		h.H2(g.Text("Summaries at the top of the prompt")),
		summaries,
	}
	return page{content: g.Group{live(name, v.URL.RequestURI(), state), actionsView(name, d)}, part: state}
}

// stepsIn says how often summaries were applied in a range, by what caused it: the parts add up.
func stepsIn(all []store.AppliedStep, within messageRange) string {
	total := 0
	by := map[string]int{}
	for _, step := range all {
		if !within.has(step.Next - 1) {
			continue
		}
		total++
		by[step.Trigger]++
	}
	text := chat.Counted(total, "time", "times")
	var parts []string
	for _, trigger := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, fmt.Sprintf("%d %s", by[trigger], trigger))
	}
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, " + ")
	}
	return text
}

func actionsView(name string, d conversationAnswer) g.Node {
	action := func(action, label, done string) g.Node {
		return g.Group{commandForm(name, action, done, button("", label)), g.Text(" ")}
	}
	return h.Section(
		h.Class("actions"), h.Aria("label", "Actions"),
		commandForm(
			name, "compact", "The older messages are summarized. The conversation goes on.", h.Class("wide"),
			h.Label(g.Text("Focus "), h.Input(h.Name("focus"), h.MaxLength("500"), h.Placeholder("what to keep in detail (optional)"))),
			button("main", "Compact now"),
		),
		action("undo", "Undo the latest compaction", "Undone."),
		action("new", "New session", "A new session. The earlier messages are summarized in the background; nothing is lost."),
		action("pause", "Pause answers", "The bot is paused here until it is resumed. Messages are still saved."),
		g.If(len(d.Models) > 0, commandForm(
			name, "model", "It answers from the next message on.",
			h.Label(g.Text("Model "), h.Select(h.Name("name"), options(d.Models, d.Choice))), g.Text(" "), button("", "Choose"),
		)),
	)
}

func cardsView(d conversationAnswer) g.Node {
	card := func(name string, value g.Node, more ...g.Node) g.Node {
		return h.Div(h.Class("card"), h.Span(h.Class("faint"), g.Text(name)), value, g.Group(more))
	}
	next, _, _ := strings.Cut(d.Next, " ")
	messages := thousands(d.Verbatim) + " verbatim"
	if d.InPart > 0 {
		messages += fmt.Sprintf(", %d shortened", d.InPart)
	}
	model := "agent " + d.Agent
	if d.Usage != nil {
		model += fmt.Sprintf(", %s so far", prices.Exact(d.Usage.Total.Cost))
	}
	if d.ChosenBy != "" {
		model += ", chosen by " + d.ChosenBy
	}
	fallback := ""
	if d.Fallback != nil {
		fallback = d.Fallback.String()
	}
	return h.Div(
		h.Class("cards"),
		card("Window", h.Strong(g.Textf("%.1f %%", d.UsedPct)), h.Span(g.Text(thousands(d.Used)+" of "+thousands(d.Max)+" tokens")),
			bar("how full the window is", percentOf(d.Used, d.Max))),
		card("Next", h.Strong(g.Text(next)), h.Span(g.Text(d.Next))),
		card("Messages", h.Strong(grouped(d.Messages)), h.Span(g.Text(messages))),
		card("Model", h.Strong(h.Class("small"), g.Text(d.Model)), h.Span(g.Text(model)), g.If(fallback != "", h.Span(g.Text(fallback)))),
	)
}

func tasksView(all []channel.Task) g.Node {
	if len(all) == 0 {
		return nil
	}
	columns := []string{"Task", "Agent", "State", "#Messages", "What to do"}
	return g.Group{
		h.H2(g.Text("Tasks of other agents")),
		table("list tasks", columns, all, func(t channel.Task) []g.Node {
			return []g.Node{
				h.A(h.Href(pageOf(t.Conversation)), g.Text(strconv.FormatInt(t.Number, 10))),
				g.Text(t.Agent),
				tag("", string(t.State)),
				grouped(t.Messages),
				h.Span(h.Dir("auto"), g.Text(cmp.Or(t.Text, "(deleted)"))),
			}
		}),
	}
}

func figure(drawn chart.Sawtooth) g.Node {
	return h.Figure(g.Raw(drawn.SVG())) // the chart escapes its input
}

func panelOf(d conversationAnswer, h historyAnswer, levels []chart.Level) chart.Panel {
	panel := chart.Panel{Window: d.Max, Levels: levels}
	for _, u := range h.Used {
		panel.Points = append(panel.Points, chart.Point{At: u.Seq, Used: u.Tokens})
	}
	for _, c := range h.Compactions { // the line falls at the last message before it
		panel.Marks = append(panel.Marks, chart.Mark{
			At: c.Next - 1, Kind: c.Trigger,
			Tip: fmt.Sprintf("%s: #%d to #%d, %d → %d tokens, %s", c.Trigger, c.From, c.To, c.BeforeTokens, c.AfterTokens, day(c.Time)),
		})
	}
	return panel
}

// composition shows what fills the window.
func composition(d conversationAnswer) g.Node {
	type part struct {
		name   string
		tokens int
	}
	parts := []part{
		{"prompt and tools", d.Parts.Frame},
		{"summaries and pins", d.Parts.Head},
		{"messages", d.Parts.Verbatim},
		{"reserved for the reply", d.Parts.Reserve},
		{"free", max(d.Max-d.Used, 0)},
	}
	return table("figures", []string{"What fills the window", "Share", "#Tokens"}, parts, func(p part) []g.Node {
		share := percentOf(p.tokens, max(d.Max, d.Used))
		return []g.Node{g.Text(p.name), g.Group{g.Textf("%.0f %% ", share), bar("share of the window", share)}, grouped(p.tokens)}
	})
}
