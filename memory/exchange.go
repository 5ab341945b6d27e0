// Exchange: export and import of memories.

package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/chat"
	"cairn/store"
)

// Exported is a memory in a file, with its messages in a form by which another data folder recognizes them.
type Exported struct {
	Memory
	Messages []Source `json:"messages"`
}

// Source is a message that a memory came from.
type Source struct {
	Seq  int64     `json:"seq"`
	ID   string    `json:"id"` // the platform's; empty: it has none
	Time time.Time `json:"time"`
}

// Export calls do for each memory that f selects, with its complete messages, oldest row first, on one snapshot. It ignores
// Query, Sort, Limit and Offset.
func (ms Memories) Export(ctx context.Context, f Filter, do func(Exported, []chat.Message) error) error {
	var refused error
	err := ms.view(ctx, "export memories", f, func(tx *store.Tx, f Filter) {
		for _, id := range tx.MemoriesIn(f.in).Numbers(f.rows()) {
			m, from := readComplete(tx, id)
			e := Exported{Memory: m, Messages: []Source{}}
			for _, sources := range from {
				e.Messages = append(e.Messages, Source{sources.Seq, sources.ID, sources.Time.UTC()})
			}
			refused = do(e, from)
			if refused != nil {
				return
			}
		}
	})
	return cmp.Or(err, refused)
}

// CheckExported fills in optional fields before an import; an *ImportError says what is wrong with a memory.
func CheckExported(all []Exported) error {
	for i := range all {
		if err := all[i].complete(); err != nil {
			return &ImportError{i, err}
		}
	}
	return nil
}

func (e *Exported) complete() error {
	d := draft{Memory: e.Memory.Memory}
	if err := checkContent(&d); err != nil {
		return err
	}
	e.Content = d.Content
	e.Importance = d.Importance
	subject, _, ofOther := strings.Cut(e.Slot, ofThing)
	if !ofOther {
		subject = ""
	}
	d.SaidAt = e.SaidAt
	cleanFact(&d)
	checkFact(&d, subject)
	e.Fact = d.Fact
	e.ByRule = e.ByRule && e.State == "superseded" && e.Slot != ""
	e.State = cmp.Or(e.State, "active")
	e.By = cmp.Or(e.By, byPerson)
	e.Reach = cmp.Or(e.Reach, "channel")
	if e.State == "expired" { // expires_at determines that
		e.State = "active"
	}
	if e.By == "built-in" { // its name in exports of earlier versions
		e.By = byExtractive
	}
	e.About = cmp.Or(e.About, e.Speaker)
	e.Confirmed = max(e.Confirmed, 1)
	e.SavedAt = cmp.Or(e.SavedAt, e.SaidAt)
	switch {
	case !slices.Contains([]string{"active", "superseded", "forgotten", "replaced"}, e.State):
		return fmt.Errorf("there is no state %q: use one of active, expired, superseded, forgotten, replaced", e.State)
	case !slices.Contains([]string{byWorker, byExtractive, byAssistant, byPerson}, e.By):
		return fmt.Errorf("by is %q: use one of worker, extractive, assistant, person", e.By)
	case e.Reach != "channel" && e.Reach != "server":
		return fmt.Errorf(`reach is %q: it is "channel" or "server"`, e.Reach)
	case !strings.Contains(e.Conversation, ":") || len(e.Conversation) > store.MaxName:
		return fmt.Errorf(`channel is %q: it must be the full name of a conversation, as "terminal:general" or "discord:SERVER/CHANNEL"`, e.Conversation)
	case e.SaidAt.IsZero():
		return errors.New(`said_at is missing: it looks like "2023-05-08T13:56:00Z"`)
	}
	return nil
}

// ImportResult counts the outcomes of an import.
type ImportResult struct {
	Fresh int `json:"imported"` // new
	Known int `json:"known"`    // existed already, with this or the same content
	Lost  int `json:"lost"`     // source messages that do not exist here
	Out   int `json:"out"`      // left out: about a person who opted out
}

// ImportError identifies a memory that cannot be imported, and why.
type ImportError struct {
	Index int // from 0
	Err   error
}

func (e *ImportError) Error() string { return e.Err.Error() }

func (e *ImportError) Unwrap() error { return e.Err }

// Import imports exported memories in one transaction: all of them, or, with an error that may be an *ImportError, none.
// Existing memories are left unchanged, so an import can be repeated. Memories get new numbers; which one superseded which
// is kept if both are in the file.
func (ms Memories) Import(ctx context.Context, all []Exported) (n ImportResult, err error) {
	if err := CheckExported(all); err != nil {
		return n, err
	}
	at := make(map[int64]int)
	for i, e := range all {
		at[e.ID] = i
	}
	err = ms.store.Update(ctx, func(tx *store.Tx) {
		newest := tx.Memories().Newest()
		rows := make([]int64, len(all))
		fresh := make([]bool, len(all))
		for i, e := range all {
			rows[i], fresh[i] = importMemory(tx, e, newest, &n)
		}
		for i, e := range all {
			next, there := at[e.SupersededBy]
			if e.SupersededBy != 0 && there && rows[next] != 0 && fresh[i] && e.State != "active" && all[next].Conversation == e.Conversation {
				tx.Memories().Link(rows[next], rows[i])
			}
		}
		settled := make(map[[4]string]bool)
		for i, e := range all {
			slot := [4]string{e.Conversation, e.Slot, e.About, e.AboutID}
			if fresh[i] && e.Slot != "" && !settled[slot] {
				settle(tx.Conversation(e.Conversation), tx, tx.Memories().Get(rows[i]))
				settled[slot] = true
			}
		}
	})
	return n, store.Fail("import memories", err)
}

// importMemory writes one memory, unless it exists, and returns its number; 0: it is left out. newest is the last memory from
// before the import.
func importMemory(tx *store.Tx, e Exported, newest int64, n *ImportResult) (id int64, fresh bool) {
	c := tx.EnsureConversation(e.Conversation)
	id = c.Memories(tx).Imported(e.Memory.Memory, newest)
	if id != 0 {
		n.Known++
		return id, false
	}
	sources := knownMessages(c, tx, e.Messages)
	d := draft{Memory: e.Memory.Memory, sources: sources}
	d.Compaction = 0 // one of another data folder
	d.concern(e.AboutID != "" && e.AboutID != e.SpeakerID)
	if checkOptOuts(c, tx, d) != nil {
		n.Out++
		return 0, false
	}
	id = insertMemory(c, tx, d)
	addPeople(tx, id, d, true)
	n.Fresh++
	n.Lost += len(e.Messages) - len(sources)
	return id, true
}

// messagesHere finds the messages that a memory came from: by the platform's id, or else by seq and time.
func knownMessages(c *store.Conversation, tx *store.Tx, messages []Source) (found []chat.Message) {
	for _, m := range messages {
		if m.ID == "" {
			found = append(found, c.Messages(tx).SentAt(m.Seq, m.Time)...)
			continue
		}
		found = append(found, c.Messages(tx).Named(m.ID)...)
	}
	return inOrder(found)
}
