// Package privacy deletes messages with every copy of their text, memories of words that an edit removed, a person's data,
// and whole conversations.
package privacy

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"cairn/memory"
	"cairn/store"
)

// Conversation deletes text of a conversation.
type Conversation struct{ c *store.Conversation }

func Of(c *store.Conversation) Conversation { return Conversation{c} }

// Everyone reaches the people of all conversations, and their pending erasures.
type Everyone struct{ store *store.Store }

func In(s *store.Store) Everyone { return Everyone{s} }

// OptOut keeps a person of this connector, by platform ID, out of all memories from now on, or, with out = false, no longer;
// changed is false if that was so already. Existing memories stay.
func (pr Conversation) OptOut(ctx context.Context, author, name string, out bool) (changed bool, err error) {
	return store.Update(ctx, pr.c, "keep a person out of memories", func(tx *store.Tx) bool {
		if out {
			return pr.c.People(tx).OptOut(store.Person{ID: author, Name: name})
		}
		return pr.c.People(tx).OptIn(author)
	})
}

// OptedOut reports whether a person has opted out of memories.
func (ps Everyone) OptedOut(ctx context.Context, who store.Person) (out bool, err error) {
	err = ps.store.View(ctx, func(tx *store.Tx) { out = tx.Directory().OptedOut(who) })
	return out, store.Fail("look whether a person has opted out of memories", err)
}

// AddShown notes that a person is about to see memories in a place of their own, before they are shown: their texts go with the memories, also
// after a crash, see Outdated. Some may be shown as forgotten. current is false if one of them is gone by now.
func (ps Everyone) AddShown(ctx context.Context, who store.Person, memories, forgotten []int64) (current bool, err error) {
	err = ps.store.Update(ctx, func(tx *store.Tx) { current = tx.Shown(who.Connector).Add(who.ID, memories, forgotten) })
	return current, store.Fail("note what a person sees", err)
}

// KeepShown notes that a person sees these memories, and no other.
func (ps Everyone) KeepShown(ctx context.Context, who store.Person, memories []int64) error {
	err := ps.store.Update(ctx, func(tx *store.Tx) { tx.Shown(who.Connector).Keep(who.ID, memories) })
	return store.Fail("note what a person sees", err)
}

// Outdated returns those who may see a memory that is gone, or memories from before they opted out, by their platform IDs.
func (ps Everyone) Outdated(ctx context.Context, connector string) (people []string, err error) {
	err = ps.store.View(ctx, func(tx *store.Tx) { people = tx.Shown(connector).Outdated() })
	return people, store.Fail("look for what people must see no more", err)
}

// Erased counts what one step of an erasure deleted.
type Erased struct {
	Messages int
	Deleted  []string // platform IDs of the person's messages
	Memories int
	Done     bool // nothing is left
}

// maxErased limits the messages or memories of one step, for which other writers have to wait.
const maxErased = 40

// errNobody is returned for an empty id, which would match everyone whose connector has no ids.
var errNobody = errors.New("the person's id is empty")

// Traces counts what is stored about a person in the conversation. Messages are theirs, with waiting ones, tasks that they asked
// for, summaries in which they wrote or removed a line, and settings, pins and pauses that they made. Memories are those that they
// said first, or that are about them.
func (pr Conversation) Traces(ctx context.Context, who store.Person) (Holding, error) {
	return store.View(ctx, pr.c, "count what is stored about a person", func(tx *store.Tx) Holding { return traces(pr.c, tx, who) })
}

func traces(c *store.Conversation, tx *store.Tx, who store.Person) Holding {
	if who.ID == "" {
		tx.Fail(errNobody)
	}
	of := c.Traces(tx, who)
	messages := of.CountMessages() + len(c.Summaries(tx).LinesBy(who.ID)) + of.CountSettings()
	return Holding{c.Name(), messages, of.CountMemories(math.MaxInt64)}
}

// Everywhere returns the conversations of a person's connector in which something about them is stored, and how much in each.
func (ps Everyone) Everywhere(ctx context.Context, who store.Person) (in []*store.Conversation, holdings Holdings, err error) {
	return ps.hold(ctx, func(tx *store.Tx) []*store.Conversation { return tx.Directory().With(who) },
		func(c *store.Conversation, tx *store.Tx) Holding { return traces(c, tx, who) })
}

