package channel_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
)

// A Markdown client renumbers ordered lists from their first number: "7. … 5. …" is shown as 7 and
// 8, and /forget 8 hits another memory.
func TestNumbersOfListsSurviveMarkdown(t *testing.T) {
	r := newRig(t, echo)
	for _, text := range []string{"the hotel is booked", "the hotel has a garden", "the train leaves at nine", "the hotel is in Bergen"} {
		r.as(boss, place, "/remember "+text)
	}
	r.as(boss, place, "/forget 3")
	r.chat(30)
	r.compact()
	r.run("/new")
	r.idle()
	for line, numbers := range map[string][]string{
		"/memories":     {"4", "2", "1"},
		"/recall hotel": {"memory (4)", "memory (2)", "memory (1)"},
		"/summaries":    {"1"},
		"/forget hotel": {"4", "2", "1"},
		"/expand 1":     {"1"},
	} {
		text := r.run(line)
		var html bytes.Buffer
		noError(t, goldmark.Convert([]byte(text), &html))
		if strings.Contains(html.String(), "<ol") || strings.Contains(html.String(), "<li") {
			t.Errorf("%s is rendered as a list:\n%s", line, html.String())
		}
		for _, number := range numbers {
			if !strings.Contains(html.String(), number) {
				t.Errorf("%s does not show number %s:\n%s", line, number, html.String())
			}
		}
	}
}
