// The routes of the HTTP API, and what handles them.

package web

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"cairn/channel"
	"cairn/store"
)

// endpoints handle the requests to the HTTP API. Pages show what they answer.
type endpoints struct {
	conversations *conversations
	actions       *actions
	chats         *chats
	rooms         *rooms
	terminals     *terminals
	policies      *policies
	simulator     *simulator
	memories      *memories
	expenses      *expenses
	connectors    *connectors
	tools         *tools
	imports       *imports
	purges        *purges
	models        *models

	store    *store.Store
	operator channel.Operator
	events   *Events
	version  string
	gate     *gate
}

func newEndpoints(o Options, gate *gate) *endpoints {
	operator := o.Hub.Operator()
	terminals := newTerminalEndpoints(o)
	return &endpoints{
		conversations: &conversations{hub: o.Hub, operator: operator, store: o.Store, settings: o.Settings},
		actions:       &actions{operator: operator},
		chats:         &chats{hub: o.Hub, settings: o.Settings, files: o.Files, log: o.Log, terminals: terminals},
		rooms:         &rooms{store: o.Store, events: o.Events},
		terminals:     terminals,
		policies:      &policies{operator: operator, events: o.Events},
		simulator:     &simulator{operator: operator, store: o.Store, settings: o.Settings, running: make(chan struct{}, 1)},
		memories:      &memories{store: o.Store, events: o.Events},
		expenses:      &expenses{operator: operator, store: o.Store, settings: o.Settings},
		connectors:    &connectors{of: o.Connectors, events: o.Events},
		tools:         &tools{box: o.Tools, operator: operator},
		imports:       &imports{hub: o.Hub, store: o.Store},
		purges:        &purges{hub: o.Hub, store: o.Store, events: o.Events},
		models:        &models{list: o.Models, version: o.Version, database: o.Database},
		store:         o.Store,
		operator:      operator,
		events:        o.Events,
		version:       o.Version,
		gate:          gate,
	}
}

// register registers the routes.
func (e *endpoints) register(t *router) {
	for _, r := range e.routes() {
		serve := t.handle
		if r.slow || r.events != nil || r.file != nil {
			serve = t.stream
		}
		if r.owned {
			serve = func(pattern string, h handler) { t.stream(pattern, t.byOwner(h, true)) }
		}
		serve(r.pattern, func(w http.ResponseWriter, req *http.Request) error {
			q, err := requestOf(req, r.query)
			if err != nil {
				return err
			}
			if r.events != nil {
				return r.events(w, req)
			}
			if name := q.PathValue("conversation"); name != "" && !r.fresh {
				q.conversation, err = findConversation(q.Context(), e.store, name)
				if err != nil {
					return err
				}
			}
			if r.file != nil {
				return r.file(w, q)
			}
			answer, err := r.handle(q)
			if err != nil {
				return err
			}
			if status := cmp.Or(q.status, r.statuses[0]); status == http.StatusNoContent {
				w.WriteHeader(status)
			} else {
				writeJSON(w, status, "application/json", answer)
			}
			return nil
		})
	}
}

const (
	conversationPath = "/api/conversations/{conversation}"
	memoriesPath     = "/api/memories"
)

// routes returns the routes of the API. Without endpoints it returns them for their types.
func (e *endpoints) routes() []route {
	return slices.Concat(
		e.conversations.routes(), e.actions.routes(), e.chats.routes(), e.rooms.routes(), e.terminals.routes(), e.policies.routes(), e.memories.routes(),
		e.simulator.routes(), e.expenses.routes(),
		e.events.routes(), e.connectors.routes(), e.tools.routes(), e.imports.routes(), e.purges.routes(), e.models.routes(),
		[]route{
			{pattern: "GET /api/events", summary: "Events as they happen, as server-sent events", events: e.events.serve, query: []param{
				{name: "conversation", text: "only those of this conversation, by name"},
				{name: "Last-Event-ID", in: "header", text: "resume after this event"},
				{name: "attends", text: "somebody answers questions here about calls of tools in this conversation; \"terminal:\": in all of terminals"},
				{name: "kinds", text: "only these, separated by commas: " + strings.Join(allKinds, ", ") + "; all but log, if it is missing"},
			}},
			read("/api/openapi.json", "This description", e.openAPI),
		},
	)
}
