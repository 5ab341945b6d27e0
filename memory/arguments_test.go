package memory_test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// TestOneCallSavesAll: a list, and what small models make of it.
func TestOneCallSavesAll(t *testing.T) {
	const tea, boat = `{"content": "Bob likes tea", "kind": "preference", "messages": [3]}`, `{"content": "Ann has a boat", "kind": "fact", "messages": "#4"}`
	const both = "[" + tea + ", " + boat + "]"
	for form, arguments := range map[string]string{
		"a list":                     `{"memories": ` + both + `}`,
		"a list alone":               both,
		"a list as a text":           fmt.Sprintf(`{"memories": %q}`, both),
		"all of it as a text":        fmt.Sprintf(`%q`, `{"memories": `+both+`}`),
		"objects as texts":           fmt.Sprintf(`{"memories": [%q, %q]}`, tea, boat),
		"a list in a list":           `{"memories": [` + both + `]}`,
		"one beside the list":        strings.Replace(tea, "{", `{"memories": `+boat+`, `, 1),
		"a list of lists":            `[{"memories": [` + tea + `]}, {"memories": ` + boat + `}]`,
		"an upper case key":          `{"Memories": ` + both + `}`,
		"the single form, two calls": "",
	} {
		t.Run(form, func(t *testing.T) {
			c := imported(t, 9)
			tell(t, c, 3, "I like tea")
			tell(t, c, 4, "I have a boat")
			j := worker(t, c, 2, 6)
			if arguments == "" {
				call(t, j.Tools(20), "memory_save", tea)
				arguments = boat
			}
			call(t, j.Tools(20), "memory_save", arguments)
			finish(t, j)
			got := storetest.Contents(t, c)
			check.Len(t, "memories", got, 2)
			check.Contains(t, "memories", strings.Join(got, ", "), "preference: Bob likes tea", "fact: Ann has a boat")
		})
	}
	t.Run("a text alone is a fact of the running turn", func(t *testing.T) {
		c := newTalk(t)
		turn := deliver(t, c, asking(1, "I have a boat"))[0].Turn
		call(t, toolsAt(c, turn), "memory_save", `{"memories": ["Bob has a boat"]}`)
		wantContents(t, c, "Bob has a boat")
	})
	t.Run("an empty list saves nothing, and is no error", func(t *testing.T) {
		check.Contains(t, "answer", call(t, worker(t, imported(t, 3), 1, 3).Tools(9), "memory_save", `{"memories": []}`), "nothing was saved")
	})
}

// TestEachMemoryHasItsAnswer: by its place in the list. One that is refused does not lose the others.
func TestEachMemoryHasItsAnswer(t *testing.T) {
	const list = `{"memories": [{"content": "Bob likes tea", "kind": "preference"%[1]s}, {"content": "Bob rows", "kind": "gossip"%[1]s}, 7,
		{"content": "Bob likes TEA", "kind": "preference"%[1]s}, {"content": "Bob lives in Bergen", "kind": "fact", "supersedes": %[2]d%[1]s},
		{"content": "Bob likes the rain", "kind": "preference"%[1]s}]}`
	wants := []string{
		"of 6 memories, these are not saved: number 2, number 3.", "1. Noted", `2. Refused: there is no kind "gossip"`, "3. Refused: ", "5. Noted; it supersedes memory 1", "6. This was already known, as memory 2",
	}
	const told = "I like tea and the rain, and moved to Bergen"
	t.Run("in conversation, where each new one is reported", func(t *testing.T) {
		c := newTalk(t)
		turn := deliver(t, c, asking(1, told))[0].Turn
		old := keep(t, c, "Bob", "Bob lives in Oslo")
		keep(t, c, "Bob", "Bob likes rain")
		var reported []string
		tools := memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return turn }, OnMemory: func(m memory.Memory) { reported = append(reported, m.Content) }})
		err := check.ErrorOf(storetest.Call(tools, "memory_save", fmt.Sprintf(list, "", old.ID)))
		check.ErrorContains(t, "answer", err, append(wants, "4. This was already known, as memory 3")...)
		check.EqualAll(t, "reported", reported, []string{"Bob likes tea", "Bob lives in Bergen"})
	})
	t.Run("for a worker", func(t *testing.T) {
		c := newTalk(t)
		deliver(t, c, said(1, told))
		old := keep(t, c, "Bob", "Bob lives in Oslo")
		keep(t, c, "Bob", "Bob likes rain")
		j := worker(t, c, 1, 1)
		err := check.ErrorOf(storetest.Call(j.Tools(9), "memory_save", fmt.Sprintf(list, `, "messages": [1]`, old.ID)))
		check.ErrorContains(t, "answer", err, wants...)
		check.Equal(t, "kept", j.Kept(), 3)
		check.Len(t, "saved", finish(t, j), 2)
	})
	t.Run("beyond a worker's limit the answer says how many are kept", func(t *testing.T) {
		c := newTalk(t)
		deliver(t, c, said(1, told))
		j := worker(t, c, 1, 1)
		err := check.ErrorOf(storetest.Call(j.Tools(1), "memory_save",
			`[{"content": "Bob likes tea", "kind": "preference", "messages": [1]}, {"content": "Bob lives in Bergen", "kind": "fact", "messages": [1]}]`))
		check.ErrorContains(t, "answer", err, "of 2 memories, these are not saved: number 2.", "1. Noted.", "2. Refused: no more memories", "1 are kept")
		check.Equal(t, "kept", j.Kept(), 1)
	})
}

// tell gives message n another text.
func tell(t *testing.T, c *store.Conversation, n int, text string) {
	t.Helper()
	storetest.Edit(t, c, n, text)
}
