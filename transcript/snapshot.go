package transcript

import (
	"iter"
	"slices"

	"cairn/chat"
)

// MaxFirst is the most first messages of a session that a Snapshot has.
const MaxFirst = 20

// Snapshot is what a store has of a conversation, to rebuild its prompt from.
type Snapshot struct {
	Head      Head
	Messages  []chat.Message // of the session, behind no applied compaction, by seq: what is verbatim
	First     []chat.Message // the first MaxFirst messages of the session addressed to the bot, and the replies of their turns
	Prepared  []Summary      // rows that were stored but were not applied, oldest first
	Next      int64          // the seq the next message will get
	Open      int64          // the turn still to be answered; 0: none
	Addressed bool           // the bot was addressed since a summary was applied
	Count     Count          // the last one, if the head is still the one it was made of
	Contexts  []Context      // turn contexts that are still shown, by seq
}

// State returns the State of a loaded conversation.
func (s Snapshot) State() *State {
	state := NewState(s.Head, slices.Values(s.Messages), s.Prepared, s.Next)
	state.Open = s.Open
	return state
}

// NewState makes a State of a head, the verbatim messages on disk, the summaries that are
// prepared or being made, and the seq of the next message. It has neither texts of messages, nor
// pins, nor what can be undone, and a summary that only hides in memory is none. Its cost grows
// with what is verbatim.
func NewState(head Head, verbatim iter.Seq[chat.Message], jobs []Summary, next int64) *State {
	s := New()
	s.Version, s.HeadVersion, s.ClearedTo = head.Version, head.Version, head.ClearedTo
	s.NextSeq, s.NextSummary, s.SessionStart = next, Unstored, head.Start
	s.Spared = Span{From: head.SparedFrom, To: head.SparedTo}
	for _, session := range head.Earlier {
		s.Sessions = append(s.Sessions, Span{From: session.From, To: session.To})
		s.Summaries = append(s.Summaries, session.Rows...)
	}
	for _, row := range head.Stack {
		if row.ID == 0 {
			continue
		}
		s.Summaries = append(s.Summaries, row)
		s.InSession += row.Messages
	}
	for _, row := range jobs {
		if row.State == Running {
			s.Running = append(s.Running, row)
		} else {
			s.Prepared = append(s.Prepared, row)
		}
	}
	var messages []Message
	for m := range verbatim {
		messages = append(messages, Message{Seq: m.Seq, Turn: m.Turn, Time: m.Time})
	}
	s.Messages = s.Messages.Append(messages...)
	s.InSession += len(messages)
	return s
}

// Head returns what the State shows above the verbatim messages, without pins and what was
// inherited.
func (s *State) Head() Head {
	h := Head{Version: s.HeadVersion, ClearedTo: s.ClearedTo, Start: s.SessionStart, SparedFrom: s.Spared.From, SparedTo: s.Spared.To}
	for _, span := range s.Sessions {
		session := Session{From: span.From, To: span.To}
		for _, row := range s.Summaries {
			if row.Within(span) {
				session.Rows = append(session.Rows, row)
			}
		}
		h.Earlier = append(h.Earlier, session)
	}
	for _, row := range s.Summaries {
		if row.From >= s.SessionStart {
			h.Stack = append(h.Stack, row)
		}
	}
	return h
}

// Undoable is the latest applied compaction, with what undoing it needs.
type Undoable struct {
	Version int64          // of the current head
	Why     string         // why there is none, in words for people; empty: there is one
	Set     Set            // what was applied
	Rows    []Summary      // what it made, by From
	Ended   []Summary      // what ended with it, by From
	Freed   []chat.Message // what would be verbatim again, by seq
}

// Undo returns what undoes it in s. The error says why it cannot be undone, in words for people.
func (l Undoable) Undo(s *State) (Change, error) {
	with := *s
	with.Sets = []Set{l.Set}
	needs, err := with.UndoNeeds()
	if err != nil {
		return Change{}, err
	}
	loaded := Loaded{Needs: needs, Rows: l.Ended}
	for _, m := range l.Freed {
		loaded.Read = append(loaded.Read, Message{Seq: m.Seq})
	}
	return with.Undo(loaded)
}

// Count is what a provider counted for a prompt, the reply not included.
type Count struct {
	Prompt   int    // real tokens; 0: there is no count
	Estimate int    // of the same
	Model    string // its name
	Version  int64  // of the head
}

// Sent is a request as its usage is kept with the turn: for the history of a conversation, and
// to simulate it with what its provider counted. The zero value is of no request.
type Sent struct {
	Window    int     // tokens
	Used      int     // tokens of the request, with the reply's reserve
	Counted   int     // tokens of its prompt, by the provider; 0: it reported none
	Estimated int     // the same, estimated
	Context   int     // tokens of the turn context among them, estimated; 0: there was none
	Factor    float64 // real tokens for one estimated, as it is known by now
}
