package store

import (
	"context"
	"fmt"

	"cairn/chat"
)

// maxTurn is how many messages after the first of a turn may be of it, people's own included.
const maxTurn = 2000

// Sources returns what tools found for the answer of a turn and still exists: messages of the conversation, oldest first, and memories by id.
func (tr Transcript) Sources(ctx context.Context, turn int64) (messages []chat.Message, memories []int64, err error) {
	err = tr.c.View(ctx, fmt.Sprintf("read the sources of turn %d", turn), func(tx *Tx) {
		low, high := tr.c.rowRange(turn, turn+maxTurn)
		first, last := tr.c.rowRange(1, MaxSeq)
		const found = " FROM quotes q JOIN messages m ON m.id = q.message WHERE m.id BETWEEN ?1 AND ?2 AND m.turn = ?3 AND m.role = 'tool' AND m.tool <> 'memory_save'"
		rows := listValues[int64](tx, "SELECT DISTINCT q.source"+found+" AND q.kind = 'message' AND q.source BETWEEN ?4 AND ?5 ORDER BY q.source", low, high, turn, first, last)
		for _, row := range rows {
			seq := row - tr.c.rowID(0)
			messages = append(messages, tr.c.Messages(tx).read(seq, seq, "")...)
		}
		memories = listValues[int64](tx, "SELECT DISTINCT q.source"+found+" AND q.kind = 'memory' ORDER BY q.source", low, high, turn)
	})
	return messages, memories, err
}
