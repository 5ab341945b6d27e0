package command

import (
	"fmt"
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
		"by:":                                        " map[by:]",
		"by:Ada by:Bob":                              " map[by:Bob]",
		"https://x.test/by:y at 10:30, stand:by":     "https://x.test/by:y at 10:30, stand:by map[]",
		Named("by", "Ada  Lovelace") + " hotel":      "hotel map[by:Ada Lovelace]",
		"hotel " + Named("by", `Ada "the" Countess`): "hotel map[by:Ada the Countess]",
	} {
		rest, values := recall.options(args)
		check.Equal(t, args, fmt.Sprint(rest, " ", values), want)
	}
}
