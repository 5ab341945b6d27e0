// The index of messages, as package search reads it.

package memory

import (
	"slices"

	"cairn/chat"
	"cairn/internal/tokens"
	"cairn/internal/words"
	"cairn/memory/search"
	"cairn/store"
)

var (
	_ search.Index      = store.TermIndex{}
	_ search.Transcript = messageIndex{}
)

// messageIndex indexes the messages of one conversation.
type messageIndex struct {
	store.MessageIndex
	reach  store.Reach // other messages are not found
	only   []int64     // the only messages that are found; nil: all within reach
	oldest bool        // of the postings of a frequent term, the oldest are read
}

// Postings returns the newest postings of a term, or the oldest ones. Around a few messages, it returns all that count for them.
func (x messageIndex) Postings(term string, limit int) []words.Posting {
	switch {
	case x.only != nil && len(x.only) <= limit:
		return x.Around(term, x.only)
	case x.oldest:
		return x.Earliest(term, x.reach.From, limit)
	}
	return x.MessageIndex.Postings(term, limit)
}

func (x messageIndex) Around(term string, seqs []int64) []words.Posting {
	return x.Near(term, seqs, search.Reach)
}

// Messages reads messages, except those that are empty or repeat what is found elsewhere.
func (x messageIndex) Messages(seqs []int64) (found []search.Message) {
	for _, m := range x.Candidates(seqs, x.reach) {
		captions := ""
		for _, a := range m.Attachments {
			captions += " " + a.Name + " " + a.Caption
		}
		text := m.Text + captions
		if text == "" || slices.Contains(chat.MemoryTools, m.Tool) {
			continue
		}
		found = append(found, search.Message{
			Seq: m.Seq, Author: m.Author, Text: m.Text, Captions: captions, Assistant: m.Assistant, Answers: m.Answers, Time: m.Time,
			Length: tokens.Estimate(text) / 3, // a term costs about three tokens
		})
	}
	return found
}
