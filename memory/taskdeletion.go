// Deletions reach tasks: what sub-agents derived from deleted messages is deleted too.

package memory

import (
	"fmt"

	"cairn/chat"
)

// deleteTasksOf deletes what tasks derived from messages: their conversations and their reports
// here, which it returns. An open task ends silently: its source is gone.
func (c *Conversation) deleteTasksOf(tx *transaction, deleted []chat.Message) (reports []chat.Message, err error) {
	seen := map[int64]bool{}
	for _, m := range deleted {
		ids, err := column[int64](tx, "SELECT task FROM task_sources WHERE message = ?", c.row(m.Seq))
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if seen[id] {
				continue
			}
			seen[id] = true
			report, err := c.deleteTask(tx, id)
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
func (c *Conversation) deleteTask(tx *transaction, id int64) (report []chat.Message, err error) {
	found, err := c.tasksWhere(tx, "t.id = ?", id)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	child, err := tx.conversation(found[0].Conversation)
	if err != nil {
		return nil, err
	}
	if err := child.endBelow(tx, TaskStopped); err != nil {
		return nil, err
	}
	if _, err := tx.Exec("UPDATE tasks SET text = '', author = '' WHERE id = ?", id); err != nil {
		return nil, err
	}
	if err := child.deleteEverything(tx); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%s-%d", TaskID, found[0].Number)
	if err := c.deleteWaiting(tx, name); err != nil {
		return nil, err
	}
	return c.messagesOf(tx, "messages INDEXED BY messages_platform", 1, maxSeq, "AND conversation = ? AND platform_id = ? AND role = 'user'", c.id, name)
}

// deleteEverything deletes every message of a task's conversation, and what is waiting there or
// still has to be sent, like deletions by people: open handles are notified.
func (c *Conversation) deleteEverything(tx *transaction) error {
	waits, err := c.waiting(tx, "")
	if err != nil {
		return err
	}
	for _, m := range waits {
		if err := c.deleteWaiting(tx, m.ID); err != nil {
			return err
		}
	}
	if _, err := tx.Exec("DELETE FROM outbox WHERE conversation = ?", c.id); err != nil {
		return err
	}
	all, err := c.messages(tx, 1, maxSeq, "")
	if err != nil || len(all) == 0 {
		return err
	}
	if _, err := c.deleteTasksOf(tx, all); err != nil { // its reports are already in all
		return err
	}
	seqs, err := c.deleteMessages(tx, all, nil)
	if err != nil {
		return err
	}
	low, high := c.rows(1, maxSeq)
	if _, err := tx.Exec("UPDATE messages SET calls = '', context = '' WHERE id BETWEEN ? AND ?", low, high); err != nil {
		return err
	}
	tx.tell(c.name, seqs...)
	return nil
}

// purgeTasks deletes the conversation's tasks with everything in them.
func (c *Conversation) purgeTasks(tx *transaction) error {
	below, err := c.tasksWhere(tx, "t.parent = ?", c.id)
	if err != nil {
		return err
	}
	for _, t := range below {
		child, err := tx.conversation(t.Conversation)
		if err == nil {
			err = child.purge(tx)
		}
		if err != nil {
			return err
		}
	}
	low, high := c.rows(1, maxSeq)
	for _, statement := range []string{
		"DELETE FROM task_sources WHERE message BETWEEN ?2 AND ?3 OR task IN (SELECT id FROM tasks WHERE parent = ?1)",
		"DELETE FROM tasks WHERE parent = ?1",
		"UPDATE tasks SET text = '', state = CASE state WHEN 'open' THEN 'stopped' ELSE state END WHERE id = ?1",
	} {
		if _, err := tx.Exec(statement, c.id, low, high); err != nil {
			return err
		}
	}
	return nil
}

// deleteTasksFor deletes the tasks that a person, by platform ID, asked for.
func (c *Conversation) deleteTasksFor(tx *transaction, author string) (seqs []int64, err error) {
	ids, err := column[int64](tx, "SELECT id FROM tasks WHERE parent = ? AND author = ?", c.id, author)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		reports, err := c.deleteTask(tx, id)
		if err == nil && len(reports) > 0 {
			var gone []int64
			gone, err = c.deleteMessages(tx, reports, nil)
			seqs = append(seqs, gone...)
		}
		if err != nil {
			return nil, err
		}
	}
	return seqs, nil
}
