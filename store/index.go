// The search index of messages and memories, and rebuilding all that is derived from other tables.

package store

import (
	"database/sql"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"cairn/chat"
	"cairn/internal/words"
	"cairn/llm"
)

// index adds a message to the search index, and its author as a member.
func (ms Messages) index(m chat.Message) {
	addMember(ms.tx, ms.c.id, m.Author, m.AuthorID)
	ms.indexTerms(m)
}

// addMember adds a person by the terms of a name. A name without any, such as an emoji or "Will", has the term "".
func addMember(tx *Tx, conversation int64, name, authorID string) {
	terms := words.Content(name)
	if name != "" && len(terms) == 0 {
		terms = []string{""}
	}
	for _, term := range terms {
		tx.do("INSERT INTO members (conversation, term, name, author_id) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", conversation, term, name, authorID)
	}
}

// indexTerms adds a message to the search index.
func (ms Messages) indexTerms(m chat.Message) {
	counts, length := indexed(m)
	if len(counts) == 0 {
		return
	}
	// One statement for all of them.
	ms.tx.do("INSERT INTO message_terms (conversation, term, seq, tf, length) SELECT CAST(? AS BIGINT), key, CAST(? AS BIGINT), CAST(value AS BIGINT), CAST(? AS BIGINT) FROM json_each(?)",
		ms.c.id, m.Seq, length, encode(counts))
}

// unindex removes a message from the search index.
func (ms Messages) unindex(m chat.Message) {
	counts, _ := indexed(m)
	ms.tx.do("DELETE FROM message_terms WHERE conversation = ? AND term IN (SELECT key FROM json_each(?)) AND seq = ?",
		ms.c.id, encode(counts), m.Seq)
}

// indexed returns the terms by which a message is found: of its text, attachments and author, with their stems.
func indexed(m chat.Message) (counts map[string]int, length int) {
	if m.Role == llm.RoleTool && slices.Contains(chat.MemoryTools, m.Tool) {
		return nil, 0 // its content is found elsewhere
	}
	var terms, stems []string
	add := func(text string) {
		terms = append(terms, words.Content(text)...)
		stems = append(stems, words.Stems(text)...)
	}
	add(m.Text)
	for _, a := range m.Attachments {
		add(a.Name + " " + a.Caption)
		add(a.Text)
	}
	if len(terms) == 0 {
		return nil, 0
	}
	return countTerms(append(terms, words.Content(m.Author)...), stems...)
}

// countTerms counts the terms of a document, and the stems of the same words.
func countTerms(terms []string, stems ...string) (counts map[string]int, length int) {
	counts = make(map[string]int, len(terms)+len(stems))
	for _, term := range slices.Concat(terms, stems) {
		counts[term]++
	}
	return counts, len(terms)
}

// indexMemory adds a memory to the search index, and to the index of facts.
func indexMemory(tx *Tx, m Memory) {
	indexTermsOf(tx, m)
	tx.do("UPDATE memories SET fact = ? WHERE id = ?", FactOf(m.Content), m.ID)
}

func indexTermsOf(tx *Tx, m Memory) {
	counts, length := indexedMemory(m)
	tx.do(`INSERT INTO memory_terms (term, conversation, memory, tf, length)
		SELECT key, conversation, m.id, CAST(j.value AS BIGINT), CAST(? AS BIGINT) FROM memories m, json_each(?) j WHERE m.id = ?`, length, encode(counts), m.ID)
}

func unindexMemory(tx *Tx, conversation int64, m Memory) {
	counts, _ := indexedMemory(m)
	tx.do("DELETE FROM memory_terms WHERE term IN (SELECT key FROM json_each(?)) AND conversation = ? AND memory = ?",
		encode(counts), conversation, m.ID)
}

func indexedMemory(m Memory) (counts map[string]int, length int) {
	return countTerms(words.Content(m.Text()+" "+m.About), words.Stems(m.Text())...)
}

// MemoryTerms returns the words of a memory.
func MemoryTerms(content, about string) []string { return words.Content(content + " " + about) }

// weightless words do not change the meaning of a fact.
var weightless = strings.Fields("a an the that of at in on to for and is are am be do does also really very")

// FactWords returns the words of a fact that count, in order. Two facts with the same ones say the same: numbers, names,
// negations, tenses and who does what to whom are the same.
func FactWords(content string) []string {
	return slices.DeleteFunc(strings.Fields(words.Fold(content)), func(word string) bool { return slices.Contains(weightless, word) })
}

// FactOf returns a hash of the words that count; 0: there are none.
func FactOf(content string) int64 {
	counting := FactWords(content)
	if len(counting) == 0 {
		return 0
	}
	sum := fnv.New64a()
	for _, word := range counting {
		fmt.Fprintln(sum, word)
	}
	return max(int64(sum.Sum64()>>1), 1)
}

// reindex rebuilds the search index in a file of an earlier version, which split words differently, and removes the reasoning
// of turns that have ended, which it stored and counted: no provider requires it in that form. A later migration fills members.
func reindex(tx *Tx) {
	if exists(tx, "SELECT 1 FROM messages WHERE native <> ''") {
		noteErasure(tx)
	}
	tx.do("DELETE FROM message_terms")
	tx.do("DELETE FROM memory_terms")
	for _, c := range tx.conversations("") {
		c.Messages(tx).indexAll()
	}
	eachRow(tx, func(rows *sql.Rows) error {
		var m Memory
		err := rows.Scan(&m.ID, &m.Content, &m.About)
		indexTermsOf(tx, m)
		return err
	}, "SELECT id, content, about FROM memories")
}

// fillFacts adds all memories to the index of facts.
func fillFacts(tx *Tx) {
	eachRow(tx, func(rows *sql.Rows) error {
		var id int64
		var content string
		err := rows.Scan(&id, &content)
		tx.do("UPDATE memories SET fact = ? WHERE id = ?", FactOf(content), id)
		return err
	}, "SELECT id, content FROM memories")
}

// fillMembers adds the authors of all messages as members.
func fillMembers(tx *Tx) {
	eachRow(tx, func(rows *sql.Rows) error {
		var conversation int64
		var p Person
		err := rows.Scan(&conversation, &p.ID, &p.Name)
		addMember(tx, conversation, p.Name, p.ID)
		return err
	}, "SELECT DISTINCT conversation, author_id, author FROM messages WHERE author <> '' AND deleted_at IS NULL")
}

// indexAll indexes every message of a conversation, page by page, and drops the reasoning stored with it.
func (ms Messages) indexAll() {
	const page = 1000
	from := int64(1)
	for {
		messages := ms.read(from, MaxSeq, "ORDER BY id LIMIT ?", page)
		if len(messages) == 0 {
			return
		}
		for _, m := range messages {
			ms.indexTerms(m)
			if len(m.Native) > 0 {
				ms.tx.do("UPDATE messages SET native = '', tokens = ? WHERE id = ?", chat.TokensOf(m), ms.c.rowID(m.Seq))
			}
		}
		from = messages[len(messages)-1].Seq + 1
	}
}
