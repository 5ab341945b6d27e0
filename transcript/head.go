package transcript

import (
	"slices"
	"time"

	"cairn/chat"
	"cairn/llm"
)

// Head is everything above the verbatim messages, as last committed.
type Head struct {
	Version   int64     // raised by every change of the head, in its transaction
	Stack     []Summary // the applied rows of the session, by From
	ClearedTo int64     // tool results up to this seq are shown cleared or shortened; 0: none
	Pins      []Pin     // pinned messages, in the order of pinning

	Start     int64       // the first seq of the session
	Earlier   []Session   // oldest first: those that may be shown, and older ones that still need work
	Inherited Inheritance // of a thread

	// What an undo brought back is left alone until the aggressive level: messages that are verbatim
	// again, and rows that await repair.
	Spared Span
}

// Rows returns all applied rows of the conversation itself, the most important first.
func (h Head) Rows() []Summary {
	all := slices.Clone(h.Stack)
	for _, s := range slices.Backward(h.Earlier) {
		all = append(all, s.Rows...)
	}
	return all
}

// Pin is a message that people want to keep in the prompt.
type Pin struct {
	chat.Message
	Earlier bool   // it is from before the session, and only its copy is visible
	By      string // who pinned it
	At      time.Time
}

// Session is an earlier session of a conversation. None of it is verbatim.
type Session struct {
	From, To int64
	Rows     []Summary // the applied ones over it, by From
}

// Inheritance is what a thread has of the conversation it belongs to, copied when its first message
// was read. Numbers of rows and messages are the parent's.
type Inheritance struct {
	Stack []Summary     // in its state at that time, by From
	Root  *chat.Message // the message the thread hangs on; nil: unknown
}

// Context is a turn context: a block after the newest message of a turn, with information that may
// help with this turn. It is stored with the answer and shown again until the head changes, so that
// each request extends the previous one.
type Context struct {
	Seq  int64  // the message it follows
	Text string // without the lines around it
	llm.Quotes
}

// MaxFirst is the maximum number of first messages of a session that a Snapshot has.
const MaxFirst = 20

// Snapshot is what a store has of a conversation, to rebuild its prompt from.
type Snapshot struct {
	Head      Head
	Messages  []chat.Message // of the session, not covered by an applied compaction, by seq: the verbatim messages
	First     []chat.Message // the first MaxFirst messages of the session addressed to the bot, and the replies of their turns
	Prepared  []Summary      // rows that are stored but not applied, oldest first
	Next      int64          // the seq the next message will get
	Beyond    int64          // messages from this seq on follow those of an import that are not read yet and not in Messages; 0: none
	Open      int64          // the turn still to be answered; 0: none
	Addressed bool           // the bot was addressed since a summary was applied
	Count     Count          // the last count, if it belongs to the current head
	Contexts  []Context      // turn contexts that are still shown, by seq
	Changed   []int64        // messages that people edited or deleted since the last snapshot, by seq
	Running   []chat.Message // of the running turn, not on disk yet, without copies of what is in Changed
}

// State returns the State of a loaded conversation.
func (s Snapshot) State() *State {
	verbatim := make([]Message, len(s.Messages))
	for i, m := range s.Messages {
		verbatim[i] = MessageOf(m)
	}
	state := NewState(s.Head, verbatim, s.Prepared, s.Next)
	state.Open = s.Open
	return state
}

// NewState returns the State for a head, the verbatim messages on disk, the summaries that are
// prepared or running, and the seq of the next message. It has neither texts of messages, nor pins,
// nor summaries that only hide in memory.
func NewState(head Head, verbatim []Message, jobs []Summary, next int64) *State {
	s := New()
	s.NextSeq = next
	s.Messages = s.Messages.Append(verbatim...)
	for _, row := range jobs {
		if row.State == Running {
			s.Running = append(s.Running, row)
		} else {
			s.Prepared = append(s.Prepared, row)
		}
	}
	s.setHead(head)
	return s
}

