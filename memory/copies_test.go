package memory_test

import (
	"errors"
	"fmt"
	"testing"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
	"cairn/store"
)

func TestDeletionReachesToolResults(t *testing.T) {
	found := func(seq int) string {
		return fmt.Sprintf(`{"messages":[{"seq":%d,"text":"I play the %s"}]}`, seq, storetest.Secret)
	}
	t.Run("later search results lose it, and are reported as changed", func(t *testing.T) {
		c := storetest.NewConversation(t)
		storetest.Deliver(t, c, storetest.Said(1, storetest.Secret), storetest.Said(2, "b"), storetest.Asking(3, "what did I play?"))
		storetest.AnswerWith(t, c, 3, 4, "", map[string]string{
			"recall": found(1), "expand": found(1), "memory_search": `{"memories":[{"content":"` + storetest.Secret + `","messages":[2,1]}],"total":1}`,
		})
		storetest.Run(t, c.Store(), "UPDATE messages SET calls = '' WHERE role = 'assistant'") // the model's own words
		got := storetest.Remove(t, c, 1)
		check.EqualAll(t, "changed", got, []int64{1, 5, 6, 7})
		storetest.WantNoSecret(t, c)
		m := check.Must(c.Transcript().Message(ctx, 5))(t)
		check.Equal(t, "text", m.Text, store.DeletedCopyText)
		check.Equal(t, "tokens", m.Tokens, chat.TokensOf(m))
	})
	t.Run("results about others stay", func(t *testing.T) {
		c := storetest.NewConversation(t)
		storetest.Deliver(t, c, storetest.Said(1, "a"), storetest.Said(2, "b"), storetest.Asking(3, "what did I play?"))
		storetest.AnswerWith(t, c, 3, 4, `{"a":1}`, map[string]string{"recall": found(2), "expand": "no messages stand there"})
		check.EqualAll(t, "changed", storetest.Remove(t, c, 1), []int64{1, 4})
		check.Equal(t, "answer", check.Must(c.Transcript().Message(ctx, 5))(t).Text, found(2))
		check.Len(t, "the reasoning of a later turn", check.Must(c.Transcript().Message(ctx, 4))(t).Native, 0)
	})
	t.Run("in its own turn arguments, answers of other programs and the provider's JSON go too", func(t *testing.T) {
		c := storetest.NewConversation(t)
		storetest.Deliver(t, c, storetest.Asking(1, "remember the "+storetest.Secret))
		storetest.AnswerWith(t, c, 1, 2, `{"fields":{"reasoning":"the `+storetest.Secret+`"}}`, map[string]string{"memory_save": storetest.Secret, "recall": "nothing of " + storetest.Secret, "weather": "rain on the " + storetest.Secret})
		storetest.Run(t, c.Store(), "UPDATE messages SET text = 'Noted.' WHERE tool = 'memory_save'")
		storetest.Remove(t, c, 1)
		storetest.Run(t, c.Store(), "DELETE FROM message_terms WHERE seq > 1 AND term LIKE 'xyl%'")
		storetest.WantNoSecret(t, c)
		m, err := c.Transcript().Message(ctx, 2)
		if err != nil || len(m.Native) != 0 || len(m.Calls) != 3 || m.Calls[2].Arguments != "{}" || m.Tokens != chat.TokensOf(m) {
			t.Errorf("%+v, %v", m, err)
		}
	})
	t.Run("an answer that is written later repeats nothing either", func(t *testing.T) {
		c := storetest.NewConversation(t)
		storetest.Deliver(t, c, storetest.Said(1, storetest.Secret), storetest.Asking(2, "remember my "+storetest.Secret), storetest.Asking(3, "well?"))
		storetest.Remove(t, c, 1, 2)
		storetest.AnswerWith(t, c, 2, 4, `{"a":"`+storetest.Secret+`"}`, map[string]string{"recall": found(1), "memory_save": storetest.Secret})
		storetest.Run(t, c.Store(), "DELETE FROM message_terms WHERE term LIKE 'xyl%'") // the double's result of memory_save repeats it
		storetest.Run(t, c.Store(), "UPDATE messages SET text = '' WHERE tool = 'memory_save'")
		storetest.WantNoSecret(t, c)
	})
}

func TestRememberingDeletedMessage(t *testing.T) {
	c := storetest.NewConversation(t)
	storetest.Deliver(t, c, storetest.Said(1, "a"), storetest.Said(2, storetest.Secret), storetest.Asking(3, storetest.Secret))
	t.Run("a draft that was checked before a deletion is not saved after it", func(t *testing.T) {
		d := memory.DraftOf(summarize.MemoryDraft{Kind: "fact", Content: storetest.Secret, Messages: []int64{2}}, "assistant", "", 0)
		err := c.Store().Update(ctx, func(tx *store.Tx) error {
			return memory.CheckDraft(c, tx, &d, 1, 3)
		})
		check.NoError(t, err)
		storetest.Remove(t, c, 2)
		err = c.Store().Update(ctx, func(tx *store.Tx) error { return memory.Recheck(c, tx, &d) })
		check.Error(t, err, memory.ErrUnsaid)
	})
	t.Run("the model saves nothing of what it is asked when that is deleted", func(t *testing.T) {
		tools := memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return 3 }})
		storetest.Remove(t, c, 3)
		if answer, err := storetest.Call(tools, "memory_save", `{"content":"`+storetest.Secret+`","kind":"fact"}`); !errors.Is(err, memory.ErrUnsaid) {
			t.Errorf("%q, %v", answer, err)
		}
		storetest.WantNoSecret(t, c)
	})
}
