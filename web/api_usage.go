// API routes: the usage of models.

package web

import (
	"net/http"
	"slices"
	"strings"

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
	by := r.URL.Query().Get("by")
	if by == "" {
		by = channel.UsageKeys[0]
	}
	if !slices.Contains(channel.UsageKeys, by) {
		return problem(http.StatusBadRequest, "by = %q: must be one of %s.", by, strings.Join(channel.UsageKeys, ", "))
	}
	from, err := since(r)
	if err != nil {
		return err
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
	if a.Rows, err = cut(r, a.Rows); err != nil {
		return err
	}
	a.Budgets = append(a.Budgets, s.operator.Budgets()...)
	return answer(w, http.StatusOK, a)
}
