package memory

import (
	"errors"
	"fmt"
	"testing"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/check"
)

func TestDeletingWhatToolsHaveCopied(t *testing.T) {
	found := func(seq int) string {
		return fmt.Sprintf(`{"messages":[{"seq":%d,"text":"I play the %s"}]}`, seq, secret)
	}
	t.Run("what searches found of it later is gone, and named as changed", func(t *testing.T) {
		c := newConversation(t)
		deliver(t, c, said(1, secret), said(2, "b"), asking(3, "what did I play?"))
		answerWith(t, c, 3, 4, "", map[string]string{
			"recall": found(1), "expand": found(1), "memory_search": `{"memories":[{"content":"` + secret + `","messages":[2,1]}],"total":1}`,
		})
		run(t, c.store, "UPDATE messages SET calls = '' WHERE role = 'assistant'") // the model's own words
		got := remove(t, c, 1)
		check.EqualAll(t, "changed", got, []int64{1, 5, 6, 7})
		wantNoSecret(t, c)
		if m, err := c.Transcript().Message(ctx, 5); err != nil || m.Text != copyGone || m.Tokens != chat.TokensOf(m) {
			t.Errorf("%+v, %v", m, err)
		}
	})
	t.Run("what they found of others stays", func(t *testing.T) {
		c := newConversation(t)
		deliver(t, c, said(1, "a"), said(2, "b"), asking(3, "what did I play?"))
		answerWith(t, c, 3, 4, `{"a":1}`, map[string]string{"recall": found(2), "expand": "no messages stand there"})
		check.EqualAll(t, "changed", remove(t, c, 1), []int64{1, 4})
		check.Equal(t, "the result", check.Must(c.Transcript().Message(ctx, 5))(t).Text, found(2))
		if m, err := c.Transcript().Message(ctx, 4); err != nil || len(m.Native) > 0 {
			t.Errorf("the reasoning of a later turn is %s, %v", m.Native, err)
		}
	})
	t.Run("in its own turn arguments, answers of other programs and the provider's JSON go too", func(t *testing.T) {
		c := newConversation(t)
		deliver(t, c, asking(1, "remember the "+secret))
		answerWith(t, c, 1, 2, `{"fields":{"reasoning":"the `+secret+`"}}`, map[string]string{"memory_save": secret, "recall": "nothing of " + secret, "weather": "rain on the " + secret})
		run(t, c.store, "UPDATE messages SET text = 'Noted.' WHERE tool = 'memory_save'")
		remove(t, c, 1)
		run(t, c.store, "DELETE FROM message_terms WHERE seq > 1 AND term LIKE 'xyl%'")
		wantNoSecret(t, c)
		m, err := c.Transcript().Message(ctx, 2)
		if err != nil || len(m.Native) != 0 || len(m.Calls) != 3 || m.Calls[2].Arguments != "{}" || m.Tokens != chat.TokensOf(m) {
			t.Errorf("%+v, %v", m, err)
		}
	})
	t.Run("an answer that is written later repeats nothing either", func(t *testing.T) {
		c := newConversation(t)
		deliver(t, c, said(1, secret), asking(2, "remember my "+secret), asking(3, "well?"))
		remove(t, c, 1, 2)
		answerWith(t, c, 2, 4, `{"a":"`+secret+`"}`, map[string]string{"recall": found(1), "memory_save": secret})
		run(t, c.store, "DELETE FROM message_terms WHERE term LIKE 'xyl%'") // the double's result of memory_save repeats it
		run(t, c.store, "UPDATE messages SET text = '' WHERE tool = 'memory_save'")
		wantNoSecret(t, c)
	})
}

func TestRememberingWhatIsDeletedMeanwhile(t *testing.T) {
	c := newConversation(t)
	deliver(t, c, said(1, "a"), said(2, secret), asking(3, secret))
	t.Run("a draft that was checked before a deletion is not saved after it", func(t *testing.T) {
		d := draft{MemoryDraft: summarize.MemoryDraft{Kind: "fact", Content: secret, Messages: []int64{2}}, by: byAssistant}
		err := c.store.update(ctx, func(tx *transaction) error {
			_, err := c.check(tx, &d, 1, 3)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		remove(t, c, 2)
		err = c.store.update(ctx, func(tx *transaction) error { return c.stands(tx, &d) })
		check.Error(t, err, errUnsaid)
	})
	t.Run("the model saves nothing of what it is asked when that is deleted", func(t *testing.T) {
		tools := MemoriesOf(c).Tools(ToolOptions{Turn: func() int64 { return 3 }})
		remove(t, c, 3)
		if answer, err := call(tools, "memory_save", `{"content":"`+secret+`","kind":"fact"}`); !errors.Is(err, errUnsaid) {
			t.Errorf("%q, %v", answer, err)
		}
		wantNoSecret(t, c)
	})
}
