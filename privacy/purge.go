// Purging: deleting a whole conversation, from a shell, and what sub-agents derived from deleted messages.

package privacy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cairn/chat"
	"cairn/store"
)

// Holding is the amount of data of a conversation, or of a person in it.
type Holding struct {
	Channel  string `json:"channel"`
	Messages int    `json:"messages"` // including waiting ones; of a conversation also those of the bot
	Memories int    `json:"memories"`
}

func (h Holding) String() string {
	return chat.Counted(h.Messages, "message", "messages") + " and " + chat.Counted(h.Memories, "memory", "memories")
}

// Holdings are those of several conversations.
type Holdings []Holding

// Total returns the sum of all.
func (all Holdings) Total() (sum Holding) {
	for _, h := range all {
		sum.Messages += h.Messages
		sum.Memories += h.Memories
	}
	return sum
}

// Selection is what an owner wants to delete: one of the fields is set.
type Selection struct {
	User         string // a person, by name or id: "Ada", "discord:ID"
	Conversation string // by its full name
	Server       string // all its conversations, as "discord:ID"
}

// Plan is what a selection selects.
type Plan struct {
	User     *store.Person // nil: whole conversations
	In       []*store.Conversation
	Holdings Holdings // of each conversation
}

// SeveralError says that a name may be that of several people.
type SeveralError struct {
	Name   string
	People []store.Person
}

func (e *SeveralError) Error() string {
	var all []string
	for _, one := range e.People {
		all = append(all, one.String())
	}
	return fmt.Sprintf("%q may be several people, %s", e.Name, strings.Join(all, ", "))
}

// Select returns what a selection selects. ErrNotFound: there is nothing. A *SeveralError: a name is not clear.
func (ps Everyone) Select(ctx context.Context, of Selection) (p Plan, err error) {
	if of.User != "" {
		return ps.selectPerson(ctx, of.User)
	}
	name := of.Conversation
	if name == "" {
		name = strings.TrimSuffix(of.Server, "/") + "/"
	}
	p.In, p.Holdings, err = ps.Holdings(ctx, name)
	if err == nil && len(p.In) == 0 {
		err = fmt.Errorf("%s: %w", strings.TrimSuffix(name, "/"), store.ErrNotFound)
	}
	return p, err
}

func (ps Everyone) selectPerson(ctx context.Context, who string) (p Plan, err error) {
	people, err := ps.Find(ctx, "", who)
	switch {
	case err != nil:
		return p, err
	case len(people) == 0:
		return p, fmt.Errorf("%q: %w: no one with that id or name has messages here", who, store.ErrNotFound)
	case len(people) > 1:
		return p, &SeveralError{who, people}
	}
	p.User = &people[0]
	p.In, p.Holdings, err = ps.Everywhere(ctx, *p.User)
	return p, err
}

// Holdings returns the conversation with a name, or those below a name that ends in a slash, and the amount of data of each.
func (ps Everyone) Holdings(ctx context.Context, name string) (in []*store.Conversation, holdings Holdings, err error) {
	return ps.hold(ctx, func(tx *store.Tx) []*store.Conversation { return tx.Directory().Under(name) },
		func(c *store.Conversation, tx *store.Tx) Holding {
			messages, memories := tx.Directory().Holds(c)
			return Holding{c.Name(), messages, memories}
		})
}

func (ps Everyone) hold(
	ctx context.Context, which func(*store.Tx) []*store.Conversation, count func(*store.Conversation, *store.Tx) Holding,
) (in []*store.Conversation, holdings Holdings, err error) {
	holdings = Holdings{}
	err = ps.store.View(ctx, func(tx *store.Tx) {
		in = which(tx)
		for _, c := range in {
			holdings = append(holdings, count(c, tx))
		}
	})
	return in, holdings, store.Fail("count what is stored", err)
}

// Purge deletes everything of the conversation, and what threads inherited from it. Its name and the platform IDs of the messages
// stay, so that no message is delivered again or backfilled from the platform as missed.
func (pr Conversation) Purge(ctx context.Context) error {
	return pr.c.Erase(ctx, "delete everything", func(tx *store.Tx) { purge(pr.c, tx) })
}

func purge(c *store.Conversation, tx *store.Tx) {
	for _, t := range c.Tasks().All(tx) {
		purgeTask(tx, t)
	}
	threads := c.Threads(tx)
	for _, t := range threads.All() { // they quote nothing of it any more
		deleteAll(t, tx, threads.QuotedBy(t))
	}
	c.Messages(tx).ForgetQuotes(c.Memories(tx).Numbers(), true)
	tx.ForgetElsewhere(c, 1, store.MaxSeq)
	tx.Purge(c)
}

// deleteTasksOf deletes what tasks derived from messages: their conversations and their reports here, which it returns, and then
// what other tasks derived from those reports. An open task ends silently.
func deleteTasksOf(c *store.Conversation, tx *store.Tx, deleted []chat.Message) (reports []chat.Message) {
	seen := map[int64]bool{} // messages
	for _, m := range deleted {
		seen[m.Seq] = true
	}
	for all := slices.Clone(deleted); len(all) > 0; all = all[1:] {
		for _, t := range c.Tasks().DerivedFrom(tx, all[0].Seq) {
			for _, m := range deleteTask(c, tx, t) {
				if !seen[m.Seq] {
					seen[m.Seq] = true
					reports = append(reports, m)
					all = append(all, m)
				}
			}
		}
	}
	return reports
}

// deleteTask deletes everything in a task's conversation, and returns what the task reported here.
func deleteTask(c *store.Conversation, tx *store.Tx, t store.Task) (report []chat.Message) {
	purgeTask(tx, t)
	name := fmt.Sprintf("%s-%d", store.TaskID, t.Number)
	c.Inbox().Delete(tx, name)
	return c.Messages(tx).Named(name)
}

// purgeTask deletes everything in a task's conversation, and stops its turn.
func purgeTask(tx *store.Tx, t store.Task) { purge(tx.Conversation(t.Conversation), tx) }
