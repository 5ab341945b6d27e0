package privacy_test

import (
	"testing"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
	"cairn/store"
)

func TestEditOfRememberedMessage(t *testing.T) {
	remembered := func(t *testing.T, said string) *store.Conversation {
		c := storetest.NewConversation(t)
		storetest.Deliver(t, c, storetest.Said(1, said), storetest.Said(2, "well"))
		return c
	}
	for _, is := range []struct {
		claim, said, memory, edited string
		from                        []int64
		stays                       bool
	}{
		{"a wrong number goes", "remember that my locker is 10", "Bob's locker is 10", "remember that my locker is 11", []int64{1}, false},
		{"a name goes", "my sister's name is Jhon", "Bob has a sister, Jhon", "my sister's name is John", []int64{1}, false},
		{"what was taken out goes, in whatever words", "I am allergic to peanuts and nuts", "Bob cannot eat some foods", "(removed)", []int64{1}, false},
		{"a corrected word that it does not have matters not", "I liek green tea with milk", "Bob likes green tea", "I like green tea with milk", []int64{1}, true},
		{"an addition matters not", "my locker is 10", "Bob's locker is 10", "my locker is 10, on the left", []int64{1}, true},
		{"another message supports it", "my locker is 10", "Bob's locker is 10", "my locker is 11", []int64{1, 2}, true},
	} {
		t.Run(is.claim, func(t *testing.T) {
			c := remembered(t, is.said)
			old := storetest.Keep(t, c, "Bob", "Bob's old fact").ID
			id := storetest.Keep(t, c, "Bob", is.memory, is.from...).ID
			storetest.Run(t, c.Store(), "UPDATE memories SET state = 'superseded', superseded_by = ? WHERE id = ?", id, old)
			storetest.Edit(t, c, 1, is.edited)
			left := storetest.Contents(t, c)
			want := "fact: Bob's old fact"
			if is.stays {
				want = "fact: " + is.memory
			}
			check.EqualAll(t, "memories", left, []string{want})
		})
	}
	t.Run("what searches found of it goes", func(t *testing.T) {
		c := remembered(t, "my locker is "+storetest.Secret)
		storetest.Keep(t, c, "Bob", "Bob's locker is "+storetest.Secret, 1)
		found := check.Must(storetest.Call(memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return 9 }}), "memory_search", `{"query": "locker"}`))(t)
		check.Contains(t, "found", found, storetest.Secret)
		storetest.Deliver(t, c, storetest.Asking(3, "where?"))
		storetest.AnswerWith(t, c, 3, 4, "", map[string]string{"memory_search": found})
		var changed []int64
		c.Store().WatchCopies(func(_ string, seqs []int64) { changed = append(changed, seqs...) })
		storetest.Edit(t, c, 1, "my locker is open")
		check.EqualAll(t, "messages that changed", changed, []int64{5})
		storetest.Run(t, c.Store(), "UPDATE messages SET calls = '' WHERE seq = 4") // the arguments, which quote no memory
		storetest.WantNoSecret(t, c)
	})
}
