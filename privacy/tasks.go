// Deletions reach tasks: what sub-agents derived from deleted messages is deleted too.

package privacy

import (
	"fmt"
	"slices"

	"cairn/chat"
	"cairn/store"
)

// deleteTasksOf deletes what tasks derived from messages: their conversations and their reports here, which it returns, and then
// what other tasks derived from those reports. An open task ends silently.
func deleteTasksOf(c *store.Conversation, tx *store.Tx, deleted []chat.Message) (reports []chat.Message) {
	seen := map[int64]bool{} // messages
	for _, m := range deleted {
		seen[m.Seq] = true
	}
	for all := slices.Clone(deleted); len(all) > 0; all = all[1:] {
		for _, t := range tx.Tasks("t.id IN (SELECT task FROM task_sources WHERE message = ?)", c.Row(all[0].Seq)) {
			for _, m := range deleteTask(c, tx, t) {
				if !seen[m.Seq] {
					seen[m.Seq] = true
					reports, all = append(reports, m), append(all, m)
				}
			}
		}
	}
	return reports
}

// deleteTask deletes everything in a task's conversation, and returns what the task reported here.
func deleteTask(c *store.Conversation, tx *store.Tx, t store.Task) (report []chat.Message) {
	purgeTask(tx, t)
	name := fmt.Sprintf("%s-%d", store.TaskID, t.Number)
	c.In(tx).DeleteWaiting(name)
	return said(c, tx, name)
}

// purgeTask deletes everything in a task's conversation, and stops its turn.
func purgeTask(tx *store.Tx, t store.Task) {
	for _, child := range tx.Conversations("WHERE name = ?", t.Conversation) {
		tx.CopiesChanged(t.Conversation, store.Values[int64](tx, "SELECT seq FROM messages WHERE "+store.Own, child.ID())...)
		purge(child, tx)
	}
}

// purgeTasks deletes everything in the tasks of a conversation, and ends them and the task that it may be itself. Their rows
// stay, so that no number is used twice.
func purgeTasks(c *store.Conversation, tx *store.Tx) {
	for _, t := range tx.Tasks("t.parent = ?", c.ID()) {
		purgeTask(tx, t)
	}
	tx.Do(`UPDATE tasks SET text = '', author = '', above = '{}', own = '{}', state = iif(state = 'open', 'stopped', state), ended_at = coalesce(ended_at, ?)
		WHERE id = ?`, store.Now(), c.ID())
	tx.Do("DELETE FROM task_sources WHERE task = ?", c.ID())
}

// deleteTasksFor deletes the tasks that a person asked for. It returns how many there were, and the seqs that it changed.
func deleteTasksFor(c *store.Conversation, tx *store.Tx, author string) (tasks int, seqs []int64) {
	theirs := tx.Tasks("t.parent = ? AND t.author = ?", c.ID(), author)
	var reports []string
	for _, t := range theirs {
		for _, m := range deleteTask(c, tx, t) {
			reports = append(reports, m.ID)
		}
	}
	return len(theirs), deleteAll(c, tx, reports)
}
