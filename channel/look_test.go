package channel_test

import (
	"testing"

	"cairn/channel"
	"cairn/compactor/summarize"
	"cairn/memory"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
	"cairn/transcript"
)

// A dashboard and the shell look at conversations at any time, also while a summary is being written.
func TestWhoLooksStopsNoCompaction(t *testing.T) {
	r := newRig(t, echo)
	r.sendNotes(4)
	c := storetest.Find(t, r.store, place)
	job := check.Must(memory.Of(c).Records().Begin(t.Context(), transcript.Summary{
		Kind: transcript.Leaf, By: transcript.Worker, Trigger: transcript.OnBackground, Span: transcript.Span{From: 1, To: 2},
		FromTime: storetest.Day, ToTime: storetest.Day, Messages: 2,
	}))(t)
	check.NoError(t, check.ErrorOf(channel.ReadContext(t.Context(), c, r.agent)))
	_, err := job.Store(t.Context(), summarize.Summary{Text: "Notes.", Tokens: 3})
	check.NoError(t, err)
}
