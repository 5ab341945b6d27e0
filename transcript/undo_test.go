package transcript_test

import (
	"testing"

	"cairn/testkit/check"
	"cairn/transcript"
)

// What a canceled compaction was to summarize is left alone, unless an emergency has hidden it meanwhile: then it waits for a
// summary.
func TestCancel(t *testing.T) {
	for _, tt := range []struct {
		claim  string
		hidden int64
		spared transcript.Span
	}{
		{"verbatim messages", 0, transcript.Span{From: 1, To: 3}},
		{"hidden messages", 4, transcript.Span{}},
	} {
		c := said(t, 6)
		id := c.prepare(job{from: 1, to: 3})
		if tt.hidden > 0 {
			c.truncate(tt.hidden)
		}
		c.apply(c.s.Cancel(transcript.Span{From: 1, To: 3}))
		check.Equal(t, tt.claim+": spared", c.s.Spared, tt.spared)
		check.Equal(t, tt.claim+": the job", c.summaries[id].State, transcript.Stale)
	}
}
