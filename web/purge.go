// API routes: what is stored of a person, a conversation or a server, and its deletion.

package web

import (
	"errors"
	"net/http"

	"cairn/channel"
	"cairn/privacy"
	"cairn/store"
)

// Selected is what to delete: one of the three.
type Selected struct {
	User         string `json:"user,omitempty" jsonschema:"a person, by name or id: Ada, discord:ID"`
	Conversation string `json:"conversation,omitempty" jsonschema:"a conversation, by its full name"`
	Server       string `json:"server,omitempty" jsonschema:"all conversations of a server, as discord:ID"`
}

// Purged is what is stored of a selection, or was.
type Purged struct {
	User     *store.Person    `json:"user,omitempty" jsonschema:"the person; absent: whole conversations"`
	Channels privacy.Holdings `json:"channels"`
	Messages int              `json:"messages"`
	Memories int              `json:"memories"`
	Deleted  bool             `json:"deleted" jsonschema:"false: nothing was deleted"`
}

// PurgedOf returns what a plan selects.
func PurgedOf(p privacy.Plan) Purged {
	total := p.Holdings.Total()
	return Purged{User: p.User, Channels: p.Holdings, Messages: total.Messages, Memories: total.Memories}
}

const purgePath = "/api/purge"

// purges handles requests to delete.
type purges struct {
	hub   *channel.Hub
	store *store.Store
}

func (p *purges) routes() []route {
	purge := send("POST "+purgePath, "Permanently delete everything of a person, a conversation or a server; the files are rewritten within 24 hours. "+
		"If the request ends early, another one continues", p.purge, http.StatusOK, http.StatusConflict, http.StatusUnprocessableEntity)
	purge.slow = true
	return []route{
		read(purgePath, "What is stored of a person, a conversation or a server: what would be deleted", p.holdings,
			param{name: "user", text: "a person, by name or id: Ada, discord:ID"},
			param{name: "conversation", text: "a conversation, by its full name"},
			param{name: "server", text: "all conversations of a server, as discord:ID"}),
		purge,
	}
}

func (p *purges) holdings(r *request) (Purged, error) {
	plan, err := p.plan(r, Selected{r.Get("user"), r.Get("conversation"), r.Get("server")})
	return PurgedOf(plan), err
}

func (p *purges) plan(r *request, s Selected) (plan privacy.Plan, err error) {
	set := 0
	for _, one := range []string{s.User, s.Conversation, s.Server} {
		if one != "" {
			set++
		}
	}
	if set != 1 {
		return plan, invalid("Name one of user, conversation and server.")
	}
	plan, err = privacy.In(p.store).Select(r.Context(), privacy.Selection(s))
	if several, is := errors.AsType[*privacy.SeveralError](err); is {
		return plan, problem(http.StatusConflict, "%v: name one by its id, as %s:%s.", several, several.People[0].Connector, several.People[0].ID)
	}
	return plan, err
}

func (p *purges) purge(r *request, s Selected) (done Purged, err error) {
	plan, err := p.plan(r, s)
	if err != nil {
		return done, err
	}
	if plan.User != nil {
		err = channel.ErasePerson(r.Context(), p.hub, *plan.User, plan.In)
	} else {
		for _, c := range plan.In {
			err = channel.PurgeConversation(r.Context(), p.hub, c)
			if err != nil {
				break
			}
		}
	}
	done = PurgedOf(plan)
	done.Deleted = true
	return done, err
}
