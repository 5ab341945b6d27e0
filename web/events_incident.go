// Incidents: each warning in the log is an incident, because the log has one warning per incident.

package web

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"
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
	i := incidentEvent{Level: strings.ToLower(r.Level.String()), Name: r.Message, Attributes: map[string]string{}, Time: r.Time.UTC()}
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
