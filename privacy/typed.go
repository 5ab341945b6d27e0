// What people type into commands, which is stored beside messages: the focus of a compaction or of a setting. Settings, pins and
// pauses know who it was.

package privacy

import (
	"database/sql"

	"cairn/chat"
	"cairn/internal/words"
	"cairn/store"
)

// textSetting is the setting whose value people write in words of their own; those of others are numbers and names.
const textSetting = "focus"

// namesOf selects the names under which the bot knows person ?2, whose name may be ?3 too.
const namesOf = `SELECT author FROM messages INDEXED BY messages_author WHERE author_id = ?2 AND role = 'user'
	UNION SELECT author FROM inbox WHERE author_id = ?2 UNION SELECT name FROM optouts WHERE author_id = ?2 UNION SELECT ?2 UNION SELECT ?3`

// typedBy selects the rows that person ?2 made. Older versions stored only a name, which several people may have, or the id of
// who had none.
const typedBy = `(made_by_id = ?2 OR made_by_id = '' AND made_by <> '' AND made_by IN (` + namesOf + `))`

// eraseTyped deletes what a person typed into commands of the conversation: settings in words, and the focus of each compaction
// and task, of which nobody knows who asked for it. It also removes their name from settings, pins and pauses.
func eraseTyped(c *store.Conversation, tx *store.Tx, who Who) {
	tx.Do("DELETE FROM overrides WHERE conversation = ?1 AND key = ?4 AND "+typedBy, c.ID(), who.ID, who.Name, textSetting)
	for _, table := range []string{"overrides", "pins"} {
		tx.Do("UPDATE "+table+" SET made_by = '', made_by_id = '' WHERE conversation = ?1 AND "+typedBy, c.ID(), who.ID, who.Name)
	}
	tx.Do("UPDATE pauses SET made_by = '', made_by_id = '' WHERE scope IN (?1, '') AND "+typedBy, c.Name(), who.ID, who.Name)
	if tx.Do("UPDATE compactions SET focus = '', error = '' WHERE conversation = ? AND (focus <> '' OR error <> '')", c.ID()) {
		c.In(tx).NextVersion() // summaries in memory are read again: a repair keeps the focus of what it repairs
	}
	tx.Do("UPDATE outbox SET error = '' WHERE conversation = ? AND error <> ''", c.ID())
	tx.Do("UPDATE tasks SET above = json_remove(above, '$."+textSetting+"'), own = json_remove(own, '$."+textSetting+"') WHERE parent = ?", c.ID())
}

// typedIn counts the settings, pins and pauses of the conversation that a person made.
func typedIn(c *store.Conversation, tx *store.Tx, who Who) int {
	return store.Get[int](tx, `SELECT (SELECT count(*) FROM overrides WHERE conversation = ?1 AND `+typedBy+`)
		+ (SELECT count(*) FROM pins WHERE conversation = ?1 AND `+typedBy+`)
		+ (SELECT count(*) FROM pauses WHERE scope = ?4 AND `+typedBy+`)`, c.ID(), who.ID, who.Name, c.Name())
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
