package transcript

import "cairn/chat"

// Shape is the form in which a View shows a conversation. Settings and the model's window determine it. Sizes are in
// estimated tokens; 0 leaves no room.
type Shape struct {
	ClipTo int // max size of one message

	MaxCopies      int // max size of all copies of pins and first messages
	KeepFirst      int // how many first messages are copied
	KeepFirstTurns int // how many first turns are copied, with their replies

	ResultsKept    int // how many of the newest tool results are never cleared
	ResultMinChars int // shorter results, in bytes, are never cleared
	ResultMaxLines int // of kept results behind the newest

	KeepReasoning bool // the provider demands the reasoning of tool calls as long as the prompt has them

	MaxStack    int // max size of all summaries, however large the stack is
	MaxPast     int // max size of earlier sessions and of what a thread inherited, together
	MaxSessions int // max number of earlier sessions
}

// Shorten returns a summary's text in at most limit tokens, without its least important sentences.
type Shorten func(text string, limit int) string

// MinSummary is the minimum length of a summary, in tokens: below it nothing useful fits.
const MinSummary = 40

// KeepsReasoning reports whether the reasoning of m outlasts its turn.
func (sh Shape) KeepsReasoning(m chat.Message) bool { return sh.KeepReasoning && len(m.Calls) > 0 }

// stored returns a message as read from disk, without reasoning that another model needed and
// without its context, which Snapshot.Contexts has.
func (sh Shape) stored(m chat.Message) chat.Message {
	m.Context = ""
	if !sh.KeepsReasoning(m) {
		m.Native = nil
	}
	return m
}
