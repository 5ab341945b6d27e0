// API routes: which bot this is, and the models of its servers.

package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
)

// Bot is what a program beside the bot recognizes it by.
type Bot struct {
	Version  string `json:"version"`
	Database string `json:"database,omitempty" jsonschema:"a mark of its database: the same for all programs of one machine that use it"`
}

// noPath and noParameter begin the problems of a request that nothing handles, and of a parameter that a route does not have.
const (
	noPath      = "There is nothing at this path."
	noParameter = "There is no parameter "
)

// OtherVersion reports whether an error shows that the bot does not know a request or a parameter: it is of another version.
func OtherVersion(err error) bool {
	p, ok := errors.AsType[*Problem](err)
	return ok && (p.Status == http.StatusNotFound && strings.HasPrefix(p.Detail, noPath) || p.Status == http.StatusBadRequest && strings.HasPrefix(p.Detail, noParameter))
}

// Offered has the models of the configured servers.
type Offered struct {
	Models   []OfferedModel `json:"models"`
	Problems []string       `json:"problems" jsonschema:"of servers that did not answer, one each"`
}

// OfferedModel is a model that a server offers.
type OfferedModel struct {
	Model   string   `json:"model"`  // as written in the settings
	Server  string   `json:"server"` // its address
	Wire    string   `json:"wire"`
	Window  int      `json:"window,omitempty"` // tokens; 0: the server does not say
	Tools   string   `json:"tools,omitempty"`  // "yes", "no"; empty: the server does not say
	Images  string   `json:"vision,omitempty"` // as Tools
	Used    []string `json:"used,omitempty"`   // "agent cairn", "summaries of cairn"
	Default bool     `json:"default"`          // used if the settings name no model
}

type models struct {
	list     func(ctx context.Context) (Offered, error)
	version  string
	database string
}

func (m *models) routes() []route {
	models := read("/api/models", "The models that the configured servers offer, and which are used", m.offered)
	models.slow = true // a server may not answer
	models.statuses = append(models.statuses, http.StatusUnprocessableEntity)
	return []route{
		read("/api/bot", "Which bot this is", func(*request) (Bot, error) { return Bot{m.version, m.database}, nil }),
		models,
	}
}

func (m *models) offered(r *request) (all Offered, err error) {
	if m.list == nil {
		return all, problem(http.StatusNotFound, "This process knows no servers.")
	}
	all, err = m.list(r.Context())
	if err != nil {
		return all, invalid("%v", err)
	}
	return Offered{listOf(all.Models), listOf(all.Problems)}, nil
}
