package channel

// Places in which the bot may not write: no model is asked there, and people who want an answer learn why there is none.

// WriteChecker is implemented by connectors that know where the bot may not write.
type WriteChecker interface {
	// CannotWrite returns why the bot may not write in a conversation, one of the sentences below; "" if it may, or if nobody
	// knows. It must not wait for the network.
	CannotWrite(conversation string) (why string)
}

// Why the bot may not write, and who can change that, in English; sentences.In(SpokenIn(…)).Translate translates it.
const (
	NoViewChannel     = "I cannot answer here: I lack the permission View Channel. People who manage this channel can give it to me."
	NoSendMessages    = "I cannot answer here: I lack the permission Send Messages. People who manage this channel can give it to me."
	NoSendInThreads   = "I cannot answer here: I lack the permission Send Messages in Threads. People who manage this channel can give it to me."
	ThreadLocked      = "I cannot answer here: this thread is locked. A moderator can unlock it."
	TimedOut          = "I cannot answer here: I am timed out on this server. A moderator can end that."
	NotInChannel      = "I cannot answer here: I am not in this channel. Its members can add me with /invite."
	ChannelArchived   = "I cannot answer here: this channel is archived. People who manage channels can restore it."
	ChannelReadOnly   = "I cannot answer here: only some people may post in this channel, and I am not one of them. People who manage it can change that."
	ThreadsOnly       = "I cannot answer here: this channel allows posts only in threads. Ask me in a thread."
	PostingRestricted = "I cannot answer here: a workspace setting prevents me from posting. Workspace admins can change it."

	askAgain = "Your message is saved. Once I may write here, ask again."
)

// Unwritable is a place in which the bot may not write.
type Unwritable struct {
	Conversation string
	Label        string // what people call it; empty if that is unknown
	Why          string // one of the sentences above
}

// cannotWrite returns why the bot may not write here; "" if it may, or if nobody knows.
func (s *site) cannotWrite() (why string) {
	if checker, ok := s.connector.(WriteChecker); ok {
		why = checker.CannotWrite(s.name)
	}
	return why
}

// CannotWrite returns why the bot may not write in a conversation, one of the sentences above; "" if it may, or if nobody knows.
func CannotWrite(h *Hub, conversation string) (why string) {
	return h.voice(conversation).cannotWrite()
}
