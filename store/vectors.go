// Vectors of messages and memories, for search by meaning. Package memory makes them; the store deletes them with the text.

package store

import (
	"database/sql"

	"cairn/chat"
)

// Encoder is a model that turns texts into vectors. Vectors of different encoders cannot be compared.
type Encoder struct {
	ID         int64
	Model      string // with its server
	Length     int    // numbers of a vector, as the server sends it
	Size       int    // at most Length: numbers of a vector that was projected
	Projection []byte // nil: vectors are stored as they come
	Complete   bool   // every text had its vector at one time
}

// Encoders are those that have vectors, in one transaction.
type Encoders struct{ tx *Tx }

func (t *Tx) Encoders() Encoders { return Encoders{t} }

// All returns all encoders, the complete ones first, then the newest.
func (es Encoders) All() []Encoder {
	return listRows(es.tx, func(rows *sql.Rows, e *Encoder) error {
		return rows.Scan(&e.ID, &e.Model, &e.Length, &e.Size, &e.Projection, &e.Complete)
	}, "SELECT id, model, length, size, projection, complete FROM encoders ORDER BY complete DESC, id DESC")
}

// Add adds an encoder, unless there is one with the same model, length and size.
func (es Encoders) Add(model string, length, size int) {
	es.tx.do("INSERT INTO encoders (model, length, size) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", model, length, size)
}

// Finish notes that every text has a vector of the encoder.
func (es Encoders) Finish(id int64) {
	es.tx.do("UPDATE encoders SET complete = 1 WHERE id = ?", id)
}

// Drop deletes all other encoders with their vectors, at most limit of these; left reports that there are more.
func (es Encoders) Drop(except int64, limit int) (left bool) {
	for table, key := range vectorTables {
		if es.tx.changed("DELETE FROM "+table+" WHERE ("+key+", encoder) IN (SELECT "+key+", encoder FROM "+table+" WHERE encoder <> ? LIMIT ?)", except, limit) {
			left = true
		}
	}
	if !left {
		es.tx.do("DELETE FROM encoders WHERE id <> ?", except)
	}
	return left
}

// vectorTables are the tables of vectors, with the column that names the text.
var vectorTables = map[string]string{"message_vectors": "message", "memory_vectors": "memory"}

// Count returns how many texts have a vector of the encoder; those that the server refuses do not count.
func (es Encoders) Count(id int64) (n int) {
	for table := range vectorTables {
		n += getValue[int](es.tx, "SELECT count(*) FROM "+table+" WHERE encoder = ? AND length(vector) > 0", id)
	}
	return n
}

// Each calls f for the vectors of an encoder, at most limit.
func (es Encoders) Each(id int64, limit int, f func(vector []byte)) {
	eachRow(es.tx, func(rows *sql.Rows) error {
		var raw sql.RawBytes
		err := rows.Scan(&raw)
		f(raw)
		return err
	}, "SELECT vector FROM message_vectors WHERE encoder = ?1 AND length(vector) > 0 UNION ALL SELECT vector FROM memory_vectors WHERE encoder = ?1 AND length(vector) > 0 LIMIT ?2",
		id, limit)
}

// Project sets the projection of an encoder, and replaces its vectors by what project makes of them.
func (es Encoders) Project(id int64, projection []byte, project func(vector []byte) []byte) {
	es.tx.do("UPDATE encoders SET projection = ? WHERE id = ?", projection, id)
	for table, key := range vectorTables {
		for _, of := range listValues[int64](es.tx, "SELECT "+key+" FROM "+table+" WHERE encoder = ? AND length(vector) > 0", id) {
			vector := getValue[[]byte](es.tx, "SELECT vector FROM "+table+" WHERE "+key+" = ? AND encoder = ?", of, id)
			es.tx.do("UPDATE "+table+" SET vector = ? WHERE "+key+" = ? AND encoder = ?", notNil(project(vector)), of, id)
		}
	}
}