// setHead takes the versions, positions and summaries of a head. Only functions with a new s call it.
func (s *State) setHead(head Head) {
	s.Version = head.Version
	s.HeadVersion = head.Version
	s.ClearedTo = head.ClearedTo
	s.NextSummary = Unstored
	s.SessionStart = head.Start
	s.Spared = head.Spared
	s.Sessions = nil
	s.Summaries = nil
	for _, session := range head.Earlier {
		s.Sessions = append(s.Sessions, Span{From: session.From, To: session.To})
		s.Summaries = append(s.Summaries, session.Rows...)
	}
	s.InSession = len(s.Messages)
	for _, row := range head.Stack {
		if row.ID == 0 {
			continue
		}
		s.Summaries = append(s.Summaries, row)
		s.InSession += row.Messages
	}
}

// Committed returns the state after a change of s that the store has written. The store's head has the IDs of new
// summaries, and of earlier sessions only those that it loads.
func (s *State) Committed(c Change, head Head) *State {
	next := s.With(c)
	if head.Version > s.HeadVersion {
		next.setHead(head)
		return next
	}
	next.Version = s.Version // no head has it
	return next
}

// Stored returns the state with messages that are on disk now, up to the one before next. The version stays: an append
// makes no change stale.
func (s *State) Stored(next int64, messages ...Message) *State {
	after := *s
	after.Messages = s.Messages.Append(messages...)
	after.InSession += len(messages)
	after.NextSeq = max(s.NextSeq, next)
	return &after
}

// WithPrepared returns the state with other prepared summaries, which the store has written already.
func (s *State) WithPrepared(rows []Summary) *State {
	next := *s
	next.Prepared = rows
	return &next
}

// NoteDeclined returns the state with what a model declined noted in a summary; id 0: in all of them.
func (s *State) NoteDeclined(id int64, d Declined) *State {
	next := *s
	next.Summaries = declined(s.Summaries, id, d)
	next.Prepared = declined(s.Prepared, id, d)
	return &next
}

// NoteDeclined returns the view with what a model declined noted in a summary; id 0: in all of them. It looks the same.
func (v View) NoteDeclined(id int64, d Declined) View {
	v.Head.Stack = declined(v.Head.Stack, id, d)
	v.Head.Earlier = slices.Clone(v.Head.Earlier)
	for i := range v.Head.Earlier {
		v.Head.Earlier[i].Rows = declined(v.Head.Earlier[i].Rows, id, d)
	}
	return v
}

func declined(rows []Summary, id int64, d Declined) []Summary {
	rows = slices.Clone(rows)
	for i := range rows {
		if id == 0 || rows[i].ID == id {
			rows[i].Declined = d
		}
	}
	return rows
}

// Head returns what the State shows above the verbatim messages, without pins and inherited rows.
func (s *State) Head() Head {
	h := Head{Version: s.HeadVersion, ClearedTo: s.ClearedTo, Start: s.SessionStart, Spared: s.Spared}
	h.Stack = s.covering(Span{s.SessionStart, s.NextSeq})
	for _, span := range s.Sessions {
		h.Earlier = append(h.Earlier, Session{From: span.From, To: span.To, Rows: s.covering(span)})
	}
	return h
}

// Count is a provider's token count for a prompt, without the reply.
type Count struct {
	Prompt   int    // real tokens; 0: no count
	Estimate int    // estimate for the same prompt
	Model    string // its name
	Version  int64  // of the head
}

// Sent is the usage of a request, stored with its turn: for the history of a conversation, and to
// simulate it with the provider's counts. The zero value means no request.
type Sent struct {
	Window    int     // tokens
	Used      int     // tokens of the request, with the reply's reserve
	Counted   int     // tokens of its prompt, by the provider; 0: it reported none
	Estimated int     // the same, as estimated
	Context   int     // tokens of its turn context, estimated; 0: none
	Factor    float64 // real tokens per estimated token, as learned so far
}
