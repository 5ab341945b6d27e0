// What people type into commands, which is stored beside messages: the focus of a compaction or of a setting. Only settings and
// pins know who it was, and only by name.

package privacy

import (
	"database/sql"
	"encoding/json"

	"cairn/chat"
	"cairn/internal/words"
	"cairn/store"
)

// textSetting is the setting whose value people write in words of their own; those of others are numbers and names.
const textSetting = "focus"

// eraseTyped deletes what a person may have typed into commands of the conversation: settings in words that somebody of their
// name made, and the focus of each compaction and task, of which nobody knows who asked for it. It also removes their name from
// settings, pins and pauses.
func eraseTyped(c *store.Conversation, tx *store.Tx, who Who) {
	names := namesOf(tx, who)
	tx.Do("DELETE FROM overrides WHERE conversation = ? AND key = ? AND made_by IN (SELECT value FROM json_each(?))", c.ID(), textSetting, names)
	for _, table := range []string{"overrides", "pins"} {
		tx.Do("UPDATE "+table+" SET made_by = '' WHERE conversation = ? AND made_by IN (SELECT value FROM json_each(?))", c.ID(), names)
	}
	tx.Do("UPDATE pauses SET made_by = '' WHERE scope IN (?, '') AND made_by IN (SELECT value FROM json_each(?))", c.Name(), names)
	if tx.Do("UPDATE compactions SET focus = '', error = '' WHERE conversation = ? AND (focus <> '' OR error <> '')", c.ID()) {
		c.In(tx).NextVersion() // summaries in memory are read again: a repair keeps the focus of what it repairs
	}
	tx.Do("UPDATE outbox SET error = '' WHERE conversation = ? AND error <> ''", c.ID())
	tx.Do("UPDATE tasks SET above = json_remove(above, '$."+textSetting+"'), own = json_remove(own, '$."+textSetting+"') WHERE parent = ?", c.ID())
}

// namesOf returns the names under which a person is known, as a JSON list, with their id: who has no name is noted by it.
func namesOf(tx *store.Tx, who Who) string {
	names := store.Values[string](tx, `SELECT author FROM messages INDEXED BY messages_author WHERE author_id = ?1 AND role = 'user' AND author <> ''
		UNION SELECT author FROM inbox WHERE author_id = ?1 AND author <> '' UNION SELECT name FROM optouts WHERE author_id = ?1 AND name <> ''`, who.ID)
	names = append(names, who.ID)
	if who.Name != "" {
		names = append(names, who.Name)
	}
	list, _ := json.Marshal(names) // strings can always be encoded
	return string(list)
}

// forgetTyped deletes what was typed into commands if it contains a word that no message contains any more: it quotes what
// was deleted, or what an edit removed.
func forgetTyped(c *store.Conversation, tx *store.Tx, lost map[string]bool) {
	if len(lost) == 0 {
		return
	}
	type typed struct {
		id   int64
		text string
	}
	saying := func(query string, args ...any) (found []int64) {
		for _, one := range store.List(tx, func(rows *sql.Rows, t *typed) error { return rows.Scan(&t.id, &t.text) }, query, args...) {
			if says(one.text, lost) {
				found = append(found, one.id)
			}
		}
		return found
	}
	for _, id := range saying("SELECT id, focus || ' ' || error FROM compactions WHERE conversation = ? AND (focus <> '' OR error <> '')", c.ID()) {
		tx.Do("UPDATE compactions SET focus = '', error = '' WHERE id = ?", id)
	}
	for _, conversation := range saying("SELECT conversation, value FROM overrides WHERE conversation = ? AND key = ?", c.ID(), textSetting) {
		tx.Do("DELETE FROM overrides WHERE conversation = ? AND key = ?", conversation, textSetting)
	}
	for _, id := range saying("SELECT id, above || ' ' || own FROM tasks WHERE parent = ?", c.ID()) {
		tx.Do("UPDATE tasks SET above = json_remove(above, '$."+textSetting+"'), own = json_remove(own, '$."+textSetting+"') WHERE id = ?", id)
	}
}

// lostTerms returns the terms of deleted messages, which are out of the index already, that no other message contains.
func lostTerms(c *store.Conversation, tx *store.Tx, deleted []chat.Message) map[string]bool {
	const least = 4 // bytes of a word that gives away deleted text: small numbers occur everywhere
	lost := make(map[string]bool)
	for _, m := range deleted {
		for _, word := range words.Cut(textOf(m)) {
			if lost[word.Term] || word.Stop || len(word.Folded) < least {
				continue
			}
			if !store.Exists(tx, "SELECT 1 FROM message_terms WHERE conversation = ? AND term = ?", c.ID(), word.Term) {
				lost[word.Term] = true
			}
		}
	}
	return lost
}