// Erase notes that a person's traces in these conversations must be deleted, and removes their waiting messages. EraseSome does
// the rest, step by step, after what they typed into commands is deleted here; later messages stay. The note survives the process,
// see Erasures, and lasts while messages that were missed are still to be read: the person's, from before it, are left out.
// Messages from before the bot came are not read any more.
func (ps Everyone) Erase(ctx context.Context, who store.Person, in ...*store.Conversation) (waiting int, err error) {
	err = ps.store.Erase(ctx, func(tx *store.Tx) {
		if who.ID == "" {
			tx.Fail(errNobody)
		}
		tx.Enter(in...)
		for _, c := range in {
			eraseTyped(c, tx, who) // first, while their messages have their names
			of := c.Traces(tx, who)
			for _, m := range of.Waiting() {
				deleteUnread(c, tx, m.ID)
				waiting++
			}
			of.RequestErasure()
		}
	})
	return waiting, store.Fail("forget a person", err)
}

// EraseTyped deletes what a person may have typed into commands of these conversations, and nothing else.
func (ps Everyone) EraseTyped(ctx context.Context, who store.Person, in ...*store.Conversation) error {
	err := ps.store.Erase(ctx, func(tx *store.Tx) {
		tx.Enter(in...)
		for _, c := range in {
			eraseTyped(c, tx, who)
		}
	})
	return store.Fail("forget what a person typed", err)
}

// Erasures returns what is still to be erased.
func (ps Everyone) Erasures(ctx context.Context) (due []store.Erasure, err error) {
	err = ps.store.View(ctx, func(tx *store.Tx) { due = tx.Directory().Erasures() })
	return due, store.Fail("look for what is to be forgotten", err)
}

// EraseSome deletes the next of a person's messages and memories, as Delete does, in one short transaction. The tombstones do not
// say whose they were.
func (pr Conversation) EraseSome(ctx context.Context, author string) (e Erased, err error) {
	err = pr.c.Erase(ctx, "forget a person", func(tx *store.Tx) {
		of := pr.c.Traces(tx, store.Person{ID: author})
		before, upto, found := of.Requested()
		if !found {
			e.Done = true
			return
		}
		had := of.CountMemories(upto)
		left := eraseMessages(pr.c, tx, author, before, &e) || eraseMemories(pr.c, tx, author, upto, &e) || eraseLines(pr.c, tx, author, &e)
		e.Memories = had - of.CountMemories(upto)
		if left { // those that only the messages said went with them
			return
		}
		e.Done = true
		pr.c.CommandTexts(tx).DeleteRequests() // of a job that began meanwhile
		of.DeleteMembers()
		of.EndErasure()
	})
	return e, err
}

// eraseMessages deletes the oldest messages; left reports that there may be more.
func eraseMessages(c *store.Conversation, tx *store.Tx, author string, before int64, e *Erased) (left bool) {
	of := c.Traces(tx, store.Person{ID: author})
	ids, upto := of.OldestMessages(before, maxErased)
	quoted := of.Quoted(upto)
	tasks := c.Tasks().RequestedBy(tx, author)
	for _, t := range tasks {
		for _, report := range deleteTask(c, tx, t) {
			quoted = append(quoted, report.ID)
		}
	}
	deleteAll(c, tx, append(ids, quoted...))
	e.Messages = len(ids) + len(tasks)
	e.Deleted = ids
	of.AnonymizeMessages(upto)
	return upto < before-1
}

// eraseMemories deletes the next memories; left reports that there may be more.
func eraseMemories(c *store.Conversation, tx *store.Tx, author string, upto int64, e *Erased) (left bool) {
	of := c.Traces(tx, store.Person{ID: author})
	theirs := of.OldestMemories(upto, maxErased)
	var changed []int64
	for _, m := range theirs {
		changed = append(changed, memory.Delete(c, tx, m)...)
	}
	c.Messages(tx).ForgetQuotes(changed, true)
	if len(theirs) == maxErased {
		return true
	}
	of.DetachMemories(upto)
	return false
}

// Find returns the people with that id, or that name in any case, who have spoken or typed commands in the conversations of a
// connector, or of any if it is empty, or about whom something is remembered. If there are none, the text may have the connector in front:
// discord:ID.
func (ps Everyone) Find(ctx context.Context, connector, nameOrID string) (found []store.Person, err error) {
	err = ps.store.View(ctx, func(tx *store.Tx) {
		found = tx.Directory().Everybody(connector)
	})
	if err != nil {
		return nil, fmt.Errorf("look for %q: %w", nameOrID, err)
	}
	found = slices.DeleteFunc(found, func(w store.Person) bool { return w.ID != nameOrID && !strings.EqualFold(w.Name, nameOrID) })
	found = slices.CompactFunc(found, func(a, b store.Person) bool { return a.Connector == b.Connector && a.ID == b.ID }) // they may have had several names
	if first, id, named := strings.Cut(nameOrID, ":"); named && connector == "" && len(found) == 0 {
		return ps.Find(ctx, first, id)
	}
	return found, nil
}
