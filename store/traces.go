// Traces: what is stored about a person in a conversation.

package store

// Traces are those of one person in one conversation, in one transaction.
type Traces struct {
	c      *Conversation
	tx     *Tx
	author string // the platform's id
}

func (t *Tx) TracesOf(c *Conversation, author string) Traces { return Traces{c, t, author} }

// concerning selects the memories of conversation ?1 that person ?2 said first, or that are about them, up to number ?3.
const concerning = `SELECT DISTINCT p.memory FROM memory_people p JOIN memories k ON k.id = p.memory
	WHERE p.author_id = ?2 AND p.role IN ('said', 'about') AND k.conversation = ?1 AND k.id <= ?3`

// CountMemories counts the memories that the person said first, or that are about them, up to a number.
func (tr Traces) CountMemories(upto int64) int {
	return Get[int](tr.tx, "SELECT count(*) FROM ("+concerning+")", tr.c.id, tr.author, upto)
}

// Memories returns the oldest of these memories, at most limit.
func (tr Traces) Memories(upto int64, limit int) []Memory {
	return tr.tx.memories("WHERE m.id IN ("+concerning+" ORDER BY 1 LIMIT ?4)", tr.c.id, tr.author, upto, limit)
}

// LeaveMemories removes the person from the memories that other people's messages support, up to a number.
func (tr Traces) LeaveMemories(upto int64) {
	tr.tx.Do(`DELETE FROM memory_people WHERE author_id = ?2
		AND memory IN (SELECT id FROM memories WHERE conversation = ?1 AND id <= ?3)`, tr.c.id, tr.author, upto)
}
