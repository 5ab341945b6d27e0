// API routes: the usage of models.

package web

import (
	"net/http"

	"cairn/channel"
	"cairn/store"
)

// usageAnswer has the usage of models, and the current budgets.
type usageAnswer struct {
	channel.UsageReport
	Count   int              `json:"count" jsonschema:"how many rows there are"`
	Budgets []channel.Budget `json:"budgets" jsonschema:"those that are set"`
}

func (s *Server) usage(w http.ResponseWriter, r *http.Request) error {
	p := paramsOf(r)
	by, from := p.oneOf("by", channel.UsageKeys[0], channel.UsageKeys), p.since()
	if p.err != nil {
		return p.err
	}
	day := ""
	if !from.IsZero() {
		day = store.Day(from)
	}
	used, err := s.o.Store.Usage(r.Context(), day)
	if err != nil {
		return err
	}
	money := s.o.Settings().Money()
	a := usageAnswer{UsageReport: channel.NewUsageReport(used, day, by, money.Prices), Budgets: []channel.Budget{}}
	a.Count = len(a.Rows)
	a.Rows = cut(p, a.Rows)
	a.Budgets = append(a.Budgets, s.operator.Budgets()...)
	return answerOr(w, a, p.err)
}
