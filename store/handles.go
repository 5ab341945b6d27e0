// What a conversation has in the store, by noun: one handle for each.

package store

// Compactions are a conversation's summaries and sessions: what its compactor reads and writes.
type Compactions struct{ c *Conversation }

// Inbox holds what arrived for a conversation and is not in its transcript yet.
type Inbox struct{ c *Conversation }

// Past is about messages from before the bot listened, or while it was away: a gap is filled from
// the platform's history.
type Past struct{ c *Conversation }

// Transcript is a conversation's messages, with their files and pins.
type Transcript struct{ c *Conversation }

// Turns are the messages that await an answer, their answers, and what those cost.
type Turns struct{ c *Conversation }

// Outbox is replies on their way to people, each piece sent once.
type Outbox struct{ c *Conversation }

// Settings are the settings that people changed in a conversation.
type Settings struct{ c *Conversation }

// Tasks are those that a conversation gave to sub-agents, and the one that it is itself.
type Tasks struct{ c *Conversation }

// Rows are what a conversation has, inside a transaction: for packages whose rules decide what is
// written with it.
type Rows struct {
	c  *Conversation
	tx *Tx
}

// In returns what the conversation has, inside a transaction.
func (c *Conversation) In(tx *Tx) Rows { return Rows{c, tx} }

// ID returns the number of the conversation in the database.
func (c *Conversation) ID() int64 { return c.id }

// Store returns the store of the conversation.
func (c *Conversation) Store() *Store { return c.store }

// Compactions returns the conversation's summaries and sessions.
func (c *Conversation) Compactions() Compactions { return Compactions{c} }

// Inbox returns the conversation's inbox.
func (c *Conversation) Inbox() Inbox { return Inbox{c} }

// Past returns the handle that fills the conversation's gaps.
func (c *Conversation) Past() Past { return Past{c} }

// Transcript returns the conversation's messages.
func (c *Conversation) Transcript() Transcript { return Transcript{c} }

// Turns returns the conversation's turns.
func (c *Conversation) Turns() Turns { return Turns{c} }

// Outbox returns the conversation's outbox.
func (c *Conversation) Outbox() Outbox { return Outbox{c} }

// Settings returns the handle of the conversation's settings.
func (c *Conversation) Settings() Settings { return Settings{c} }

// Tasks returns the handle of the conversation's tasks for sub-agents.
func (c *Conversation) Tasks() Tasks { return Tasks{c} }

// Upkeep maintains the files: backups, checks, and the erasure of deleted text.
type Upkeep struct{ store *Store }

// Held holds deliveries that arrive while the database is being rewritten.
type Held struct{ store *Store }

// Pauses are where no model is called.
type Pauses struct{ store *Store }

// Models is what was learned about models.
type Models struct{ store *Store }

// Upkeep looks after the files.
func (s *Store) Upkeep() Upkeep { return Upkeep{s} }

// Held is what was delivered while the database was busy.
func (s *Store) Held() Held { return Held{s} }

// Pauses are where no model is called.
func (s *Store) Pauses() Pauses { return Pauses{s} }

// Models is what was learned about models.
func (s *Store) Models() Models { return Models{s} }
