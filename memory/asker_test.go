package memory

import (
	"encoding/json"
	"testing"

	"cairn/compactor"
)

// In a question "I" is who asks, whichever way it is put: what they said goes before what
// others said later in the same words.
func TestTheFirstPersonIsTheAsker(t *testing.T) {
	c := newConversation(t)
	deliver(t, c, spoken(1, 0, "Ann", "I booked my flight for 3 June"), spoken(2, 1, "Bob", "I booked my flight for 7 July"))
	for _, name := range []string{"Ann", "Bob"} {
		if _, _, err := c.Remember(ctx, compactor.MemoryDraft{Kind: "fact", Content: name + "'s flight is booked"}, name); err != nil {
			t.Fatal(err)
		}
	}
	const question = "when is my flight?"
	for asker, want := range map[string]string{"Ann": "Ann", "bob": "Bob", "": "Bob", "Zoe": "Bob"} {
		found, _, err := c.Memories(ctx, Filter{Query: question, Asker: asker})
		if err != nil || len(found) != 2 || found[0].Speaker != want {
			t.Errorf("%q finds %+v, %v", asker, found, err)
		}
	}
	for n, name := range []string{"Ann", "Bob"} {
		overheard, asked := spoken(8+2*n, 5, "Zoe", "hm"), spoken(9+2*n, 5, name, question)
		asked.Addressed = true
		turn := deliver(t, c, asked, overheard)[0].Seq
		tools := c.Tools(ToolOptions{Turn: func() int64 { return turn }})
		for _, tool := range tools[:2] {
			text, err := tool.Run(ctx, json.RawMessage(`{"query": "booked my flight"}`))
			if err != nil {
				t.Fatal(err)
			}
			var answer struct{ Memories, Messages []struct{ Who string } }
			if err := json.Unmarshal([]byte(text), &answer); err != nil {
				t.Fatal(err)
			}
			if all := append(answer.Memories, answer.Messages...); len(all) < 2 || all[0].Who != name {
				t.Errorf("asked by %s, %s answers %s", name, tool.Name, text)
			}
		}
	}
}
