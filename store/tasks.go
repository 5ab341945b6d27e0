// Tasks of sub-agents. A task is a separate conversation, with inbox, turns, summaries and
// search; a row holds which conversation it reports to, and how it ended.

package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// TaskConnector is the first part of the names of tasks' conversations.
const TaskConnector = "task"

// OwnID begins the IDs of messages that no platform knows: those that people wrote into a command, and those of tasks.
const OwnID = "cairn:"

// IsOwn reports whether no platform knows an ID.
func IsOwn(id string) bool { return strings.HasPrefix(id, OwnID) }

// TaskID begins the IDs of messages between tasks and their parents.
const TaskID = OwnID + "task"

// TaskState is how far a task has come, or how it ended.
type TaskState string

// The states of a task.
const (
	TaskOpen    TaskState = "open"
	TaskDone    TaskState = "done"
	TaskFailed  TaskState = "failed"
	TaskStopped TaskState = "stopped" // by people
	TaskExpired TaskState = "expired" // it took too long, or made too many calls
)

// Task is the work of a sub-agent.
type Task struct {
	Number       int64             `json:"number"` // counts the tasks of its parent, from 1
	Parent       string            `json:"parent"` // the conversation that it reports to
	Conversation string            `json:"conversation"`
	Agent        string            `json:"agent"`
	Text         string            `json:"text"`
	State        TaskState         `json:"state"`
	Began        int64             `json:"began_seq"`        // the parent's newest message when the task began
	Author       string            `json:"author,omitempty"` // the platform ID of the person who asked for it; empty: the model did
	Above        map[string]string `json:"-"`                // what the parent's layers set of the policy
	Set          map[string]string `json:"-"`                // what the call set
	Sources      []int64           `json:"-"`                // the parent's messages that it is derived from
	Created      time.Time         `json:"created"`
	Ended        time.Time         `json:"ended,omitzero"`
	Messages     int64             `json:"messages"` // in its conversation
	Tokens       int64             `json:"tokens"`   // input and output of its models so far, as their servers counted them
}

// NewTask describes a task to begin.
type NewTask struct {
	Task           // its Agent, Text, Author, Above, Own, Began and Sources
	Message string // the first message to the sub-agent, derived from Sources, too
	Turn    int64  // the parent's turn that begins it; 0: a person's command does
	Max     int    // the maximum number of tasks that may be open below the root conversation
	Chain   int    // the maximum number of tasks that one message from outside may set off, see chainOf
}

// Errors of Begin.
var (
	ErrTooManyTasks = errors.New("too many tasks are open") // this one must wait
	ErrChainSpent   = errors.New("one message has triggered too many tasks")
)

// RootOf returns the conversation of people above a task's, and how deep the task is below it: 0 if it is none.
func RootOf(name string) (root string, depth int) {
	for strings.HasPrefix(name, TaskConnector+":") {
		name = ParentOf(name)
		depth++
	}
	return name, depth
}

func (c handle) IsTask() bool { return strings.HasPrefix(c.name, TaskConnector+":") }

// DeletedSourceError is the error of a task that repeats a message which was deleted meanwhile.
type DeletedSourceError struct{ Seq int64 }

func (e *DeletedSourceError) Error() string {
	return fmt.Sprintf("message #%d, which the task comes from, was deleted: begin it again without that", e.Seq)
}

// Begin begins a task: when it returns, the task's conversation has its first message. A *DeletedSourceError names a source
// that was deleted since the task was written.
func (ts Tasks) Begin(ctx context.Context, n NewTask) (Task, error) {
	root, _ := RootOf(ts.c.name)
	return Update(ctx, ts.c, "begin a task", func(tx *Tx) Task {
		var rootID, number int64
		var open int
		tx.row(`SELECT id, (SELECT count(*) FROM tasks WHERE root = c.id AND state = 'open'),
			(SELECT coalesce(max(number), 0) FROM tasks WHERE parent = ?) FROM conversations c WHERE name = ?`, ts.c.id, root).Scan(&rootID, &open, &number)
		if open >= n.Max {
			tx.Fail(ErrTooManyTasks)
			return Task{}
		}
		chain := ts.chainOf(tx, n.Turn)
		if chain != 0 && getValue[int](tx, "SELECT count(*) FROM tasks WHERE chain = ?", chain) >= n.Chain {
			tx.Fail(ErrChainSpent)
			return Task{}
		}
		child := handle{store: ts.c.store}
		for child.id == 0 && tx.err == nil { // memories imported from a task elsewhere may have taken the name
			number++
			child.name = fmt.Sprintf("%s:%s/%d", TaskConnector, ts.c.name, number)
			if len(child.name) > MaxName {
				tx.Fail(errors.New("the name of the conversation is too long"))
			}
			child.id = getValue[int64](tx, "INSERT INTO conversations (name, created_at) VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING id", child.name, nowMillis())
		}
		tx.do(`INSERT INTO tasks (id, parent, root, number, agent, text, began, author, above, own, state, created_at, chain)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'open', ?, ?)`,
			child.id, ts.c.id, rootID, number, n.Agent, n.Text, n.Began, n.Author, encode(n.Above), encode(n.Set), nowMillis(), cmp.Or(chain, child.id))
		for _, seq := range n.Sources {
			if len(ts.c.Messages(tx).read(seq, seq, "")) == 0 { // the task repeats it, and nothing would delete that any more
				tx.Fail(&DeletedSourceError{seq})
			}
			tx.do("INSERT INTO task_sources (message, task) VALUES (?, ?) ON CONFLICT DO NOTHING", ts.c.rowID(seq), child.id)
		}
		Inbox{child}.deliver(tx, taskMessage("", n.Message, TaskID, ts.c.name))
		return Tasks{child}.self(tx)
	})
}

