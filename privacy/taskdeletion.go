// Deletions reach tasks: what sub-agents derived from deleted messages is deleted too.

package privacy

import (
	"fmt"

	"cairn/chat"
	"cairn/store"
)

// deleteTasksOf deletes what tasks derived from messages: their conversations and their reports
// here, which it returns. An open task ends silently: its source is gone.
func deleteTasksOf(c *store.Conversation, tx *store.Tx, deleted []chat.Message) (reports []chat.Message, err error) {
	seen := map[int64]bool{}
	for _, m := range deleted {
		ids, err := store.Column[int64](tx, "SELECT task FROM task_sources WHERE message = ?", c.Row(m.Seq))
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if seen[id] {
				continue
			}
			seen[id] = true
			report, err := deleteTask(c, tx, id)
			if err != nil {
				return nil, fmt.Errorf("delete a task: %w", err)
			}
			reports = append(reports, report...)
		}
	}
	for _, m := range deleted { // they are among the deleted ones already
		for i := len(reports) - 1; i >= 0; i-- {
			if reports[i].Seq == m.Seq {
				reports = append(reports[:i], reports[i+1:]...)
			}
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
	child, err := tx.Conversation(found[0].Conversation)
	if err != nil {
		return nil, err
	}
	if err := child.In(tx).EndBelow(store.TaskStopped); err != nil {
		return nil, err
	}
	low, high := child.RowRange(1, store.MaxSeq)
	seqs, err := store.Column[int64](tx, "SELECT seq FROM messages WHERE id BETWEEN ? AND ?", low, high)
	if err != nil {
		return nil, err
	}
	if err := purge(child, tx); err != nil {
		return nil, err
	}
	tx.CopiesChanged(child.Name(), seqs...)
	name := fmt.Sprintf("%s-%d", store.TaskID, found[0].Number)
	if err := c.In(tx).DeleteWaiting(name); err != nil {
		return nil, err
	}
	return c.In(tx).MessagesOf("messages INDEXED BY messages_platform", 1, store.MaxSeq, "AND conversation = ? AND platform_id = ? AND role = 'user'", c.ID(), name)
}

// purgeTasks deletes the conversation's tasks with everything in them.
func purgeTasks(c *store.Conversation, tx *store.Tx) error {
	below, err := c.In(tx).Tasks("t.parent = ?", c.ID())
	if err != nil {
		return err
	}
	for _, t := range below {
		child, err := tx.Conversation(t.Conversation)
		if err == nil {
			err = purge(child, tx)
		}
		if err != nil {
			return err
		}
	}
	low, high := c.RowRange(1, store.MaxSeq)
	for _, statement := range []string{
		"DELETE FROM task_sources WHERE message BETWEEN ?2 AND ?3 OR task IN (SELECT id FROM tasks WHERE parent = ?1)",
		"DELETE FROM tasks WHERE parent = ?1",
		"UPDATE tasks SET text = '', author = '', state = CASE state WHEN 'open' THEN 'stopped' ELSE state END WHERE id = ?1",
	} {
		if _, err := tx.Exec(statement, c.ID(), low, high); err != nil {
			return err
		}
	}
	return nil
}

// deleteTasksFor deletes the tasks that a person, by platform ID, asked for.
func deleteTasksFor(c *store.Conversation, tx *store.Tx, author string) (seqs []int64, err error) {
	ids, err := store.Column[int64](tx, "SELECT id FROM tasks WHERE parent = ? AND author = ?", c.ID(), author)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		reports, err := deleteTask(c, tx, id)
		if err == nil && len(reports) > 0 {
			var gone []int64
			gone, err = deleteMessages(c, tx, reports, nil)
			seqs = append(seqs, gone...)
		}
		if err != nil {
			return nil, err
		}
	}
	return seqs, nil
}
