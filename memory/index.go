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
	oldest bool        // of the postings of a frequent term, the oldest are read
}

// Postings returns the newest postings of each term, or the oldest ones.
func (x messageIndex) Postings(terms []string, limit int) map[string][]words.Posting {
	if x.oldest {
		return x.Earliest(terms, x.reach.From, limit)
	}
	return x.MessageIndex.Postings(terms, limit)
}

func (x messageIndex) Around(terms []string, seqs []int64) map[string][]words.Posting {
	return x.Near(terms, seqs, search.Reach)
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
