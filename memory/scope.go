// Package memory keeps facts beyond the conversation: it saves memories from workers, the bot and
// people, and recalls those that a question needs. It defines memories and their lifecycle; package
// store has their rows and the messages they come from. Package search ranks the results.
package memory

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"unicode"

	"cairn/chat"
	"cairn/internal/words"
	"cairn/store"
)

// Memories are those that one conversation may recall, which changes only its own, or those of all
// conversations.
type Memories struct {
	store *store.Store
	c     *store.Conversation // nil: all conversations
}

// Of returns the memories that a conversation may recall.
func Of(c *store.Conversation) Memories { return Memories{c.Store(), c} }

// In returns the memories of all conversations of a store. Only Of has Keep, Recall, Completed, Shared, Tools and Records.
func In(s *store.Store) Memories { return Memories{store: s} }

// Records are what a conversation's compactor needs: its summaries, and jobs that save memories.
type Records struct {
	store.Compactions
	Prompt string // of the conversation's model: memories may name whom it names
	c      *store.Conversation
}

func (ms Memories) Records() Records { return Records{Compactions: ms.c.Compactions(), c: ms.c} }

// Shared reports whether memories are shared at all, and whether this conversation shares them.
func (ms Memories) Shared(ctx context.Context) (on, here bool, err error) {
	here, err = store.View(ctx, ms.c, "look who may read", func(tx *store.Tx) bool { return inPool(ms.c, tx) })
	return ms.c.Store().Sharing.Load(), here, err
}

// scope is the set of conversations, by number, that a query searches. Code derives it from names and from what connectors report
// about a place, never from what a user asks for. The zero value means all of them: only the shell uses it.
type scope struct {
	own    []int64 // all of their memories
	others []int64 // only those of their memories that may be shared
}

func only(id int64) scope { return scope{own: []int64{id}} }

// where returns the condition that limits a query to the scope, and its arguments. It tests the column conversation, which has an
// index. reach is the memory's: what other conversations keep to themselves is left out.
func (s scope) where(reach string) (condition string, args []any) {
	if s.own == nil {
		return "true", nil
	}
	condition, args = "conversation IN (SELECT value FROM json_each(?))", []any{jsonList(slices.Concat(s.own, s.others))}
	if len(s.others) > 0 {
		condition, args = condition+" AND ("+reach+" = 'server' OR conversation IN (SELECT value FROM json_each(?)))", append(args, jsonList(s.own))
	}
	return condition, args
}

// scopeOf returns what the conversation recalls: its own memories; in a thread also those of its channel; in a channel those of
// its threads that all its readers may read; and, where memories are shared, those of the server's public channels.
func scopeOf(c *store.Conversation, tx *store.Tx) scope {
	in := only(c.ID())
	if channel, _ := c.HangsOn(); channel != "" {
		in.own = append(in.own, store.Values[int64](tx, "SELECT id FROM conversations WHERE name = ?", channel)...)
	} else {
		in.own = append(in.own, conversationsBelow(c, tx, c.Name(), "audience <> ''")...)
	}
	if inPool(c, tx) {
		in.others = conversationsBelow(c, tx, serverOf(c), "audience = 'server'")
	}
	return in
}

// serverOf returns the connector and server part of the name; empty if it has none.
func serverOf(c *store.Conversation) string {
	server, rest, _ := strings.Cut(c.Name(), "/")
	if rest == "" {
		return ""
	}
	return server
}

func inPool(c *store.Conversation, tx *store.Tx) bool {
	return c.Store().Sharing.Load() && serverOf(c) != "" && store.Exists(tx, "SELECT 1 FROM conversations WHERE id = ? AND audience = 'server'", c.ID())
}

// conversationsBelow returns the other conversations below a channel or a server that meet a condition and have memories.
func conversationsBelow(c *store.Conversation, tx *store.Tx, name, condition string) []int64 {
	return store.Values[int64](tx, `SELECT id FROM conversations WHERE name > ? AND name < ? AND id <> ? AND `+condition+`
		AND EXISTS (SELECT 1 FROM memories WHERE conversation = conversations.id)`, name+"/", name+"0", c.ID()) // 0 comes right after /
}

// Share sets whether the public channels of one server of one connector recall each other's memories.
func (ms Memories) Share(server bool) { ms.store.Sharing.Store(server) }

// person is someone whom a memory concerns.
type person struct {
	id   string // the platform's; never empty
	name string
	role string // said: they said it first; confirmed: they said it after someone else; about: it is about them
}

// OptedOutError says, to the model that made a draft, that it concerns someone who has opted out of memories.
type OptedOutError struct {
	ID, Name string // who; the id is the platform's
}

func (e *OptedOutError) Error() string {
	return e.Name + " wants to be in no memory: save nothing of theirs or about them"
}

// errUnsaid is returned for a draft when everything it comes from was deleted.
var errUnsaid = errors.New("what it comes from has been deleted: save nothing of it")

// speakerOf and aboutOf are SQL expressions for the platform IDs of the person who said memory m
// and of the person it is about; empty text if unknown.
const (
	speakerOf = "coalesce((SELECT min(author_id) FROM memory_people WHERE memory = m.id AND role = 'said'), '')"
	aboutOf   = `coalesce((SELECT min(author_id) FROM memory_people WHERE memory = m.id AND role = 'about'),
		iif(m.about = m.speaker, ` + speakerOf + ", ''))"
)