// Extent is a conversation, and the seq after its newest message.
type Extent struct {
	*Conversation
	Next int64
}

// Extents returns the conversations with messages, the one with the newest first.
func (es Encoders) Extents() []Extent {
	return listRows(es.tx, func(rows *sql.Rows, p *Extent) error {
		p.Conversation = &Conversation{handle{store: es.tx.store}}
		return rows.Scan(&p.id, &p.name, &p.Next)
	}, `SELECT c.id, name, next_seq FROM conversations c JOIN messages m ON m.id = c.id << 32 | (next_seq - 1) WHERE next_seq > 1 ORDER BY saved_at DESC, c.id`)
}

// VectorSource is a message or memory without a vector.
type VectorSource struct {
	ID          int64 // seq of a message, number of a memory
	Text        string
	Attachments []chat.Attachment
	Of          string // name of a memory's conversation

	attachments string // as stored
}

// MessageVectors are the vectors of a conversation's messages, in one transaction.
type MessageVectors struct {
	c  handle
	tx *Tx
}

func (c handle) Vectors(tx *Tx) MessageVectors { return MessageVectors{c, tx} }

// Missing returns messages of people and of the bot from..to that have no vector of an encoder, newest first, at most
// limit. Those of people who have opted out of memories get none.
func (vs MessageVectors) Missing(encoder, from, to int64, limit int) []VectorSource {
	low, high := vs.c.rowRange(from, to)
	return listRows(vs.tx, func(rows *sql.Rows, s *VectorSource) error {
		return rows.Scan(&s.ID, &s.Text, &s.attachments, jsonInto(&s.Attachments))
	}, `SELECT seq, text, attachments, attachments FROM messages m WHERE id BETWEEN ? AND ? AND `+mayHaveVector+`
		AND NOT EXISTS (SELECT 1 FROM message_vectors WHERE message = m.id AND encoder = ?) ORDER BY id DESC LIMIT ?`,
		low, high, vs.c.connector(), encoder, limit)
}

// mayHaveVector is the condition that message m of a connector may have a vector.
const mayHaveVector = `role <> 'tool' AND deleted_at IS NULL AND (text <> '' OR substr(attachments, 1, 2) = '[{')
	AND (role <> 'user' OR author_id NOT IN (SELECT author_id FROM optouts WHERE connector = ?))`

// Set stores the vector of a message, unless the message has changed since it was read; empty: the server refuses its text.
func (vs MessageVectors) Set(encoder int64, of VectorSource, vector []byte) {
	vs.tx.do(`INSERT INTO message_vectors (message, encoder, vector) SELECT id, ?, ? FROM messages m WHERE id = ? AND `+mayHaveVector+`
		AND text = ? AND attachments = ? ON CONFLICT (message, encoder) DO UPDATE SET vector = excluded.vector`,
		encoder, notNil(vector), vs.c.rowID(of.ID), vs.c.connector(), of.Text, of.attachments)
}

// notNil returns a vector that is not stored as NULL.
func notNil(vector []byte) []byte {
	if vector == nil {
		return []byte{}
	}
	return vector
}

// Deleted returns a number that changes when vectors of the conversation's messages are deleted.
func (vs MessageVectors) Deleted() int64 {
	return getValue[int64](vs.tx, "SELECT coalesce(max(vectors_deleted), 0) FROM conversations WHERE id = ?", vs.c.id)
}

// Each calls f with seq and vector of the newest messages from..to, at most limit, newest first.
func (vs MessageVectors) Each(encoder, from, to int64, limit int, f func(seq int64, vector []byte)) {
	low, high := vs.c.rowRange(from, to)
	eachVector(vs.tx, f, `SELECT message & 4294967295, vector FROM message_vectors WHERE message BETWEEN ? AND ? AND encoder = ? AND length(vector) > 0
		ORDER BY message DESC LIMIT ?`, low, high, encoder, limit)
}

