// Package memory keeps facts beyond the conversation: it saves memories from workers, the bot and
// people, and recalls those that a question needs. It defines memories and their lifecycle; package
// store has their rows and the messages they come from. Package search ranks the results.
package memory

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"

	"cairn/chat"
	"cairn/internal/words"
	"cairn/store"
	"cairn/transcript"
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

// Look is Records for those who only look at a conversation, which may be open.
func (r Records) Look() Look { return Look{r} }

// Look are Records that loading does not change.
type Look struct{ Records }

// Load returns the snapshot from which the view is rebuilt.
func (l Look) Load(ctx context.Context) (transcript.Snapshot, error) { return l.Read(ctx) }

// Shared reports whether memories are shared at all, and whether this conversation shares them.
func (ms Memories) Shared(ctx context.Context) (on, shares bool, err error) {
	shares, err = store.View(ctx, ms.c, "look who may read", func(tx *store.Tx) bool { return inPool(ms.c, tx) })
	return ms.c.Store().Sharing.Load(), shares, err
}

// scopeOf returns what the conversation recalls: its own memories; in a thread also those of its channel; in a channel those of
// its threads that all its readers may read; and, where memories are shared, those of the server's public channels.
func scopeOf(c *store.Conversation, tx *store.Tx) store.Scope {
	channel, _ := c.HangsOn()
	s := store.Scope{Of: c, Channel: channel, Threads: channel == ""}
	if inPool(c, tx) {
		s.Server = serverOf(c)
	}
	return s
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
	return c.Store().Sharing.Load() && serverOf(c) != "" && tx.Public(c)
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

// concern finds out whom a draft concerns; named: its maker named whom it is about. Two people with the same name are told apart
// by what they said; where that does not help, the draft is about neither.
func (d *draft) concern(named bool) {
	d.people = nil
	if d.SpeakerID != "" {
		d.people = append(d.people, person{d.SpeakerID, d.Speaker, "said"})
	}
	var ids []string // of people with the name it is about, among the authors of its sources
	for _, m := range d.sources {
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
		tx.Memories().AddPerson(id, p.id, p.role)
	}
}

// checkOptOuts returns an *OptedOutError if a person whom a draft concerns has opted out, or one whose name its text contains. A
// name that is a common word counts only if it has a capital letter and the text spells it so.
func checkOptOuts(c *store.Conversation, tx *store.Tx, d draft) error {
	out := c.People(tx).Out()
	for _, p := range d.people {
		if slices.Contains(out, p.id) {
			return &OptedOutError{p.id, p.name}
		}
	}
	var named error
	text := possessive.Replace(strings.Join([]string{d.Text(), d.About, d.Slot}, " "))
	foldedText := " " + words.Fold(text) + " "
	written := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	for _, person := range c.People(tx).NamesOut() {
		folded := words.Fold(person.Name)
		if strings.ContainsFunc(folded, func(r rune) bool { return r < unicode.MaxASCII && unicode.IsLetter(r) }) {
			folded = " " + folded + " " // scripts without spaces between words have none here either
		}
		if common(person.Name) && (person.Name == strings.ToLower(person.Name) || !slices.Contains(written, person.Name)) {
			continue
		}
		if strings.TrimSpace(folded) != "" && strings.Contains(foldedText, folded) {
			named = &OptedOutError{person.ID, person.Name}
		}
	}
	return named
}

// common reports whether a name is a stop word or a single letter: someone who calls themselves "the" and opts out must not keep
// everyone's memories from being saved. Will counts as named only where the text has Will, spelled like the name.
func common(name string) bool {
	all := words.Cut(name)
	return len(all) == 1 && (all[0].Stop || len(all[0].Folded) == 1)
}

// possessive removes the ending that a name may have within one word.
var possessive = strings.NewReplacer("'s", "", "’s", "")

// recheck checks a draft again in the transaction that saves it: its sources may be deleted, and people may have opted out.
func recheck(c *store.Conversation, tx *store.Tx, d *draft) error {
	if err := checkOptOuts(c, tx, *d); err != nil {
		return err
	}
	named := len(d.sources)
	d.sources = slices.DeleteFunc(slices.Clone(d.sources), func(m chat.Message) bool { return len(c.Messages(tx).At(m.Seq)) == 0 })
	if len(d.sources) == 0 && named > 0 {
		return errUnsaid
	}
	return nil
}
