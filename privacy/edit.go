// Edits of messages by people: what was remembered of the old words goes.

package privacy

import (
	"context"
	"slices"

	"cairn/chat"
	"cairn/memory"
	"cairn/store"
	"cairn/words"
)

// Edit is store.Transcript.Edit. Memories that only the old text supports are deleted: no other
// message does, and they have a word that is gone, or most words are.
func (pr Conversation) Edit(ctx context.Context, m store.Inbound) (seq int64, changed bool, err error) {
	return pr.c.Transcript().Edit(ctx, m, func(tx *store.Tx, was, is chat.Message) error { return forgetEdited(pr.c, tx, was, is) })
}

func forgetEdited(c *store.Conversation, tx *store.Tx, was, is chat.Message) error {
	removed := make(map[string]bool)
	for _, word := range words.Cut(textOf(was)) {
		if !word.Stop {
			removed[word.Term] = true
		}
	}
	before := len(removed)
	for _, word := range words.Cut(textOf(is)) {
		delete(removed, word.Term)
	}
	gone := memory.ForgetFrom(c, tx, was.Seq, func(m memory.Memory) bool { return 2*len(removed) > before || says(m.Content, removed) })
	if seqs := c.In(tx).ForgetQuotes(gone, true); len(seqs) > 0 {
		tx.CopiesChanged(c.Name(), seqs...)
	}
	return nil
}

// textOf returns everything that a message says.
func textOf(m chat.Message) string {
	text := m.Text + " " + m.Quote
	for _, a := range m.Attachments {
		text += " " + a.Name + " " + a.Caption + " " + a.Text
	}
	return text
}

// says reports whether a text has one of the terms.
func says(text string, terms map[string]bool) bool {
	return slices.ContainsFunc(words.Cut(text), func(w words.Word) bool { return terms[w.Term] })
}
