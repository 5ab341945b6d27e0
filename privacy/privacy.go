// Package privacy deletes messages with every copy of their text, memories of words that an edit removed, a person's data,
// and whole conversations.
package privacy

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"cairn/store"
)

// Conversation deletes text of a conversation.
type Conversation struct{ c *store.Conversation }

func Of(c *store.Conversation) Conversation { return Conversation{c} }

// Everyone reaches the people of all conversations, and their pending erasures.
type Everyone struct{ store *store.Store }

func In(s *store.Store) Everyone { return Everyone{s} }

// Apply stores a held delivery, see store.Held.Watch.
func (ps Everyone) Apply(ctx context.Context, d store.Delivery) error {
	c, err := ps.store.Conversation(ctx, d.Conversation)
	if err == nil && len(d.Messages) > 0 {
		_, err = c.Inbox().Deliver(ctx, d.Messages...)
	}
	if err == nil && d.Edited != nil {
		_, _, err = Of(c).Edit(ctx, *d.Edited)
	}
	if err == nil && len(d.Deleted) > 0 {
		err = Of(c).Delete(ctx, d.Deleted)
	}
	return err
}

// OptOut keeps a person of this connector, by platform ID, out of all memories from now on, or, with out = false, no longer;
// changed is false if that was so already. Existing memories stay.
func (pr Conversation) OptOut(ctx context.Context, author, name string, out bool) (changed bool, err error) {
	return store.Update(ctx, pr.c, "keep a person out of memories", func(tx *store.Tx) bool {
		if out {
			return tx.Do("INSERT INTO optouts (connector, author_id, name, made_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
				pr.c.Connector(), author, name, store.Now())
		}
		return tx.Do("DELETE FROM optouts WHERE connector = ? AND author_id = ?", pr.c.Connector(), author)
	})
}

// Erasure is a person whose traces in a conversation must be deleted.
type Erasure struct {
	Conversation string
	Author       string // the platform's id
}

// Erased counts what one step of an erasure deleted.
type Erased struct {
	Messages int
	Memories int
	Done     bool // nothing is left
}

// erasedAtOnce limits the messages or memories of one step, for which other writers have to wait.
const erasedAtOnce = 40

// ErrNobody is returned for an empty id, which would match everyone whose connector has no ids.
var ErrNobody = errors.New("the person's id is empty")

// Traces counts what is stored about a person in the conversation. Messages are theirs, with waiting ones, tasks that they asked
// for, summaries in which they wrote or removed a line, and settings, pins and pauses that they made. Memories are those that they said first,
// or that are about them.
func (pr Conversation) Traces(ctx context.Context, who Who) (Holding, error) {
	return store.View(ctx, pr.c, "count what is stored about a person", func(tx *store.Tx) Holding { return traces(pr.c, tx, who) })
}

func traces(c *store.Conversation, tx *store.Tx, who Who) Holding {
	author := who.ID
	if author == "" {
		tx.Fail(ErrNobody)
	}
	messages := store.Get[int](tx, `SELECT (SELECT count(*) FROM messages INDEXED BY messages_author
			WHERE author_id = ?2 AND role = 'user' AND `+store.Own+` AND deleted_at IS NULL)
		+ (SELECT count(*) FROM inbox WHERE conversation = ?1 AND author_id = ?2)
		+ (SELECT count(*) FROM tasks WHERE parent = ?1 AND author = ?2)`,
		c.ID(), author) + len(linesOf(c, tx, author)) + typedIn(c, tx, who)
	return Holding{c.Name(), messages, tx.TracesOf(c, author).CountMemories(math.MaxInt64)}
}

// Everywhere returns the conversations of a person's connector in which something about them is stored, and how much in each.
func (ps Everyone) Everywhere(ctx context.Context, who Who) (in []*store.Conversation, held Holdings, err error) {
	return ps.hold(ctx, func(c *store.Conversation, tx *store.Tx) Holding { return traces(c, tx, who) },
		`WHERE name >= ?1 || ':' AND name < ?1 || ';' AND id IN (
			SELECT conversation FROM messages INDEXED BY messages_author WHERE author_id = ?2 AND role = 'user'
			UNION SELECT conversation FROM inbox WHERE author_id = ?2
			UNION SELECT parent FROM tasks WHERE author = ?2
			UNION SELECT conversation FROM overrides WHERE `+typedBy+`
			UNION SELECT conversation FROM pins WHERE `+typedBy+`
			UNION SELECT id FROM pauses JOIN conversations ON name = scope WHERE `+typedBy+`
			UNION SELECT conversation FROM compactions WHERE `+hasLines+`
			UNION SELECT k.conversation FROM memory_people p JOIN memories k ON k.id = p.memory WHERE p.author_id = ?2) ORDER BY id`, who.Connector, who.ID, who.Name)
}

