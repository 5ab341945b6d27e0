package summarize

import (
	"testing"
	"time"

	"cairn/internal/check"
)

func TestRelativeTimes(t *testing.T) {
	at := time.Date(2024, 3, 31, 23, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"Yesterday we left":            "Yesterday (30 March 2024) we left",
		"the day after tomorrow":       "the day after tomorrow (2 April 2024)",
		"last night and tomorrow":      "last night (30 March 2024) and tomorrow (1 April 2024)",
		"next month":                   "next month (April 2024)",
		"last month":                   "last month (February 2024)",
		"this year":                    "this year (2024)",
		"last year":                    "last year (2023)",
		"last week":                    "last week (the week before 31 March 2024)",
		"next Friday":                  "next Friday (the Friday after 31 March 2024)",
		"this week":                    "this week",
		"three days ago":               "three days ago (28 March 2024)",
		"2 weeks ago":                  "2 weeks ago (about 17 March 2024)",
		"a month ago":                  "a month ago (about February 2024)",
		"it seems like just yesterday": "it seems like just yesterday",
		"10 years ago":                 "10 years ago (about 2014)",
		"yesterdays and a lastly day":  "yesterdays and a lastly day",
	} {
		t.Run(text, func(t *testing.T) {
			check.Equal(t, "text with dates", withDates(text, at, false), want)
		})
	}
	for text, want := range map[string]string{
		"Yesterday we left":   "Yesterday (30 March) we left",
		"tonight":             "tonight",
		"tomorrow":            "tomorrow (1 April)",
		"last month":          "last month (February)",
		"last year":           "last year (2023)",
		"last week":           "last week",
		"next Friday":         "next Friday",
		"100 days ago":        "100 days ago (22 December 2023)",
		"two weeks ago":       "two weeks ago (about 17 March)",
		"12 months ago today": "12 months ago (about March 2023) today",
	} {
		t.Run("under its day: "+text, func(t *testing.T) {
			check.Equal(t, "text with all dates", withDates(text, at, true), want)
		})
	}
	t.Run("without a time nothing is certain", func(t *testing.T) {
		check.Equal(t, "text without a time", withDates("yesterday", time.Time{}, false), "yesterday")
	})
}
