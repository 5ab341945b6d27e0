// Rebuilding: a database whose pages are damaged is made anew, if nothing people said
// lies in them.

package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// derived are the tables that are made of others: the search index and who speaks where.
var derived = []string{"message_terms", "memory_terms", "members"}

// Rebuild puts in the place of the database in the folder dir one that is made anew:
// row by row, without a look at its indexes, and with the search index made of the
// messages and memories. What was there is kept beside it; aside is the name of its file.
// Errors: ErrInUse when a bot runs on the folder, ErrDamaged when anything that stands
// nowhere else cannot be read or is missing, see lost. Nothing changes then.
func Rebuild(ctx context.Context, dir string) (aside string, err error) {
	path := File(dir)
	if err := look(path); err != nil {
		return "", err
	}
	l, err := takeLock(filepath.Join(dir, lockName))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, l.release()) }()
	part := path + ".rebuilt"
	defer func() {
		if err != nil {
			_ = os.Remove(part) // it may not be there
		}
	}()
	if err := rebuild(ctx, path, part); err != nil {
		return "", fmt.Errorf("rebuild the database: %w", explain(err))
	}
	if _, err := Inspect(ctx, part); errors.Is(err, ErrDamaged) {
		return "", fmt.Errorf("rebuild the database: what can be read of it does not fit together: `cairn restore FILE` puts a backup in its place: %w", err)
	} else if err != nil {
		return "", fmt.Errorf("rebuild the database: %w", err)
	}
	if err := flush(part); err != nil {
		return "", fmt.Errorf("rebuild the database: %w", err)
	}
	if aside, err = putAside(ctx, path); err == nil {
		err = errors.Join(os.Rename(part, path), flush(dir))
	}
	if err != nil {
		return aside, fmt.Errorf("rebuild the database: %w", err)
	}
	return aside, nil
}

func rebuild(ctx context.Context, from, to string) error {
	file, err := openPrivate(to)
	if err == nil {
		err = errors.Join(file.Truncate(0), file.Close())
	}
	if err != nil {
		return err
	}
	db := open(to, "_secure_delete=on&_foreign_keys=off")
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, "ATTACH ? AS old", address(from, "mode=ro")); err != nil {
		return errors.Join(err, db.Close())
	}
	err = transact(ctx, db, func(tx *transaction) error {
		var version int
		if err := tx.QueryRow("PRAGMA old.user_version").Scan(&version); err != nil {
			return err
		}
		if version != len(migrations) {
			return fmt.Errorf("%w: it is of version %d, and only one of version %d is made anew: `cairn restore FILE` puts a backup in its place", ErrDamaged, version, len(migrations))
		}
		for _, script := range migrations {
			if _, err := tx.Exec(script); err != nil {
				return err
			}
		}
		if err := copyRows(tx); err != nil {
			return err
		}
		_, err := tx.Exec(fmt.Sprintf("PRAGMA user_version = %d", version))
		return err
	})
	if err == nil {
		err = lost(ctx, from, to)
	}
	if err == nil {
		err = transact(ctx, db, derive)
	}
	return errors.Join(err, db.Close())
}

// copyRows copies the tables that are not made of others. Segments come last: triggers on
// other tables would change them.
func copyRows(tx *transaction) error {
	tables := map[string][]string{}
	err := each(tx, func(rows *sql.Rows) error {
		var table, column string
		err := rows.Scan(&table, &column)
		tables[table] = append(tables[table], column)
		return err
	}, "SELECT s.name, c.name FROM main.sqlite_schema s, pragma_table_info(s.name) c WHERE s.type = 'table' AND s.name NOT LIKE 'sqlite_%'")
	if err != nil {
		return err
	}
	copyTable := func(table string) error {
		columns := strings.Join(tables[table], ", ")
		_, err := tx.Exec(fmt.Sprintf("INSERT INTO main.%s (%s) SELECT %[2]s FROM old.%[1]s NOT INDEXED", table, columns))
		if err != nil {
			return fmt.Errorf("%w: %s cannot be read whole: `cairn restore FILE` puts a backup in its place: %w", ErrDamaged, table, err)
		}
		return nil
	}
	for table := range tables {
		if table == "segments" || slices.Contains(derived, table) {
			continue
		}
		if err := copyTable(table); err != nil {
			return err
		}
	}
	if err := copyTable("segments"); err != nil {
		return err
	}
	// So that no number is given twice, not even of what was deleted.
	_, err = tx.Exec(`DELETE FROM main.sqlite_sequence; INSERT INTO main.sqlite_sequence (name, seq) SELECT name, seq FROM old.sqlite_sequence`)
	return err
}

// reindex makes the tables anew that are made of others, in a file of an earlier version,
// which cut words in another way.
func reindex(tx *transaction) error {
	for _, table := range derived {
		if _, err := tx.Exec("DELETE FROM " + table); err != nil {
			return err
		}
	}
	return derive(tx)
}

// derive makes the tables that are made of others.
func derive(tx *transaction) error {
	var conversations []int64
	err := each(tx, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		conversations = append(conversations, id)
		return err
	}, "SELECT id FROM main.conversations")
	if err != nil {
		return err
	}
	for _, id := range conversations {
		c := &Conversation{id: id}
		p := &pen{tx: tx, c: c}
		if err := p.indexAll(); err != nil {
			return err
		}
	}
	memories, err := readMemories(tx, "ORDER BY m.id")
	if err != nil {
		return err
	}
	for _, m := range memories {
		c := &Conversation{name: m.Conversation}
		if err := tx.QueryRow("SELECT conversation FROM main.memories WHERE id = ?", m.ID).Scan(&c.id); err != nil {
			return err
		}
		if err := c.indexMemory(tx, m.ID, m.Content, m.About); err != nil {
			return err
		}
	}
	return fillMembers(tx)
}

// indexAll indexes every message of a conversation, a page of them at a time.
func (p *pen) indexAll() error {
	const page = 1000
	for from := int64(1); ; {
		messages, err := p.c.messages(p.tx, from, 1<<32-1, "ORDER BY id LIMIT ?", page)
		if err != nil || len(messages) == 0 {
			return err
		}
		for _, m := range messages {
			if err := p.index(m); err != nil {
				return err
			}
		}
		from = messages[len(messages)-1].Seq + 1
	}
}