// chainOf returns what set off the tasks that a turn begins, see tasks.chain: the newest message in it that is not a task's
// result; for results alone, what set off the newest of their tasks; in a task, what set off that. 0: the turn begins a chain.
// The model could otherwise answer each result with another task, for ever.
func (ts Tasks) chainOf(tx *Tx, turn int64) (chain int64) {
	switch {
	case ts.c.IsTask():
		return getValue[int64](tx, "SELECT chain FROM tasks WHERE id = ?", ts.c.id)
	case turn == 0:
		return 0
	}
	low, high := ts.c.rowRange(turn, MaxSeq)
	const addressed = " FROM messages m WHERE m.id BETWEEN ?1 AND ?2 AND m.addressed = 1 AND m.turn = ?3 AND instr(m.platform_id, ?4) "
	chain = getValue[int64](tx, "SELECT coalesce(max(m.id), 0)"+addressed+"<> 1", low, high, turn, TaskID+"-")
	if chain == 0 {
		chain = getValue[int64](tx, "SELECT coalesce(max((SELECT chain FROM tasks t JOIN conversations k USING (id) WHERE k.name = m.author_id)), 0)"+
			addressed+"= 1", low, high, turn, TaskID+"-")
	}
	return chain
}

// taskMessage returns a message between a task and its parent, which asks for a turn. Its author's ID is a conversation's name,
// so that it does not count as anyone else's turn.
func taskMessage(author, text, id, from string) Inbound {
	return Inbound{ID: id, Author: author, AuthorID: from, Text: text, Addressed: true, uncounted: true}
}

// Continue resumes the task of this conversation with a message, unless the task has ended, or a message waits already.
func (ts Tasks) Continue(ctx context.Context, text string) error {
	return ts.c.Update(ctx, "continue a task", func(tx *Tx) {
		next := getValue[int64](tx, `SELECT next_seq FROM conversations c JOIN tasks USING (id) WHERE id = ? AND state = 'open'
			AND NOT EXISTS (SELECT 1 FROM inbox WHERE conversation = c.id)`, ts.c.id)
		if next != 0 {
			Inbox(ts).deliver(tx, taskMessage("", text, fmt.Sprintf("%s-next-%d", TaskID, next), ts.c.name))
		}
	})
}

// End ends the task that this conversation is, and the tasks below it, unless it had already; report goes to its parent.
func (ts Tasks) End(ctx context.Context, state TaskState, author, report string) (ended bool, err error) {
	return Update(ctx, ts.c, "end a task", func(tx *Tx) (ended bool) {
		t := ts.self(tx)
		if t.State != TaskOpen {
			return false
		}
		endBelow(tx, ts.c.id, state)
		parent := tx.Conversation(t.Parent)
		result := taskMessage(author, report, fmt.Sprintf("%s-%d", TaskID, t.Number), ts.c.name)
		if t.Author == "" && !parent.IsTask() {
			low, high := parent.rowRange(1, t.Began)
			result.ReplyTo = getValue[string](tx, `SELECT CASE WHEN instr(platform_id, ?3) = 1 THEN reply_to ELSE platform_id END FROM messages
				WHERE id BETWEEN ?1 AND ?2 AND addressed = 1 ORDER BY id DESC LIMIT 1`, low, high, TaskID+"-") // who asked for the task
		}
		parent.Inbox().deliver(tx, result)
		return true
	})
}

// Drop silently ends the open tasks that the model began after message began, and returns them.
func (ts Tasks) Drop(ctx context.Context, began int64) ([]Task, error) {
	return Update(ctx, ts.c, "drop tasks", func(tx *Tx) []Task {
		open := tx.tasks("t.parent = ? AND t.state = 'open' AND t.author = '' AND t.began >= ?", ts.c.id, began)
		for i := range open {
			dropped := tx.Conversation(open[i].Conversation)
			endBelow(tx, dropped.id, TaskStopped)
			tx.do(`WITH RECURSIVE below (id) AS (SELECT CAST(?1 AS BIGINT) UNION SELECT t.id FROM tasks t JOIN below b ON t.parent = b.id)
				UPDATE tasks SET chain = 0 WHERE id IN (SELECT id FROM below)`, dropped.id) // the turn begins them again
			open[i].State = TaskStopped
		}
		return open
	})
}

