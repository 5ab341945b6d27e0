// Pictures in the results of tools. They are stored when they arrive, under an id of their turn, because they may be large
// and the turn has more requests. Those of an attempt that was repeated are deleted when the turn ends.

package store

import (
	"context"
	"fmt"

	"cairn/chat"
)

// picturesOf returns the id under which the pictures of a turn's results are stored, which no message has, see StoreFiles.
func picturesOf(turn int64) string { return fmt.Sprintf("cairn:turn-%d", turn) }

// DeletePictures deletes the pictures of a turn's results.
func (ms Messages) DeletePictures(turn int64) { ms.storeFiles(picturesOf(turn), nil) }

// AddPictures stores pictures of the result of a tool, and returns them as they belong to its message. ErrNotFound: the turn
// no longer waits.
func (turns Turns) AddPictures(ctx context.Context, turn int64, pictures []chat.Attachment) ([]chat.Attachment, error) {
	return Update(ctx, turns.c, fmt.Sprintf("store pictures of turn %d", turn), func(tx *Tx) (stored []chat.Attachment) {
		if !exists(tx, "SELECT 1 FROM messages WHERE id = ? AND answered = 0", turns.c.rowID(turn)) {
			tx.Fail(ErrNotFound)
			return nil
		}
		for _, a := range pictures {
			stored = append(stored, storeFile(tx, turns.c.id, picturesOf(turn), a))
		}
		return stored
	})
}

// dropPictures deletes the pictures of a turn's results that are not in its messages.
func (turns Turns) dropPictures(tx *Tx, turn int64, messages []chat.Message) {
	var kept []chat.Attachment
	for _, m := range messages {
		kept = append(kept, m.Attachments...)
	}
	turns.c.Messages(tx).storeFiles(picturesOf(turn), kept)
}
