// API routes: the usage of models.

package web

import (
	"cairn/channel"
	"cairn/store"
)

// usageAnswer has the usage of models, and the current budgets.
type usageAnswer struct {
	channel.UsageReport
	Count   int              `json:"count" jsonschema:"how many rows there are"`
	Budgets []channel.Budget `json:"budgets" jsonschema:"those that are set"`
}

func (s *Server) usage(r *request) (any, error) {
	by, from := r.oneOf("by", channel.UsageKeys[0], channel.UsageKeys), r.since()
	day := ""
	if !from.IsZero() {
		day = store.Day(from)
	}
	used, err := s.o.Store.Usage(r.Context(), day)
	if err != nil {
		return nil, err
	}
	money := s.o.Settings().Money()
	a := usageAnswer{UsageReport: channel.NewUsageReport(used, day, by, money.Prices), Budgets: []channel.Budget{}}
	a.Count = len(a.Rows)
	a.Rows = cut(r, a.Rows)
	a.Budgets = append(a.Budgets, s.operator.Budgets()...)
	return a, nil
}
