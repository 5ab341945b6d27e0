// The log of the bot: its newest lines, as a route of the API and as a page that follows it.

package web

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// logLine is a line of the log.
type logLine struct {
	Level      string            `json:"level" jsonschema:"info, warn or error"`
	Name       string            `json:"name" jsonschema:"as in docs/log-events.md"`
	Attributes map[string]string `json:"attributes,omitempty"`
	Time       time.Time         `json:"time"`
}

// recovered is the suffix of the log events that end an incident.
const recovered = "_recovered"

// isIncident reports whether a line begins or ends an incident: the log has one warning per incident.
func (l logLine) isIncident() bool { return l.Level != "info" || strings.HasSuffix(l.Name, recovered) }

// keptLines is how many lines of the log are kept in memory.
const keptLines = 1000

// logHandler keeps the lines of the log, and publishes them.
type logHandler struct {
	events *Events
	attrs  []slog.Attr
}

// Logged returns a log handler that keeps and publishes lines before it passes them on.
func (e *Events) Logged(to slog.Handler) slog.Handler {
	return slog.NewMultiHandler(logHandler{events: e}, to)
}

func (logHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

func (h logHandler) Handle(_ context.Context, r slog.Record) error {
	l := logLine{Level: strings.ToLower(r.Level.String()), Name: r.Message, Attributes: map[string]string{}, Time: r.Time.UTC()}
	for _, a := range h.attrs {
		h.events.add(l.Attributes, "", a)
	}
	r.Attrs(func(a slog.Attr) bool {
		h.events.add(l.Attributes, "", a)
		return true
	})
	h.events.keepLine(l)
	if l.isIncident() {
		h.events.publish(kindIncident, l.Attributes["conversation"], l)
	} else {
		h.events.send(kindLog, l.Attributes["conversation"], l, false)
	}
	return nil
}

// add adds an attribute, masked; of a value that knows what belongs in the log, only that.
func (e *Events) add(to map[string]string, prefix string, a slog.Attr) {
	a.Value = a.Value.Resolve()
	if a.Value.Kind() == slog.KindGroup {
		for _, part := range a.Value.Group() {
			e.add(to, prefix+a.Key+".", part)
		}
		return
	}
	if e.Mask != nil {
		a = e.Mask(nil, a)
	}
	if text := a.Value.String(); text != "" {
		to[prefix+a.Key] = text
	}
}

func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.events, slices.Concat(h.attrs, attrs)}
}

// WithGroup does not change the names of published attributes.
func (h logHandler) WithGroup(string) slog.Handler { return h }

func (e *Events) keepLine(l logLine) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lines = append(e.lines[max(len(e.lines)-keptLines+1, 0):], l)
}

// linesOf returns the kept lines that match, newest first.
func (e *Events) linesOf(matches func(logLine) bool) (found []logLine) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, l := range slices.Backward(e.lines) {
		if matches(l) {
			found = append(found, l)
		}
	}
	return found
}

// incidents returns the newest incidents, newest first.
func (e *Events) incidents() []logLine {
	all := e.linesOf(logLine.isIncident)
	return all[:min(len(all), keptIncidents)]
}

// keptIncidents limits the incidents on the health page.
const keptIncidents = 50

// logLevels are the levels of lines, the least serious first.
var logLevels = []string{"info", "warn", "error"}

type logList struct {
	Lines []logLine `json:"lines" jsonschema:"newest first"`
	Total int       `json:"total" jsonschema:"how many of the lines in memory match"`
}

func (e *Events) routes() []route {
	return []route{read("/api/log", "The newest lines of the log, of this process, newest first: as many as it has in memory", e.list,
		param{name: "level", text: "only lines at least as serious", words: logLevels},
		param{name: "q", text: "only lines with this text in their name or attributes"},
		param{name: "conversation", text: "only lines about this conversation, by name"}, limitParam, offsetParam)}
}

func (e *Events) list(r *request) (logList, error) {
	least := max(slices.Index(logLevels, r.Get("level")), 0)
	text := strings.ToLower(r.Get("q"))
	found := e.linesOf(func(l logLine) bool {
		of := r.Get("conversation")
		return slices.Index(logLevels, l.Level) >= least && (of == "" || of == l.Attributes["conversation"]) && l.has(text)
	})
	return logList{listOf(cut(r, found)), len(found)}, nil
}

// has reports whether a line contains a lower-case text.
func (l logLine) has(text string) bool {
	if strings.Contains(l.Name, text) {
		return true
	}
	for key, value := range l.Attributes {
		if strings.Contains(strings.ToLower(key+"="+value), text) {
			return true
		}
	}
	return false
}

func logPage(v *visit) page {
	list := ask(v, v.endpoints.events.list)
	view := g.Group{
		logTable(list.Lines),
		g.If(list.Total == 0, faint(g.Text("No line matches. The log begins with the start of the bot."))),
		v.pager(list.Total),
	}
	level := cmp.Or(v.Get("level"), logLevels[0])
	return page{"Log", g.Group{
		heading("Log"),
		searchForm(
			searchBox(v.Get("q"), "Text"),
			choose("Level", "level", g.Map(logLevels, func(one string) g.Node {
				words := map[string]string{"info": "all lines", "warn": "warnings and errors", "error": "errors"}
				return h.Option(h.Value(one), g.If(one == level, h.Selected()), g.Text(words[one]))
			})),
			textField("Conversation", "conversation", v.Get("conversation"), 16),
			button("", "Show"),
		),
		live("log", v.URL.RequestURI(), view),
	}, view}
}

// logTable shows lines of the log.
func logTable(lines []logLine) g.Node {
	if len(lines) == 0 {
		return nil
	}
	return table("list log", []string{"When", "Level", "What"}, lines, func(l logLine) []g.Node {
		where := l.Attributes["conversation"]
		rest := maps.Clone(l.Attributes)
		delete(rest, "conversation")
		keys := slices.Sorted(maps.Keys(rest))
		class := map[string]string{"warn": "warn", "error": "bad"}[l.Level]
		return []g.Node{
			secondView(l.Time),
			tag(class, l.Level),
			h.Div(
				h.B(g.Text(l.Name)),
				g.If(where != "", g.Group{g.Text(" "), h.A(h.Href(pageOf(where)), g.Text(where))}),
				g.Map(keys, func(key string) g.Node {
					return g.Group{g.Text(" "), h.Span(h.Class("faint"), g.Text(key+"=")), h.Span(h.Dir("auto"), g.Text(rest[key]))}
				}),
			),
		}
	})
}
