// The search index: the words of memories, and rebuilding all that is derived from other tables.

package store

import (
	"database/sql"

	"cairn/chat"
	"cairn/words"
)

func IndexMemory(tx *Tx, id int64, content, about string) {
	counts, length := indexedMemory(content, about)
	for term, tf := range counts {
		tx.Do("INSERT INTO memory_terms (term, conversation, memory, tf, length) SELECT ?, conversation, id, ?, ? FROM memories WHERE id = ?", term, tf, length, id)
	}
}

func UnindexMemory(tx *Tx, conversation, id int64, content, about string) {
	counts, _ := indexedMemory(content, about)
	for term := range counts {
		tx.Do("DELETE FROM memory_terms WHERE term = ? AND conversation = ? AND memory = ?", term, conversation, id)
	}
}

// indexedMemory returns the terms by which a memory is indexed: its words, and their stems in its
// language.
func indexedMemory(content, about string) (counts map[string]int, length int) {
	return CountTerms(MemoryTerms(content, about), words.Stems(content)...)
}

// MemoryTerms returns the words of a memory.
func MemoryTerms(content, about string) []string { return words.Content(content + " " + about) }

// derived lists the tables derived from others: the search index, and who speaks where.
var derived = []string{"message_terms", "memory_terms", "members"}

// reindex rebuilds the derived tables in a file of an earlier version, which split words
// differently, and removes the reasoning that it stored, and counted, of turns that have ended: no
// provider requires it in that form.
func reindex(tx *Tx) error {
	if Exists(tx, "SELECT 1 FROM messages INDEXED BY messages_reasoning WHERE native <> ''") {
		noteErasure(tx)
	}
	for _, table := range derived {
		tx.Do("DELETE FROM " + table)
	}
	return derive(tx)
}

// derive fills the derived tables.
func derive(tx *Tx) error {
	for _, c := range tx.Conversations("") {
		c.In(tx).indexAll()
	}
	type memory struct {
		id             int64
		content, about string
	}
	all, err := Select(tx, func(rows *sql.Rows, m *memory) error { return rows.Scan(&m.id, &m.content, &m.about) }, "SELECT id, content, about FROM memories")
	for _, m := range all {
		IndexMemory(tx, m.id, m.content, m.about)
	}
	return err
}

// indexAll indexes every message of a conversation, page by page, and drops the reasoning stored with it.
func (rs Rows) indexAll() {
	const page = 1000
	for from := int64(1); ; {
		messages := rs.Messages(from, MaxSeq, "ORDER BY id LIMIT ?", page)
		if len(messages) == 0 {
			return
		}
		for _, m := range messages {
			rs.index(m)
			if len(m.Native) > 0 {
				rs.tx.Do("UPDATE messages SET native = '', tokens = ? WHERE id = ?", chat.TokensOf(m), rs.c.Row(m.Seq))
			}
		}
		from = messages[len(messages)-1].Seq + 1
	}
}
