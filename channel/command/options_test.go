package command

import (
	"fmt"
	"slices"
	"testing"

	"cairn/testkit/check"
)

func TestOptions(t *testing.T) {
	recall := check.Must(Find("recall"))(t)
	for args, want := range map[string]string{
		"where is the hotel?": "where is the hotel? map[]",
		"hotel by:Ada":        "hotel map[by:Ada]",
		"by:Ada the hotel SINCE:2026-05-01 is full":  "the hotel is full map[by:Ada since:2026-05-01]",
		`since:"last week" hotel`:                    "hotel map[since:last week]",
		"since: yesterday hotel":                     "hotel map[since:yesterday]",
		"by:“Ada Lovelace” hotel":                    "hotel map[by:Ada Lovelace]",
		"by:„Ada Lovelace“ hotel":                    "hotel map[by:Ada Lovelace]",
		"by:<@U1|Ada Lovelace> hotel":                "hotel map[by:<@U1|Ada Lovelace>]",
		`by:"Ada`:                                    " map[by:\"Ada]",
		"by:":                                        "by: map[]",
		"did we agree on order: pizza":               "did we agree on order: pizza map[]",
		"did we agree on order:pizza":                "did we agree on map[order:pizza]",
		"order: newest by: Ada hotel":                "hotel map[by:Ada order:newest]",
		`hotel by: "the sea" since: "last week"`:     `hotel by: "the sea" map[since:last week]`,
		"by:Ada by:Bob":                              " map[by:Bob]",
		"https://x.test/by:y at 10:30, stand:by":     "https://x.test/by:y at 10:30, stand:by map[]",
		Named("by", "Ada  Lovelace") + " hotel":      "hotel map[by:Ada Lovelace]",
		"hotel " + Named("by", `Ada "the" Countess`): "hotel map[by:Ada the Countess]",
	} {
		rest, values := recall.options(args, func(_ Arg, value string) bool {
			return slices.Contains([]string{"newest", "Ada", "yesterday", "last week"}, value)
		})
		check.Equal(t, args, fmt.Sprint(rest, " ", values), want)
	}
}