// concern finds out whom a draft concerns; named: its maker named whom it is about. Two people with the same name are told apart
// by what they said; where that does not help, the draft is about neither.
func (d *draft) concern(named bool) {
	d.people = nil
	if d.SpeakerID != "" {
		d.people = append(d.people, person{d.SpeakerID, d.Speaker, "said"})
	}
	var ids []string // of people with the name it is about, among the authors of its sources
	for _, m := range d.said {
		if m.AuthorID == "" {
			continue
		}
		if m.AuthorID != d.SpeakerID {
			d.people = append(d.people, person{m.AuthorID, m.Author, "confirmed"})
		}
		if m.Author == d.About && !slices.Contains(ids, m.AuthorID) {
			ids = append(ids, m.AuthorID)
		}
	}
	if named && len(ids) == 1 {
		d.AboutID = ids[0]
	}
	if named && d.AboutID != "" {
		d.people = append(d.people, person{d.AboutID, d.About, "about"})
	}
}

// addPeople records whom a memory concerns; fresh means that the memory is new.
func addPeople(tx *store.Tx, id int64, d draft, fresh bool) {
	for _, p := range d.people {
		if p.role == "said" && !fresh {
			p.role = "confirmed"
		}
		tx.Do("INSERT INTO memory_people (memory, author_id, role) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", id, p.id, p.role)
	}
}

// checkOptOuts returns an error if anyone whom a draft concerns has opted out, or anyone whom it names, see namesOut.
func checkOptOuts(c *store.Conversation, tx *store.Tx, d draft) error {
	out := optedOut(c, tx)
	for _, p := range d.people {
		if slices.Contains(out, p.id) {
			return &OptedOutError{p.id, p.name}
		}
	}
	var named error
	text := possessive.Replace(d.Content + " " + d.About)
	said := " " + words.Fold(text) + " "
	written := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	root, _ := store.RootOf(c.Name())
	store.Each(tx, func(rows *sql.Rows) error {
		var id, name string
		err := rows.Scan(&id, &name)
		folded := words.Fold(name)
		if strings.ContainsFunc(folded, func(r rune) bool { return r < unicode.MaxASCII && unicode.IsLetter(r) }) {
			folded = " " + folded + " " // scripts without spaces between words have none here either
		}
		if common(name) && (name == strings.ToLower(name) || !slices.Contains(written, name)) {
			return err
		}
		if strings.TrimSpace(folded) != "" && strings.Contains(said, folded) {
			named = &OptedOutError{id, name}
		}
		return err
	}, namesOut, c.Connector(), c.Name(), root, store.ParentOf(root))
	return named
}

// namesOut selects the names of those who opted out and have spoken in the conversations ?2 to ?4: the one they had then, and the
// one they have there. Of someone whose messages are all erased, nobody knows where that was; the name counts where no one
// else has it.
const namesOut = `WITH here (id, low, high) AS (SELECT id, id << 32, id << 32 | 4294967295 FROM conversations WHERE name IN (?2, ?3, ?4)),
	gone (author_id, name, newest) AS (SELECT author_id, name, (SELECT m.author FROM here JOIN messages m INDEXED BY messages_author
		ON m.author_id = o.author_id AND role = 'user' AND m.id BETWEEN low AND high ORDER BY m.id DESC LIMIT 1) FROM optouts o WHERE connector = ?1)
	SELECT author_id, name FROM gone WHERE newest IS NOT NULL
		OR NOT EXISTS (SELECT 1 FROM messages m WHERE m.author_id = gone.author_id AND role = 'user')
		AND NOT EXISTS (SELECT 1 FROM members m JOIN here ON m.conversation = here.id WHERE m.name = gone.name COLLATE NOCASE)
	UNION SELECT author_id, newest FROM gone WHERE newest <> ''`

// common reports whether a name is a stop word or a single letter: someone who calls themselves "the" and opts out must not keep
// everyone's memories from being saved. Will counts as named only where the text has Will, spelled like the name.
func common(name string) bool {
	all := words.Cut(name)
	return len(all) == 1 && (all[0].Stop || len(all[0].Folded) == 1)
}

// possessive removes the ending that a name may have within one word.
var possessive = strings.NewReplacer("'s", "", "’s", "")

func optedOut(c *store.Conversation, tx *store.Tx) []string {
	return store.Values[string](tx, "SELECT author_id FROM optouts WHERE connector = ?", c.Connector())
}

// recheck checks a draft again in the transaction that saves it: its sources may be deleted, and people may have opted out.
func recheck(c *store.Conversation, tx *store.Tx, d *draft) error {
	if err := checkOptOuts(c, tx, *d); err != nil {
		return err
	}
	named := len(d.said)
	d.said = slices.DeleteFunc(slices.Clone(d.said), func(m chat.Message) bool { return len(c.In(tx).Messages(m.Seq, m.Seq, "")) == 0 })
	if len(d.said) == 0 && named > 0 {
		return errUnsaid
	}
	return nil
}
