package channel_test

import (
	"strings"
	"testing"
)

func TestSummariesAfterANewBeginning(t *testing.T) {
	r := newRig(t, echo)
	r.says("/summaries", "Nothing has been summed up here")
	r.chat(30)
	r.run("/new")
	r.idle()
	got := r.says("/summaries", "Nothing has been summed up since the last /new", "(from before a /new)", ": /expand 1")
	if strings.Contains(got, "every message as it was said") {
		t.Errorf("it says\n%s", got)
	}
}