func endBelow(tx *Tx, conversation int64, state TaskState) {
	tx.do(`WITH RECURSIVE below (id) AS (SELECT CAST(?1 AS BIGINT) UNION SELECT t.id FROM tasks t JOIN below b ON t.parent = b.id WHERE t.state = 'open')
		UPDATE tasks SET state = CASE WHEN id = ?1 THEN ?2 ELSE ?3 END, ended_at = ?4 WHERE id IN (SELECT id FROM below) AND state = 'open'`, conversation, state, TaskStopped, nowMillis())
}

// Self returns the task that this conversation is, or ErrNotFound.
func (ts Tasks) Self(ctx context.Context) (Task, error) {
	return View(ctx, ts.c, "read the task", ts.self)
}

func (ts Tasks) self(tx *Tx) Task { return firstOf(tx, tx.tasks("t.id = ?", ts.c.id)) }

// Open returns the conversation's open tasks, oldest first.
func (ts Tasks) Open(ctx context.Context) ([]Task, error) {
	return View(ctx, ts.c, "read the open tasks", func(tx *Tx) []Task { return tx.tasks("t.parent = ? AND t.state = 'open'", ts.c.id) })
}

// Final reports whether a reply to the messages with these platform IDs is the last one of the task that this conversation is:
// no task below it is open, and no message came later.
func (ts Tasks) Final(ctx context.Context, answers []string) (final bool, err error) {
	err = ts.c.row(ctx, "look for unfinished work of a task", []any{&final}, `SELECT
		NOT EXISTS (SELECT 1 FROM tasks WHERE parent = ?1 AND state = 'open')
		AND NOT EXISTS (SELECT 1 FROM inbox WHERE conversation = ?1)
		AND coalesce((SELECT platform_id FROM messages WHERE `+inConversation+` AND role = 'user' ORDER BY id DESC LIMIT 1), '')
			IN (SELECT value FROM json_each(?2))`, ts.c.id, encode(answers))
	return final, err
}

// All returns the tasks that the conversation has started.
func (ts Tasks) All(tx *Tx) []Task { return tx.tasks("t.parent = ?", ts.c.id) }

// RequestedBy returns those that a person asked for, by platform ID.
func (ts Tasks) RequestedBy(tx *Tx, author string) []Task {
	return tx.tasks("t.parent = ? AND t.author = ?", ts.c.id, author)
}

// DerivedFrom returns the tasks of any conversation that were derived from a message of this one.
func (ts Tasks) DerivedFrom(tx *Tx, seq int64) []Task {
	return tx.tasks("t.id IN (SELECT task FROM task_sources WHERE message = ?)", ts.c.rowID(seq))
}

// List returns the newest 50 tasks of the conversation, the oldest of them first.
func (ts Tasks) List(ctx context.Context) ([]Task, error) {
	return View(ctx, ts.c, "list the tasks", func(tx *Tx) []Task {
		return tx.tasks("t.parent = ?1 AND t.number > (SELECT max(number) FROM tasks WHERE parent = ?1) - 50", ts.c.id)
	})
}

// OpenTasks returns all open tasks of the store.
func (s *Store) OpenTasks(ctx context.Context) (found []Task, err error) {
	err = s.View(ctx, func(tx *Tx) { found = tx.tasks("t.state = 'open'") })
	return found, Fail("look for open tasks", err)
}

// NewestTask returns the id of the task that began last; 0 if there never was one.
func (s *Store) NewestTask(ctx context.Context) (id int64, err error) {
	err = s.View(ctx, func(tx *Tx) { tx.row("SELECT coalesce(max(id), 0) FROM tasks").Scan(&id) })
	return id, Fail("look for the newest task", err)
}

// tasks reads the tasks that a condition selects.
func (t *Tx) tasks(where string, args ...any) []Task {
	return listRows(t, func(rows *sql.Rows, t *Task) error {
		return rows.Scan(&t.Number, &t.Parent, &t.Conversation, &t.Agent, &t.Text, &t.State, &t.Began, &t.Author,
			jsonInto(&t.Above), jsonInto(&t.Set), utcInto(&t.Created), utcInto(&t.Ended), &t.Messages, &t.Tokens, numbersInto(&t.Sources))
	}, `SELECT t.number, p.name, c.name, t.agent, t.text, t.state, t.began, t.author, t.above, t.own, t.created_at, t.ended_at, c.next_seq - 1,
			(SELECT coalesce(sum(input + output), 0) FROM usage WHERE conversation = t.id),
			(SELECT string_agg(CAST(message & 4294967295 AS TEXT), ',' ORDER BY message) FROM task_sources WHERE task = t.id)
		FROM tasks t JOIN conversations c ON c.id = t.id JOIN conversations p ON p.id = t.parent WHERE `+where+" ORDER BY t.number", args...)
}

// Calls counts the model calls stored so far in the task that this conversation is.
func (ts Tasks) Calls(ctx context.Context) (n int, err error) {
	err = ts.c.row(ctx, "count the calls of a task", []any{&n},
		"SELECT count(*) FROM messages WHERE "+inConversation+" AND role = 'assistant'", ts.c.id)
	return n, err
}

// ParentOf returns the name of the conversation that a task reports to.
func ParentOf(name string) string {
	name = strings.TrimPrefix(name, TaskConnector+":")
	return name[:max(strings.LastIndexByte(name, '/'), 0)]
}
