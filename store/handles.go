// Handles: the parts of a conversation, and of the store.

package store

// Compactions are a conversation's summaries and sessions: what its compactor reads and writes.
type Compactions struct{ c *Conversation }

func (c *Conversation) Compactions() Compactions { return Compactions{c} }

// Inbox has the delivered messages that are not in the transcript yet.
type Inbox struct{ c *Conversation }

func (c *Conversation) Inbox() Inbox { return Inbox{c} }

// Past is for messages from before the bot joined, or while it was disconnected: a gap is filled
// from the platform's history.
type Past struct{ c *Conversation }

func (c *Conversation) Past() Past { return Past{c} }

// Transcript is a conversation's messages, with their files and pins.
type Transcript struct{ c *Conversation }

func (c *Conversation) Transcript() Transcript { return Transcript{c} }

// Turns are the messages that wait for an answer, their answers, and the usage of these.
type Turns struct{ c *Conversation }

func (c *Conversation) Turns() Turns { return Turns{c} }

// Outbox has the replies that still have to be sent, each piece once.
type Outbox struct{ c *Conversation }

func (c *Conversation) Outbox() Outbox { return Outbox{c} }

// Settings are the settings that people have changed in a conversation.
type Settings struct{ c *Conversation }

func (c *Conversation) Settings() Settings { return Settings{c} }

// Tasks are the tasks that a conversation has started, and the task that it is itself.
type Tasks struct{ c *Conversation }

func (c *Conversation) Tasks() Tasks { return Tasks{c} }

// Upkeep maintains the files: backups, checks, and the erasure of deleted text.
type Upkeep struct{ store *Store }

func (s *Store) Upkeep() Upkeep { return Upkeep{s} }

// Held holds deliveries that arrive while the database is being rewritten.
type Held struct{ store *Store }

func (s *Store) Held() Held { return Held{s} }

// Pauses are the scopes in which no model may be called.
type Pauses struct{ store *Store }

func (s *Store) Pauses() Pauses { return Pauses{s} }

// Models has the learned facts about models.
type Models struct{ store *Store }

func (s *Store) Models() Models { return Models{s} }

// Rows are a conversation's rows inside a transaction, for packages whose rules decide what is
// written. If they cannot be read or written, the transaction ends with the error, see Tx.Do.
type Rows struct {
	c  *Conversation
	tx *Tx
}

// In returns the conversation's rows inside a transaction.
func (c *Conversation) In(tx *Tx) Rows { return Rows{c, tx} }

// ID returns the number of the conversation in the database.
func (c *Conversation) ID() int64 { return c.id }

// Store returns the store of the conversation.
func (c *Conversation) Store() *Store { return c.store }
