// The connectors to platforms: their state, and what the platforms say of the bot's permissions.

package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/chat"
)

// Connectors is what the server asks of the bot about its connectors to platforms.
type Connectors interface {
	// States returns the state of each.
	States() []ConnectorState
	// Check asks the platform of one about the bot's token and permissions; it takes seconds. Facts that start with
	// "warning: " want a person.
	Check(ctx context.Context, name string) (facts []string, err error)
}

// ConnectorState is the state of a connector.
type ConnectorState struct {
	Name string `json:"name"`
	OK   bool   `json:"ok" jsonschema:"it is connected, or another process is in its place"`
	Why  string `json:"why,omitempty" jsonschema:"what is wrong, or who is in its place"`

	Heard time.Time     `json:"heard,omitzero" jsonschema:"when the newest message since the start arrived"`
	Delay time.Duration `json:"-"` // from when that was written until it arrived
}

// connectorAnswer is a connector with the newest thing that went wrong there.
type connectorAnswer struct {
	ConnectorState
	Delay   float64  `json:"delay_seconds,omitempty" jsonschema:"from when the newest message was written until it arrived"`
	Trouble *logLine `json:"trouble,omitempty" jsonschema:"its newest warning or error in the log; absent: there was none"`
}

type connectorList struct {
	Connectors []connectorAnswer `json:"connectors"`
}

type checkAnswer struct {
	Facts   []string `json:"facts"`
	Problem string   `json:"problem,omitempty" jsonschema:"why the bot would not open; absent: it would"`
}

// connectors handles requests about connectors.
type connectors struct {
	of     Connectors // nil: there are none
	events *Events
}

func (c *connectors) routes() []route {
	check := read("/api/connectors/{connector}/check", "Ask its platform about the bot's token and permissions, which takes seconds", c.check)
	check.slow = true
	return []route{read("/api/connectors", "The connectors to platforms", c.list), check}
}

func (c *connectors) list(*request) (connectorList, error) {
	list := connectorList{Connectors: []connectorAnswer{}}
	if c.of == nil {
		return list, nil
	}
	for _, state := range c.of.States() {
		answer := connectorAnswer{ConnectorState: state, Delay: state.Delay.Seconds()}
		troubles := c.events.linesOf(func(l logLine) bool { return l.Level != "info" && l.Attributes["connector"] == state.Name })
		if len(troubles) > 0 {
			answer.Trouble = &troubles[0]
		}
		list.Connectors = append(list.Connectors, answer)
	}
	return list, nil
}

func (c *connectors) check(r *request) (a checkAnswer, err error) {
	name := r.PathValue("connector")
	if c.of == nil || !slices.ContainsFunc(c.of.States(), func(s ConnectorState) bool { return s.Name == name }) {
		return a, problem(http.StatusNotFound, "There is no connector with that name.")
	}
	facts, err := c.of.Check(r.Context(), name)
	a.Facts = listOf(facts)
	if err != nil {
		a.Problem = err.Error()
	}
	return a, nil
}

func connectorsPage(v *visit) page {
	list := ask(v, v.endpoints.connectors.list)
	view := g.Group{table("list", []string{"Connector", "State", "Newest message", "Newest trouble"}, list.Connectors, func(c connectorAnswer) []g.Node {
		return []g.Node{h.B(g.Text(c.Name)), connectorStateView(c), heardView(c), troubleView(c)}
	})}
	if len(list.Connectors) == 0 {
		view = g.Group{h.P(g.Text("This bot is connected to no platform. "), h.Code(g.Text("cairn setup")), g.Text(" connects it to Discord or Slack."))}
	}
	checks := g.Map(list.Connectors, func(c connectorAnswer) g.Node {
		return h.Details(
			h.Data("src", "/connectors/"+url.PathEscape(c.Name)+"/check"),
			h.Summary(g.Textf("Ask %s about the bot's permissions", c.Name)),
			faint(g.Text("Asking…")),
		)
	})
	return page{"Connectors", g.Group{heading("Connectors"), live("*", "/connectors", view), checks}, view}
}

func connectorStateView(c connectorAnswer) g.Node {
	if c.OK {
		return g.Group{tag("good", "connected"), g.If(c.Why != "", g.Text(" "+c.Why))}
	}
	return g.Group{tag("bad", "not connected"), g.Text(" " + c.Why)}
}

func heardView(c connectorAnswer) g.Node {
	if c.Heard.IsZero() {
		return faint(g.Text("none since the start"))
	}
	return g.Group{secondView(c.Heard), h.Div(h.Class("faint"), g.Text(delayIn(c.ConnectorState.Delay)))}
}

// delayIn says how long a message was on its way.
func delayIn(d time.Duration) string {
	if d < time.Second {
		return "arrived within a second"
	}
	return "arrived " + chat.Counted(int(d.Seconds()), "second", "seconds") + " after it was written"
}

func troubleView(c connectorAnswer) g.Node {
	if c.Trouble == nil {
		return faint(g.Text("none"))
	}
	return g.Group{
		secondView(c.Trouble.Time), g.Text(" "), h.A(h.Href("/log?level=warn&q="+url.QueryEscape("connector="+c.Name)), g.Text(c.Trouble.Name)),
		h.Div(h.Class("faint"), h.Dir("auto"), g.Text(c.Trouble.Attributes["error"])),
	}
}

// checkConnector shows what a platform says of the bot.
func (d *dashboard) checkConnector(w http.ResponseWriter, r *http.Request) error {
	a, err := d.endpoints.connectors.check(&request{Request: r, Values: r.URL.Query()})
	if err != nil {
		return err
	}
	return writePage(w, http.StatusOK, g.Group{
		g.If(a.Problem != "", warning(a.Problem)),
		h.Ul(g.Map(a.Facts, func(fact string) g.Node {
			text, isWarning := strings.CutPrefix(fact, "warning: ")
			return h.Li(h.Dir("auto"), g.If(isWarning, g.Group{tag("warn", "warning"), g.Text(" ")}), g.Text(text))
		})),
		g.If(len(a.Facts) == 0 && a.Problem == "", faint(g.Text(fmt.Sprintf("%s has nothing to say.", r.PathValue("connector"))))),
	})
}
