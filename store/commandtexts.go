// What people type into commands, which is stored beside messages: the focus of a compaction or of a setting, and who changed settings,
// pinned or paused.

package store

import "database/sql"

// focusKey is the setting whose value people write in free words; those of others are numbers and names.
const focusKey = "focus"

// namesOf selects the names under which the bot knows person ?2, whose name may be ?3 too.
const namesOf = `SELECT author FROM messages WHERE author_id = ?2 AND role = 'user'
	UNION SELECT author FROM inbox WHERE author_id = ?2 UNION SELECT name FROM optouts WHERE author_id = ?2 UNION SELECT CAST(?2 AS TEXT) UNION SELECT CAST(?3 AS TEXT)`

// typedBy selects the rows that person ?2 made. Older versions stored only a name, which several people may have, or the id of
// who had none.
const typedBy = `(made_by_id = ?2 OR made_by_id = '' AND made_by <> '' AND made_by IN (` + namesOf + `))`

// CountSettings counts the settings, pins and pauses of the conversation that the person made.
func (tr Traces) CountSettings() int {
	return getValue[int](tr.tx, `SELECT (SELECT count(*) FROM overrides WHERE conversation = ?1 AND `+typedBy+`)
		+ (SELECT count(*) FROM pins WHERE conversation = ?1 AND `+typedBy+`)
		+ (SELECT count(*) FROM pauses WHERE scope = ?4 AND `+typedBy+`)`, tr.c.id, tr.who.ID, tr.who.Name, tr.c.name)
}

// AnonymizeSettings deletes the person's settings in words, and removes their name from other settings, pins and pauses.
func (tr Traces) AnonymizeSettings() {
	tr.tx.do("DELETE FROM overrides WHERE conversation = ?1 AND key = ?4 AND "+typedBy, tr.c.id, tr.who.ID, tr.who.Name, focusKey)
	for _, table := range []string{"overrides", "pins"} {
		tr.tx.do("UPDATE "+table+" SET made_by = '', made_by_id = '' WHERE conversation = ?1 AND "+typedBy, tr.c.id, tr.who.ID, tr.who.Name)
	}
	tr.tx.do("UPDATE pauses SET made_by = '', made_by_id = '' WHERE scope IN (?1, '') AND "+typedBy, tr.c.name, tr.who.ID, tr.who.Name)
}

// CommandTexts are what people typed into commands of one conversation, in one transaction.
type CommandTexts struct {
	c  handle
	tx *Tx
}

// typedTexts select the texts that people typed into commands, with the numbers of their rows, and delete one of them: the focus and
// the error of a compaction, and the setting in words.
var typedTexts = []struct{ texts, remove string }{
	{"SELECT id, focus || ' ' || error FROM compactions WHERE conversation = ? AND (focus <> '' OR error <> '')", "UPDATE compactions SET focus = '', error = '' WHERE id = ?"},
	{"SELECT conversation, value FROM overrides WHERE conversation = ? AND key = '" + focusKey + "'", "DELETE FROM overrides WHERE conversation = ? AND key = '" + focusKey + "'"},
}

// DeleteMatching deletes each text that matches.
func (ct CommandTexts) DeleteMatching(matches func(text string) bool) {
	type typed struct {
		row  int64
		text string
	}
	for _, of := range typedTexts {
		for _, t := range listRows(ct.tx, func(rows *sql.Rows, t *typed) error { return rows.Scan(&t.row, &t.text) }, of.texts, ct.c.id) {
			if matches(t.text) {
				ct.tx.do(of.remove, t.row)
			}
		}
	}
	ct.deleteOfTasks(matches)
}

// deleteOfTasks deletes the focus of the tasks that the conversation has started whose settings match.
func (ct CommandTexts) deleteOfTasks(matches func(text string) bool) {
	for _, task := range ct.tx.tasks("t.parent = ?", ct.c.id) {
		if !matches(encode(task.Above) + " " + encode(task.Set)) {
			continue
		}
		delete(task.Above, focusKey)
		delete(task.Set, focusKey)
		ct.tx.do("UPDATE tasks SET above = ?, own = ? WHERE parent = ? AND number = ?", encode(task.Above), encode(task.Set), ct.c.id, task.Number)
	}
}

// DeleteAll deletes the focus and the error of every compaction, the focus of every task that the conversation has started, and why
// pieces of replies were not sent, which may quote them. summaries reports whether a compaction had a focus or an error.
func (ct CommandTexts) DeleteAll() (summaries bool) {
	ct.tx.do("UPDATE outbox SET error = '' WHERE conversation = ? AND error <> ''", ct.c.id)
	ct.deleteOfTasks(func(string) bool { return true })
	return ct.tx.changed("UPDATE compactions SET focus = '', error = '' WHERE conversation = ? AND (focus <> '' OR error <> '')", ct.c.id)
}

// DeleteRequests deletes the focus of every compaction, and leaves the errors.
func (ct CommandTexts) DeleteRequests() {
	ct.tx.do("UPDATE compactions SET focus = '' WHERE conversation = ? AND focus <> ''", ct.c.id)
}
