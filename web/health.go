// The health of the bot.

package web

import (
	"cmp"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

func healthPage(v *visit) page {
	ok := true
	parts := []Part{}
	if v.ready != nil {
		ok, parts = v.ready(v.Context())
	}
	class := map[bool]string{true: "good", false: "bad"}
	state := g.Group{
		h.P(h.Class("state "+class[ok]), g.Text(map[bool]string{true: "All is well.", false: "Something is wrong."}[ok])),
		h.Ul(h.Class("parts"), g.Map(parts, func(p Part) g.Node {
			return h.Li(h.Class(class[p.OK]), h.B(g.Text(p.Part)), g.Text(" "+cmp.Or(p.Why, "well")))
		})),
		h.H2(g.Text("Warnings and errors since the start")),
		h.P(h.A(h.Href("/log"), g.Text("The whole log"))),
	}
	list := logTable(v.endpoints.events.incidents())
	if list == nil {
		list = faint(g.Text("None."))
	}
	state = append(state, list)
	return page{"Health", g.Group{heading("Health"), live("*", "/health", state)}, state}
}
