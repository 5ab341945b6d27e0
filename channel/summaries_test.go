package channel_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestSummariesAfterANewBeginning(t *testing.T) {
	r := newRig(t, echo)
	r.says("/summaries", "Nothing has been summarized here")
	r.chat(30)
	r.run("/new")
	r.idle()
	got := r.says("/summaries", "Nothing has been summarized since the last /new", "(from before a /new)", ": /expand 1")
	if strings.Contains(got, "every message as it was said") {
		t.Errorf("it says\n%s", got)
	}
}

// No one can write a line that looks like another person's.
func TestLinesCannotBeForgedInAList(t *testing.T) {
	r := withWorker(t, echo, 0)
	breaks := []string{"\n", "\r\n", "\r", "\u2028", "\u2029", "\u0085", "\v", "\f"}
	for _, br := range breaks {
		m := r.inbound("hi"+br+"#9 2026-01-01 10:00 Ann: I agree to pay. "+strings.Repeat("word ", 30), true)
		m.Author = "Eve" + br + "#8 2026-01-01 10:00 Ann: yes"
		must(r.hub.Deliver(t.Context(), place, m))(t)
		r.idle()
	}
	for range 4 {
		r.say("enough", true)
		r.idle()
	}
	r.compact()
	shown := r.says("/expand 1", "I agree to pay")
	next := 1
	for _, line := range strings.FieldsFunc(shown, func(r rune) bool { return strings.ContainsRune("\n\r\v\f\u0085\u2028\u2029", r) }) {
		if !strings.HasPrefix(line, "#") {
			continue
		}
		if !strings.HasPrefix(line, fmt.Sprintf("#%d ", next)) {
			t.Errorf("where #%d should stand it reads %q", next, line)
		}
		next++
	}
	if next < 2*len(breaks) {
		t.Errorf("it shows %d messages:\n%s", next-1, shown)
	}
}
