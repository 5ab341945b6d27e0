// The page of the bot's health.

package web

import (
	"cmp"
	"fmt"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

func healthPage(v *visit) error {
	ok, parts := true, []Part{}
	if v.s.o.Ready != nil {
		ok, parts = v.s.o.Ready(v.Context())
	}
	state := healthView(ok, parts, v.s.o.Events.incidents())
	return v.show("Health", map[string]g.Node{"live": state}, heading("Health"), live("*", "/health", state))
}

func healthView(ok bool, parts []Part, incidents []incidentEvent) g.Node {
	state := h.P(h.Class("state bad"), g.Text("Something is wrong."))
	if ok {
		state = h.P(h.Class("state good"), g.Text("All is well."))
	}
	view := g.Group{
		state,
		h.Ul(h.Class("parts"), g.Map(parts, func(p Part) g.Node {
			class := "bad"
			if p.OK {
				class = "good"
			}
			return h.Li(h.Class(class), h.B(g.Text(p.Part)), g.Text(" "+cmp.Or(p.Why, "well")))
		})),
		h.H2(g.Text("Incidents since the start")),
	}
	if len(incidents) == 0 {
		return append(view, faint(g.Text("None.")))
	}
	columns := []column{{Name: "When"}, {Name: "Where"}, {Name: "What"}}
	return append(view, table("list", columns, incidents, func(i incidentEvent) []g.Node {
		where := i.Attributes["conversation"]
		delete(i.Attributes, "conversation")
		return []g.Node{
			timeView(i.Time),
			g.If(where != "", h.A(h.Href(pageOf(where)), g.Text(where))),
			h.Div(h.B(g.Text(i.Name)), g.Text(strings.TrimPrefix(fmt.Sprint(" ", i.Attributes), " map"))),
		}
	}))
}
