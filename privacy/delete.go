// Deletions of messages, and of everything derived from them; edits, which delete the old words; and copies of deleted
// messages: in the results of the bot's own tools, in what models thought, in summaries, and in threads.

package privacy

import (
	"context"
	"slices"

	"cairn/chat"
	"cairn/internal/words"
	"cairn/memory"
	"cairn/store"
	"cairn/transcript"
)

// Delete deletes messages by their platform ids. A waiting message is removed. Of a stored one the row stays as a tombstone with
// its author. Deleted are its text, its index entries and files, quotes of it, copies in tool results, the copies that
// threads have, and memories that no other message supports or that quote it. Summaries over it become placeholders that are
// repaired. A waiting turn is closed if no other message addresses the bot. A deleted message stays known, so that it is not
// delivered again; one that was not known is known from then on.
func (pr Conversation) Delete(ctx context.Context, ids []string) error {
	return pr.c.Erase(ctx, "delete messages", func(tx *store.Tx) {
		deleteAll(pr.c, tx, ids)
		for _, id := range ids {
			pr.c.Inbox().Reject(tx, id)
		}
	})
}

func deleteAll(c *store.Conversation, tx *store.Tx, ids []string) {
	var bare, replies []chat.Message // the messages, and those that quote one
	for _, id := range ids {
		deleteUnread(c, tx, id)
		bare = append(bare, c.Messages(tx).Named(id)...)
		replies = append(replies, c.Messages(tx).Quoting(id)...)
	}
	deleteMessages(c, tx, bare, replies)
}

// deleteMessages deletes messages, and what replies quote of them.
func deleteMessages(c *store.Conversation, tx *store.Tx, bare, replies []chat.Message) {
	if len(bare)+len(replies) == 0 {
		return
	}
	bare = append(bare, deleteTasksOf(c, tx, bare)...)
	version := c.NextVersion(tx)
	var seqs []int64 // of the messages that change
	for _, m := range replies {
		is := m
		is.Quote = ""
		c.Messages(tx).Rewrite(m, is, version)
		seqs = append(seqs, m.Seq)
	}
	var memories, deleted []int64 // of the memories that no text may quote, and of the messages that are deleted
	for _, m := range bare {
		memories = append(memories, makeTombstone(c, tx, m, version)...)
		deleted = append(deleted, m.Seq)
	}
	seqs = append(seqs, deleted...)
	forgetCopies(c, tx, bare)
	c.Messages(tx).ForgetQuotes(memories, true)
	slices.Sort(seqs)
	seqs = slices.Compact(seqs)
	lost := lostTerms(c, tx, bare)
	forgetTyped(c, tx, lost)
	repeating := slices.Concat(repeating(c, tx, bare, lost), restingOn(c, tx, deleted))
	c.Summaries(tx).Revise(seqs, repeating, version, func(row transcript.Summary) transcript.Summary { return row.Without(deleted) })
	emptyInherited(c, tx, seqs, deleted, repeating)
}

// Replace is store.Inbox.Replace: the old message and what answers it are deleted, as Delete does it.
func (pr Conversation) Replace(ctx context.Context, old string, m store.Inbound) (store.Receipt, error) {
	return pr.c.Inbox().Replace(ctx, old, m, func(tx *store.Tx) {
		var all []chat.Message
		for _, question := range pr.c.Messages(tx).Named(old) {
			all = append(append(all, question), store.WrittenIn(pr.c.Messages(tx), question.Turn)...)
		}
		deleteUnread(pr.c, tx, old)
		deleteMessages(pr.c, tx, all, pr.c.Messages(tx).Quoting(old))
	})
}

// deleteUnread deletes a waiting message, the copies of it in threads, and quotes of it: in threads below an answer to it, and in
// those of the channel.
func deleteUnread(c *store.Conversation, tx *store.Tx, id string) {
	c.Inbox().Delete(tx, id)
	c.Threads(tx).DeleteMessage(id)
	for _, thread := range c.Threads(tx).Quoting(id) {
		deleteAll(thread, tx, []string{id})
	}
}

// makeTombstone turns a message into a tombstone, and returns the memories that are deleted with it, or read differently without it.
func makeTombstone(c *store.Conversation, tx *store.Tx, m chat.Message, version int64) (memories []int64) {
	c.Messages(tx).Delete(m, version)
	return memory.ForgetFrom(c, tx, m.Seq, nil)
}

// Edit is store.Transcript.Edit. Memories that only the old text supports are deleted: no other
// message does, and they contain a removed word, or most words were removed. So are copies in tool results that contain one.
// An edit that addresses the bot, in a message that it need not answer so far, makes it a new question: it leaves its place and
// waits as if it had been sent now.
func (pr Conversation) Edit(ctx context.Context, m store.Inbound) (seq int64, changed bool, err error) {
	if m.Addressed {
		changed, err = pr.c.Transcript().AskByEdit(ctx, m, func(tx *store.Tx) { deleteAll(pr.c, tx, []string{m.ID}) })
		if changed || err != nil {
			return 0, changed, err
		}
	}
	return pr.c.Transcript().Edit(ctx, m, func(tx *store.Tx, was, is chat.Message) { forgetEdited(pr.c, tx, was, is) })
}

