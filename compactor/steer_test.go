package compactor_test

import (
	"fmt"
	"testing"

	"cairn/compactor"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// What people say to a running turn is not on disk yet: a summary that quoted it, as what was said since, would be stale.
func TestSummaryDuringATurnDoesNotQuoteIt(t *testing.T) {
	r := newRig(t, 100_000, new(llmtest.Model))
	r.worker.Func = goodSummary
	for i := range 12 {
		r.talk(fmt.Sprintf("Where do we meet on Friday? %d %s", i, filler(30)))
	}
	x := r.begin(r.deliver("question", true))
	r.request()
	x.look("call_1", "nothing")
	check.Must(r.conv.Inbox().Deliver(t.Context(), store.Inbound{ID: "s1", AuthorID: "u2", Author: "Bo", Text: "We meet on Friday at the bridge.", Addressed: true, Steers: true}))(t)
	x.steer()
	e := r.compactAndWait()
	check.Equal(t, "how it started", e.State, compactor.EventStarted)
	check.Equal(t, "what became of it", r.last(compactor.EventApplied).Trigger, compactor.OnManual)
	check.Lacks(t, "request to the worker", inLines(r.worker.Requests()[0].Messages), "at the bridge")
	r.request()
	x.finish("At the bridge.")
	check.Contains(t, "prompt", r.render(), "Bo] We meet on Friday at the bridge.")
}
