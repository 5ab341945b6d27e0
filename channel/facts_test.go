package channel_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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
	r.forgetExtracted()
	block := r.askForTurnContext("Where does Ophelia live?")
	check.Contains(t, "turn context", block, `"Ophelia lives in Lisbon" (identity, since 2022-05, said by Ada on `, `"Ophelia lives in Oslo" (identity, was so until 2022-05, said by Ada on `)
	check.That(t, strings.Index(block, "Lisbon\" (") < strings.Index(block, "Oslo\" ("), "what is true now comes first: %s", block)

	const is, was = "Ophelia lives in Lisbon (Ada, since May 2022, said ", "Ophelia lives in Oslo (Ada, "
	for line, wants := range map[string][]string{
		"/recall where does Ophelia live?":     {is, was, "was so until May 2022, superseded by "},
		"/memories about:me state:known":       {is, was, "was so until May 2022, superseded by "},
		"/memories Oslo state:known about:Ada": {was},
		"/memories":                            {is},
		"/memories state:forgotten":            {"There is no state \"forgotten\". Use current or known."},
		"/memories about:Ophelia":              {"No memories here match that."},
		"/memories state: Lisbon":              {is},
	} {
		text := r.says(ada, place, line, wants...)
		check.Equal(t, line+" shows what was", strings.Contains(text, "lives in Oslo"), slices.Contains(wants, was))
	}
}

// So has it of what is announced, and of what has ended by itself.
func TestRecallSaysWhatTimeChanges(t *testing.T) {
	r := withRecall(t, func(r *rig) {
		r.overhear("Ophelia lives in Oslo.")
		r.overhear("Ophelia moves to Lisbon next year, and her visa, a B1, was for last year.")
	})
	year := time.Now().Year()
	for _, arguments := range []string{
		`{"content": "Ophelia lives in Oslo", "kind": "identity", "about": "Ophelia", "messages": [1], "attribute": "home", "value": "Oslo"}`,
		fmt.Sprintf(`{"content": "Ophelia moves to Lisbon", "kind": "identity", "about": "Ophelia", "messages": [2], "attribute": "home", "value": "Lisbon", "since": "%d"}`, year+1),
		fmt.Sprintf(`{"content": "Ophelia has a visa, a B1", "kind": "identity", "about": "Ophelia", "messages": [2], "attribute": "visa", "value": "B1", "until": "%d"}`, year-1),
	} {
		check.Must(storetest.Call(storetest.ToolsAt(storetest.Find(t, r.store, place), 4), "memory_save", arguments))(t)
	}
	r.forgetExtracted()
	block := r.askForTurnContext("What about Ophelia, her visa, and Lisbon?")
	check.Contains(t, "turn context", block,
		fmt.Sprintf(`"Ophelia moves to Lisbon" (identity, not before %d, said by`, year+1),
		fmt.Sprintf(`"Ophelia has a visa, a B1" (identity, was so until %d, said by`, year-1))
	r.says(ada, place, "/memories about:me state:known", fmt.Sprintf("not before %d", year+1), fmt.Sprintf("was so until %d", year-1), fmt.Sprintf("until %d", year+1))
}

// forgetExtracted forgets the memories that were made without a model, which repeat what the test saves.
func (r *rig) forgetExtracted() {
	r.t.Helper()
	ms := memory.Of(storetest.Find(r.t, r.store, place))
	all, _, err := ms.List(r.t.Context(), memory.Filter{})
	check.NoError(r.t, err)
	for _, m := range all {
		if m.By == "extractive" {
			check.NoError(r.t, ms.Forget(r.t.Context(), m.ID))
		}
	}
}
