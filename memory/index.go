// The index of messages, as package search reads it.

package memory

import (
	"slices"
	"time"

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
	since time.Time // earlier messages are not found
}

func (x messageIndex) Around(term string, seqs []int64) []words.Posting {
	return x.Near(term, seqs, search.Reach)
}

// Messages reads messages, except those that are empty or repeat what is found elsewhere.
func (x messageIndex) Messages(seqs []int64) (found []search.Message) {
	for _, m := range x.Candidates(seqs, x.since) {
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
