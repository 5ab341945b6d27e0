package channel_test

import (
	"strings"
	"testing"

	"cairn/memory"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// A turn context has what is true now, and what was true until when.
func TestRecallSaysWhenFactsAreTrue(t *testing.T) {
	r := withRecall(t, func(r *rig) {
		r.overhear("Ophelia lives in Oslo.")
		r.overhear("Ophelia lives in Lisbon since May 2022.")
	})
	for _, arguments := range []string{
		`{"content": "Ophelia lives in Lisbon", "kind": "identity", "about": "Ophelia", "messages": [2], "attribute": "home", "value": "Lisbon", "since": "2022-05", "also": ["country"]}`,
		`{"content": "Ophelia lives in Oslo", "kind": "identity", "about": "Ophelia", "messages": [1], "attribute": "home", "value": "Oslo"}`,
	} {
		check.Must(storetest.Call(storetest.ToolsAt(storetest.Find(t, r.store, place), 4), "memory_save", arguments))(t)
	}
	ms := memory.Of(storetest.Find(t, r.store, place))
	all, _, err := ms.List(t.Context(), memory.Filter{})
	check.NoError(t, err)
	for _, m := range all {
		if m.By == "extractive" { // which repeats all of it
			check.NoError(t, ms.Forget(t.Context(), m.ID))
		}
	}
	block := r.askForTurnContext("Where does Ophelia live?")
	check.Contains(t, "turn context", block, `"Ophelia lives in Lisbon" (identity, since 2022-05, said by Ada on `, `"Ophelia lives in Oslo" (identity, was so until 2022-05, said by Ada on `)
	check.That(t, strings.Index(block, "Lisbon\" (") < strings.Index(block, "Oslo\" ("), "what is true now comes first: %s", block)
}
