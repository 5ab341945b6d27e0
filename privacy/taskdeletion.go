// Deletions reach tasks: what sub-agents derived from deleted messages is deleted too.

package privacy

import (
	"fmt"
	"slices"

	"cairn/chat"
	"cairn/store"
)

// deleteTasksOf deletes what tasks derived from messages: their conversations and their reports
// here, which it returns, and then what other tasks derived from those reports. An open task ends
// silently: its source is gone.
func deleteTasksOf(c *store.Conversation, tx *store.Tx, deleted []chat.Message) (reports []chat.Message, err error) {
	seen := map[int64]bool{} // messages
	for _, m := range deleted {
		seen[m.Seq] = true
	}
	for all := slices.Clone(deleted); len(all) > 0; all = all[1:] {
		ids, err := store.Column[int64](tx, "SELECT task FROM task_sources WHERE message = ?", c.Row(all[0].Seq))
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			report, err := deleteTask(c, tx, id)
			if err != nil {
				return nil, fmt.Errorf("delete a task: %w", err)
			}
			report = slices.DeleteFunc(report, func(m chat.Message) bool { return seen[m.Seq] })
			for _, m := range report {
				seen[m.Seq] = true
			}
			reports, all = append(reports, report...), append(all, report...)
		}
	}
	return reports, nil
}

// deleteTask deletes everything in a task's conversation, and returns what the task reported
// here.
func deleteTask(c *store.Conversation, tx *store.Tx, id int64) (report []chat.Message, err error) {
	found, err := c.In(tx).Tasks("t.id = ?", id)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	if err := purgeTask(tx, found[0].Conversation); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%s-%d", store.TaskID, found[0].Number)
	c.In(tx).DeleteWaiting(name)
	return said(c, tx, name), nil
}

// purgeTask deletes everything in a task's conversation, and stops its turn.
func purgeTask(tx *store.Tx, name string) error {
	child, err := tx.Conversation(name)
	if err != nil {
		return err
	}
	low, high := child.RowRange(1, store.MaxSeq)
	seqs, err := store.Column[int64](tx, "SELECT seq FROM messages WHERE id BETWEEN ? AND ?", low, high)
	if err != nil {
		return err
	}
	tx.CopiesChanged(name, seqs...)
	return purge(child, tx)
}

// purgeTasks deletes everything in the tasks of a conversation, and ends them and the task that it
// may be itself. Their rows stay, like the names of their conversations, so that no number is used
// twice.
func purgeTasks(c *store.Conversation, tx *store.Tx) error {
	below, err := c.In(tx).Tasks("t.parent = ?", c.ID())
	if err != nil {
		return err
	}
	for _, t := range below {
		if err := purgeTask(tx, t.Conversation); err != nil {
			return err
		}
	}
	tx.Do(`UPDATE tasks SET text = '', author = '', above = '{}', own = '{}', state = iif(state = 'open', 'stopped', state), ended_at = coalesce(ended_at, ?)
		WHERE id = ?`, store.Now(), c.ID())
	tx.Do("DELETE FROM task_sources WHERE task = ?", c.ID())
	return nil
}

// deleteTasksFor deletes the tasks that a person, by platform ID, asked for. It returns how many
// there were, and the seqs of the messages that it changed.
func deleteTasksFor(c *store.Conversation, tx *store.Tx, author string) (tasks int, seqs []int64, err error) {
	ids, err := store.Column[int64](tx, "SELECT id FROM tasks WHERE parent = ? AND author = ?", c.ID(), author)
	if err != nil {
		return 0, nil, err
	}
	var reports []string
	for _, id := range ids {
		report, err := deleteTask(c, tx, id)
		if err != nil {
			return 0, nil, err
		}
		for _, m := range report {
			reports = append(reports, m.ID)
		}
	}
	seqs, err = deleteAll(c, tx, reports)
	return len(ids), seqs, err
}
