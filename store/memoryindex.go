// The words of memories in the search index.

package store

import (
	"database/sql"
	"fmt"

	"cairn/words"
)

func IndexMemory(tx *Tx, id int64, content, about string) error {
	counts, length := indexedMemory(content, about)
	for term, tf := range counts {
		_, err := tx.Exec("INSERT INTO memory_terms (term, conversation, memory, tf, length) SELECT ?, conversation, id, ?, ? FROM memories WHERE id = ?", term, tf, length, id)
		if err != nil {
			return fmt.Errorf("index memory %d: %w", id, err)
		}
	}
	return nil
}

func UnindexMemory(tx *Tx, conversation, id int64, content, about string) error {
	counts, _ := indexedMemory(content, about)
	for term := range counts {
		if _, err := tx.Exec("DELETE FROM memory_terms WHERE term = ? AND conversation = ? AND memory = ?", term, conversation, id); err != nil {
			return fmt.Errorf("take memory %d out of the index: %w", id, err)
		}
	}
	return nil
}

// indexedMemory returns the terms by which a memory is indexed: its words, and their stems in its
// language.
func indexedMemory(content, about string) (counts map[string]int, length int) {
	return CountTerms(MemoryTerms(content, about), words.Stems(content)...)
}

// MemoryTerms returns the words of a memory.
func MemoryTerms(content, about string) []string { return words.Content(content + " " + about) }

// eachMemory calls do for the id, the conversation's name and the words of every memory.
func eachMemory(tx *Tx, do func(id int64, conversation, content, about string) error) error {
	type memory struct {
		id                           int64
		conversation, content, about string
	}
	all, err := Select(tx, func(rows *sql.Rows, m *memory) error { return rows.Scan(&m.id, &m.conversation, &m.content, &m.about) },
		"SELECT m.id, c.name, m.content, m.about FROM memories m JOIN conversations c ON c.id = m.conversation ORDER BY m.id")
	for _, m := range all {
		if err == nil {
			err = do(m.id, m.conversation, m.content, m.about)
		}
	}
	return err
}
