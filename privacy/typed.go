// What people type into commands, which is stored beside messages: the focus of a compaction or of a setting. Settings, pins and
// pauses know who it was.

package privacy

import (
	"cairn/chat"
	"cairn/internal/words"
	"cairn/store"
)

// eraseTyped deletes what a person typed into commands of the conversation: settings in words, and the focus of each compaction
// and task, of which nobody knows who asked for it. It also removes their name from settings, pins and pauses.
func eraseTyped(c *store.Conversation, tx *store.Tx, who store.Person) {
	c.Traces(tx, who).AnonymizeSettings()
	if c.CommandTexts(tx).DeleteAll() {
		c.NextVersion(tx) // summaries in memory are read again: a repair keeps the focus of what it repairs
	}
}

// forgetTyped deletes what was typed into commands if it contains a word that no message contains any more: it quotes what
// was deleted, or what an edit removed.
func forgetTyped(c *store.Conversation, tx *store.Tx, lost map[string]bool) {
	if len(lost) == 0 {
		return
	}
	c.CommandTexts(tx).DeleteMatching(func(text string) bool { return says(text, lost) })
}

// lostTerms returns the terms of deleted messages, which are out of the index already, that no other message contains.
func lostTerms(c *store.Conversation, tx *store.Tx, deleted []chat.Message) map[string]bool {
	const least = 4 // bytes of a word that gives away deleted text: small numbers occur everywhere
	lost := make(map[string]bool)
	for _, m := range deleted {
		for _, word := range words.Cut(textOf(m)) {
			if lost[word.Term] || word.Stop || len(word.Folded) < least {
				continue
			}
			if !c.Messages(tx).HasTerm(word.Term) {
				lost[word.Term] = true
			}
		}
	}
	return lost
}