// Erase notes that a person's traces in these conversations must be deleted, and removes their waiting messages. EraseSome does
// the rest, step by step, after what they typed into commands is deleted here; later messages stay. The note survives the process, see Erasures, and lasts while messages that
// were missed are still to be read: the person's, from before it, are left out. Messages from before the bot came are not
// read any more.
func (ps Everyone) Erase(ctx context.Context, who Who, in ...*store.Conversation) (waiting int, err error) {
	author := who.ID
	err = ps.store.Erase(ctx, func(tx *store.Tx) {
		if author == "" {
			tx.Fail(ErrNobody)
		}
		for _, c := range in {
			eraseTyped(c, tx, who) // first, while their messages have their names
			for _, m := range c.In(tx).Waiting("AND author_id = ?", author) {
				deleteUnread(c, tx, m.ID)
				waiting++
			}
			tx.Do(`INSERT OR REPLACE INTO erasures (conversation, author_id, before, upto, asked_at)
				SELECT id, ?, next_seq, (SELECT coalesce(max(id), 0) FROM memories), ? FROM conversations WHERE id = ?`, author, store.Now(), c.ID())
			tx.Do("UPDATE conversations SET read_back = 1 WHERE id = ?", c.ID())
		}
	})
	return waiting, store.Fail("forget a person", err)
}

// EraseTyped deletes what a person may have typed into commands of these conversations, and nothing else.
func (ps Everyone) EraseTyped(ctx context.Context, who Who, in ...*store.Conversation) error {
	err := ps.store.Erase(ctx, func(tx *store.Tx) {
		for _, c := range in {
			eraseTyped(c, tx, who)
		}
	})
	return store.Fail("forget what a person typed", err)
}

// Erasures returns what is still to be erased.
func (ps Everyone) Erasures(ctx context.Context) (due []Erasure, err error) {
	err = ps.store.View(ctx, func(tx *store.Tx) {
		due = store.List(tx, func(rows *sql.Rows, e *Erasure) error { return rows.Scan(&e.Conversation, &e.Author) },
			"SELECT c.name, e.author_id FROM erasures e JOIN conversations c ON c.id = e.conversation ORDER BY c.id, e.author_id")
	})
	return due, store.Fail("look for what is to be forgotten", err)
}

// EraseSome deletes the next of a person's messages and memories, as Delete does, in one short transaction. The tombstones do not
// say whose they were.
func (pr Conversation) EraseSome(ctx context.Context, author string) (e Erased, err error) {
	err = erase(ctx, pr.c, "forget a person", func(tx *store.Tx) {
		var before, upto int64
		if !tx.Row("SELECT before, upto FROM erasures WHERE conversation = ? AND author_id = ?", pr.c.ID(), author).Found(&before, &upto) {
			e.Done = true
			return
		}
		had := tx.TracesOf(pr.c, author).CountMemories(upto)
		left := eraseMessages(pr.c, tx, author, before, &e) || eraseMemories(pr.c, tx, author, upto, &e) || eraseLines(pr.c, tx, author, &e)
		e.Memories = had - tx.TracesOf(pr.c, author).CountMemories(upto)
		if left { // those that only the messages said went with them
			return
		}
		e.Done = true
		tx.Do("UPDATE compactions SET focus = '' WHERE conversation = ? AND focus <> ''", pr.c.ID()) // of a job that began meanwhile
		tx.Do(`DELETE FROM members WHERE conversation = ?1 AND name NOT IN (
			SELECT author FROM messages WHERE `+store.Own+` AND role = 'user' AND deleted_at IS NULL)`, pr.c.ID())
		tx.Do(`DELETE FROM erasures WHERE conversation = ?1 AND author_id = ?2
			AND (SELECT gap IS NULL FROM conversations WHERE id = ?1)`, pr.c.ID(), author)
	})
	return e, err
}

// quotedOf selects the ids of messages that the bot never read, and that replies quote under a name of the person, the only thing
// known about their author. Another person of that name loses such a quote too.
const quotedOf = `WITH names (start) AS (SELECT DISTINCT author || ': ' FROM messages INDEXED BY messages_author
		WHERE author_id = ?2 AND role = 'user' AND id BETWEEN ?3 AND ?4 AND author <> ''),
	replies (id, quote) AS (SELECT reply_to, quote FROM messages INDEXED BY messages_quotes WHERE conversation = ?1 AND quote <> ''
		UNION ALL SELECT reply_to, quote FROM inbox WHERE conversation = ?1 AND quote <> '')
	SELECT DISTINCT id FROM replies r JOIN names ON substr(quote, 1, length(start)) = start
		WHERE NOT EXISTS (SELECT 1 FROM messages WHERE conversation = ?1 AND platform_id = r.id AND role = 'user')
		AND NOT EXISTS (SELECT 1 FROM inbox WHERE conversation = ?1 AND platform_id = r.id)`

