// The health of the bot. Each warning in the log is an incident, because the log has one warning per incident.

package web

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

type incidentEvent struct {
	Level      string            `json:"level" jsonschema:"warn, error; info: it is over"`
	Name       string            `json:"name" jsonschema:"as in docs/log-events.md"`
	Attributes map[string]string `json:"attributes,omitempty"`
	Time       time.Time         `json:"time"`
}

// recovered is the suffix of the log events that end an incident.
const recovered = "_recovered"

// incidents is a log handler that publishes incidents.
type incidents struct {
	events *Events
	attrs  []slog.Attr
}

// Incidents returns a handler that publishes warnings and errors before it passes them on.
func (e *Events) Incidents(to slog.Handler) slog.Handler {
	return slog.NewMultiHandler(incidents{events: e}, to)
}

func (incidents) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

func (h incidents) Handle(_ context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn && !strings.HasSuffix(r.Message, recovered) {
		return nil
	}
	i := incidentEvent{
		Level: strings.ToLower(r.Level.String()), Name: r.Message, Attributes: map[string]string{}, Time: r.Time.UTC(),
	}
	add := func(a slog.Attr) bool {
		if h.events.Mask != nil {
			a = h.events.Mask(nil, a)
		}
		i.Attributes[a.Key] = a.Value.String()
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	h.events.publish("incident", i.Attributes["conversation"], i)
	return nil
}

func (h incidents) WithAttrs(attrs []slog.Attr) slog.Handler {
	return incidents{h.events, slices.Concat(h.attrs, attrs)}
}

// WithGroup does not change the names of published attributes.
func (h incidents) WithGroup(string) slog.Handler { return h }

// keptIncidents limits the incidents on the health page.
const keptIncidents = 50

func (e *Events) incidents() []incidentEvent {
	all := keptOf[incidentEvent](e)
	slices.Reverse(all)
	return all[:min(len(all), keptIncidents)]
}

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
		h.H2(g.Text("Incidents since the start")),
	}
	incidents := v.endpoints.events.incidents()
	columns := []string{"When", "Where", "What"}
	list := table("list", columns, incidents, func(i incidentEvent) []g.Node {
		where := i.Attributes["conversation"]
		rest := maps.Clone(i.Attributes)
		delete(rest, "conversation")
		return []g.Node{
			timeView(i.Time),
			g.If(where != "", h.A(h.Href(pageOf(where)), g.Text(where))),
			h.Div(h.B(g.Text(i.Name)), g.Text(strings.TrimPrefix(fmt.Sprint(" ", rest), " map"))),
		}
	})
	if len(incidents) == 0 {
		list = faint(g.Text("None."))
	}
	state = append(state, list)
	return page{"Health", g.Group{heading("Health"), live("*", "/health", state)}, state}
}
