// Tools of other programs: the servers that have them, and the calls that wait for permission.

package web

import (
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/channel"
	"cairn/llm"
)

// tools handles requests about the tools of other programs.
type tools struct {
	box      channel.Toolbox // nil: there are none
	operator channel.Operator
}

type toolList struct {
	Servers []toolServer       `json:"servers"`
	Waiting []channel.Approval `json:"waiting" jsonschema:"calls that wait to be allowed, the oldest first"`
}

type toolServer struct {
	ID      string     `json:"id"`
	Problem string     `json:"problem,omitempty" jsonschema:"why it cannot be reached; absent: it can"`
	Tools   []toolText `json:"tools" jsonschema:"that may be called"`
}

type toolText struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Approve     string `json:"approve" jsonschema:"when people must approve a call: never, first or always"`
}

func (t *tools) routes() []route {
	return []route{read("/api/tools", "The servers with tools, what they offer, and the calls that wait to be allowed anywhere", t.list)}
}

func (t *tools) list(*request) (toolList, error) {
	list := toolList{Servers: []toolServer{}, Waiting: listOf(t.operator.Approvals(""))}
	if t.box == nil {
		return list, nil
	}
	for _, s := range t.box.Servers() {
		of := t.box.Tools([]string{s.ID})
		list.Servers = append(list.Servers, toolServer{s.ID, s.Problem, each(of, func(tool llm.Tool) toolText {
			approve := tool.Approve
			if approve == "" {
				approve = channel.ApproveNever
			}
			return toolText{tool.Name, tool.Description, approve}
		})})
	}
	return list, nil
}

func toolsPage(v *visit) page {
	list := ask(v, v.endpoints.tools.list)
	waiting := g.Node(faint(g.Text("No call waits to be allowed.")))
	if len(list.Waiting) > 0 {
		waiting = g.Map(list.Waiting, func(a channel.Approval) g.Node {
			return g.Group{
				h.P(h.A(h.Href(pageOf(a.Conversation)), h.Dir("auto"), g.Text(a.Conversation)), g.Text(" "), timeView(a.Asked)),
				approvalsView(a.Conversation, []channel.Approval{a}),
			}
		})
	}
	servers := g.Node(h.P(g.Text("No server with tools is connected. docs/tools.md says how to connect one.")))
	if len(list.Servers) > 0 {
		servers = g.Map(list.Servers, toolServerView)
	}
	view := g.Group{h.H2(g.Text("Calls that wait")), waiting, h.H2(g.Text("Servers")), servers}
	return page{"Tools", g.Group{heading("Tools"), live("*", "/tools", view)}, view}
}

func toolServerView(s toolServer) g.Node {
	words := map[string]string{channel.ApproveNever: "no", channel.ApproveFirst: "the first call in a conversation", channel.ApproveAlways: "each call"}
	view := g.Group{h.H3(g.Text(s.ID)), g.If(s.Problem != "", warning(s.Problem))}
	if len(s.Tools) == 0 {
		return append(view, faint(g.Text("It offers no tool that may be called.")))
	}
	return append(view, table("list", []string{"Tool", "What it does", "Is a person asked?"}, s.Tools, func(t toolText) []g.Node {
		return []g.Node{h.Code(g.Text(t.Name)), h.Span(h.Dir("auto"), g.Text(t.Description)), g.Text(words[t.Approve])}
	}))
}