func eachVector(tx *Tx, f func(id int64, vector []byte), query string, args ...any) {
	eachRow(tx, func(rows *sql.Rows) error {
		var id int64
		var raw sql.RawBytes // valid until the next row
		err := rows.Scan(&id, &raw)
		f(id, raw)
		return err
	}, query, args...)
}

// MemoryVectors are the vectors of the memories of all conversations, in one transaction.
type MemoryVectors struct{ tx *Tx }

func (t *Tx) MemoryVectors() MemoryVectors { return MemoryVectors{t} }

// Missing returns current memories from..to, by number, that have no vector of an encoder, newest first, at most limit. Those about
// people who have opted out, or said by them, get none.
func (vs MemoryVectors) Missing(encoder, from, to int64, limit int) []VectorSource {
	return listRows(vs.tx, func(rows *sql.Rows, s *VectorSource) error { return rows.Scan(&s.ID, &s.Text, &s.Of) },
		`SELECT id, content, (SELECT name FROM conversations WHERE id = m.conversation) FROM memories m WHERE id BETWEEN ? AND ? AND `+memoryMayHaveVector+`
		AND NOT EXISTS (SELECT 1 FROM memory_vectors WHERE memory = m.id AND encoder = ?) ORDER BY id DESC LIMIT ?`, from, to, encoder, limit)
}

const memoryMayHaveVector = `state = 'active' AND NOT EXISTS (SELECT 1 FROM memory_people p JOIN optouts o USING (author_id) WHERE p.memory = m.id)`

// Set stores the vector of a memory, unless the memory has changed since it was read; empty: the server refuses its text.
func (vs MemoryVectors) Set(encoder int64, of VectorSource, vector []byte) {
	vs.tx.do(`INSERT INTO memory_vectors (memory, encoder, vector) SELECT id, ?, ? FROM memories m WHERE id = ? AND `+memoryMayHaveVector+`
		AND content = ? ON CONFLICT (memory, encoder) DO UPDATE SET vector = excluded.vector`, encoder, notNil(vector), of.ID, of.Text)
}

// EachVector calls f with number and vector of the newest memories that the filter chooses, at most limit.
func (sm ScopedMemories) EachVector(encoder int64, filter MemoryFilter, limit int, f func(id int64, vector []byte)) {
	chosen, args := filter.where(sm.in)
	eachVector(sm.tx, f, `SELECT memory, vector FROM memory_vectors WHERE encoder = ? AND length(vector) > 0
		AND memory IN (SELECT id FROM memories m WHERE `+chosen+`) ORDER BY memory DESC LIMIT ?`, append(append([]any{encoder}, args...), limit)...)
}

// dropVectors deletes the vectors of a message whose text changes.
func (ms Messages) dropVectors(seq int64) {
	if ms.tx.changed("DELETE FROM message_vectors WHERE message = ?", ms.c.rowID(seq)) {
		ms.tx.do("UPDATE conversations SET vectors_deleted = vectors_deleted + 1 WHERE id = ?", ms.c.id)
	}
}

// dropVectors deletes the vectors of what a person of the connector has said, and of memories of it or about them.
func (p People) dropVectors(id string) {
	if id == "" {
		return
	}
	first := p.c.connector() + ":"
	last := p.c.connector() + ";"
	ofMessages := p.tx.changed(`DELETE FROM message_vectors WHERE message IN (SELECT m.id FROM messages m JOIN conversations c ON c.id = m.conversation
		WHERE m.author_id = ? AND m.role = 'user' AND c.name >= ? AND c.name < ?)`, id, first, last)
	if ofMessages {
		p.tx.do(`UPDATE conversations SET vectors_deleted = vectors_deleted + 1 WHERE name >= ? AND name < ?
			AND id IN (SELECT conversation FROM messages WHERE author_id = ? AND role = 'user')`, first, last, id)
	}
	ofMemories := p.tx.changed("DELETE FROM memory_vectors WHERE memory IN (SELECT memory FROM memory_people WHERE author_id = ?)", id)
	if ofMessages || ofMemories {
		noteErasure(p.tx)
	}
}