// eraseMessages deletes the oldest messages; left reports that there may be more.
func eraseMessages(c *store.Conversation, tx *store.Tx, author string, before int64, e *Erased) (left bool) {
	low, last := c.RowRange(1, before-1)
	high := store.Get[int64](tx, `SELECT coalesce((SELECT id FROM messages INDEXED BY messages_author
		WHERE author_id = ? AND role = 'user' AND id BETWEEN ? AND ? AND deleted_at IS NULL ORDER BY id LIMIT 1 OFFSET ?), ?)`,
		author, low, last, erasedAtOnce-1, last)
	ids := store.Values[string](tx, `SELECT platform_id FROM messages INDEXED BY messages_author
		WHERE author_id = ? AND role = 'user' AND id BETWEEN ? AND ? AND deleted_at IS NULL`, author, low, high)
	quoted := store.Values[string](tx, quotedOf, c.ID(), author, low, high)
	tasks := tx.Tasks("t.parent = ? AND t.author = ?", c.ID(), author)
	for _, t := range tasks {
		for _, report := range deleteTask(c, tx, t) {
			quoted = append(quoted, report.ID)
		}
	}
	deleteAll(c, tx, append(ids, quoted...))
	e.Messages = len(ids) + len(tasks)
	tx.Do(`UPDATE conversations SET label = '' WHERE id = ? AND label IN (SELECT author FROM messages INDEXED BY messages_author
		WHERE author_id = ? AND role = 'user' AND id BETWEEN ? AND ?)`, c.ID(), author, low, high) // a direct message is called by their name
	tx.Do(`UPDATE messages INDEXED BY messages_author SET author = '', author_id = ''
		WHERE author_id = ? AND role = 'user' AND id BETWEEN ? AND ? AND deleted_at IS NOT NULL`, author, low, high)
	return high < last
}

// eraseMemories deletes the next memories; left reports that there may be more.
func eraseMemories(c *store.Conversation, tx *store.Tx, author string, upto int64, e *Erased) (left bool) {
	theirs := tx.TracesOf(c, author).Memories(upto, erasedAtOnce)
	var gone []int64
	for _, m := range theirs {
		tx.MemoriesOf(c).Delete(m)
		gone = append(gone, m.ID)
	}
	c.In(tx).ForgetQuotes(gone, true)
	if len(theirs) == erasedAtOnce {
		return true
	}
	tx.TracesOf(c, author).LeaveMemories(upto)
	return false
}

// Find returns the people with that id, or that name in any case, who have spoken or typed commands in the conversations of a
// connector, or of any if it is empty, or about whom something is remembered. If there are none, the text may have the connector in front:
// discord:ID.
func (ps Everyone) Find(ctx context.Context, connector, nameOrID string) (found []Who, err error) {
	err = ps.store.View(ctx, func(tx *store.Tx) {
		found = store.List(tx, func(rows *sql.Rows, w *Who) error { return rows.Scan(&w.Connector, &w.ID, &w.Name) },
			`SELECT DISTINCT substr(c.name, 1, instr(c.name, ':') - 1), said.author_id, said.author FROM (
			SELECT conversation, author_id, author FROM messages WHERE role = 'user' AND author_id <> ''
			UNION SELECT conversation, author_id, author FROM inbox WHERE author_id <> ''
			UNION SELECT conversation, made_by_id, made_by FROM overrides WHERE made_by_id <> ''
			UNION SELECT conversation, made_by_id, made_by FROM pins WHERE made_by_id <> ''
			UNION SELECT id, made_by_id, made_by FROM pauses JOIN conversations ON name = scope WHERE made_by_id <> ''
			UNION SELECT conversation, author_id, '' FROM memory_people p JOIN memories k ON k.id = p.memory) said
			JOIN conversations c ON c.id = said.conversation WHERE ?1 = '' OR c.name >= ?1 || ':' AND c.name < ?1 || ';' ORDER BY 1, 2, 3 DESC`, connector)
	})
	if err != nil {
		return nil, fmt.Errorf("look for %q: %w", nameOrID, err)
	}
	found = slices.DeleteFunc(found, func(w Who) bool { return w.ID != nameOrID && !strings.EqualFold(w.Name, nameOrID) })
	found = slices.CompactFunc(found, func(a, b Who) bool { return a.Connector == b.Connector && a.ID == b.ID }) // they may have had several names
	if first, id, named := strings.Cut(nameOrID, ":"); named && connector == "" && len(found) == 0 {
		return ps.Find(ctx, first, id)
	}
	return found, nil
}

// Who is a person of a connector.
type Who struct {
	Connector string `json:"connector"`
	ID        string `json:"id"` // the platform's
	Name      string `json:"name"`
}

func (w Who) String() string {
	return strings.TrimSpace(w.Name + " (" + w.Connector + ":" + w.ID + ")")
}
