// Package privacy deletes: messages with every copy of their text, what is stored about a person,
// and whole conversations. It is the one place that knows every copy.

package memory

// Privacy deletes text of a conversation.
type Privacy struct{ c *Conversation }

// PrivacyOf returns the handle that deletes text of a conversation.
func PrivacyOf(c *Conversation) Privacy { return Privacy{c} }

// People are the people of all conversations, and what they want erased.
type People struct{ store *Store }

// PrivacyIn returns the people of all conversations of a store.
func PrivacyIn(s *Store) People { return People{s} }