func forgetEdited(c *store.Conversation, tx *store.Tx, was, is chat.Message) {
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
	changed := memory.ForgetFrom(c, tx, was.Seq, func(m store.Memory) bool { return 2*len(removed) > before || says(m.Text()+"\n"+m.Slot, removed) })
	c.Messages(tx).ForgetQuotes(changed, true)
	if len(removed) > 0 {
		empty(c, tx, c.Messages(tx).Copying(was.Seq))
		tx.ForgetElsewhere(c, was.Seq, was.Seq)
	}
	forgetTyped(c, tx, lostTerms(c, tx, []chat.Message{was}))
}

// forgetCopies empties tool results that found deleted messages, and answers without a model that quote these; in the turns of
// those messages, the arguments of memory tools, pictures of results and what the provider added; and after the first of them all stored
// reasoning, which may repeat it in any words. No summary is built from any of this.
func forgetCopies(c *store.Conversation, tx *store.Tx, deleted []chat.Message) {
	var copies []chat.Message
	first := int64(store.MaxSeq)
	for _, m := range deleted {
		first = min(first, m.Seq)
		c.Messages(tx).DeletePictures(m.Turn)
		copies = append(copies, c.Messages(tx).Answer(m.Turn)...)
		copies = append(copies, c.Messages(tx).Copying(m.Seq)...)
		tx.ForgetElsewhere(c, m.Seq, m.Seq)
	}
	empty(c, tx, copies)
	c.Messages(tx).DeleteReasoning(first)
}

// empty removes copies of other texts from messages. Some may be there twice.
func empty(c *store.Conversation, tx *store.Tx, copies []chat.Message) {
	emptied := make(map[int64]bool)
	for _, m := range copies {
		is := store.WithoutCopies(m)
		if (is.Text != m.Text || len(m.Native) > 0 || !slices.Equal(is.Calls, m.Calls)) && !emptied[m.Seq] {
			emptied[m.Seq] = true
			c.Messages(tx).Replace(m, is)
		}
	}
}

func textOf(m chat.Message) string {
	text := m.Text + " " + m.Quote
	for _, a := range m.Attachments {
		text += " " + a.Name + " " + a.Caption + " " + a.Text
	}
	return text
}

func says(text string, terms map[string]bool) bool {
	return slices.ContainsFunc(words.Cut(text), func(w words.Word) bool { return terms[w.Term] })
}

// reach is how far from a message summaries may repeat it, in messages: what one repeats, the next may repeat again.
const reach = 3000

// restingOn returns the summaries around deleted messages with a line that rests on one of them which its span does not have.
func restingOn(c *store.Conversation, tx *store.Tx, deleted []int64) []transcript.Summary {
	if len(deleted) == 0 {
		return nil
	}
	rows := c.Summaries(tx).Beside(transcript.Span{From: slices.Min(deleted) - reach, To: slices.Max(deleted) + reach})
	return slices.DeleteFunc(rows, func(row transcript.Summary) bool {
		return !slices.ContainsFunc(row.Lines, func(l transcript.Line) bool {
			return slices.ContainsFunc(l.Seqs, func(seq int64) bool { return slices.Contains(deleted, seq) })
		})
	})
}

// repeating returns the summaries around deleted messages that contain a word which no message contains any more: a worker also
// reads messages outside a summary's span, for reference.
func repeating(c *store.Conversation, tx *store.Tx, deleted []chat.Message, lost map[string]bool) []transcript.Summary {
	if len(lost) == 0 {
		return nil
	}
	first := deleted[0].Seq
	last := deleted[0].Seq
	for _, m := range deleted {
		first = min(first, m.Seq)
		last = max(last, m.Seq)
	}
	rows := c.Summaries(tx).Written(transcript.Span{From: first - reach, To: last + reach})
	return slices.DeleteFunc(rows, func(row transcript.Summary) bool {
		return !says(row.Text, lost) && !slices.ContainsFunc(row.DroppedLines, func(l transcript.DroppedLine) bool { return says(l.Text+" "+l.Why, lost) })
	})
}

// emptyInherited turns copies of rows that cover deleted messages, or repeated them, into placeholders.
func emptyInherited(c *store.Conversation, tx *store.Tx, seqs, deleted []int64, repeating []transcript.Summary) {
	threads := c.Threads(tx)
	for _, seq := range seqs {
		threads.BlankOver(seq)
	}
	for _, row := range repeating {
		threads.BlankCopies(row.Span)
	}
	for _, seq := range deleted {
		threads.DecrementCounts(seq)
	}
}
