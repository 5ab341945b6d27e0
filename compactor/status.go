// What is known about a conversation's window at one moment.

package compactor

import (
	"cairn/llm"
	"cairn/transcript"
)

// Status describes how full a conversation's window is, and with what.
type Status struct {
	Used, Window int // tokens; used counts the prompt of the next request and the reply's reserve
	Effective    int // the window that budgets are shares of, see Policy.Window
	Frame        int // of Used: system prompt and tools
	Head         int // of Used: first messages and the stack
	Verbatim     int // of Used: messages and turn contexts
	Contexts     int // of Verbatim: turn contexts
	Reserve      int // of Used: kept free for the reply
	PinBudget    int // maximum tokens of first messages and pins
	Lines        int // verbatim messages
	InPart       int // of Lines: messages that are too long and shown in part, without tool results
	Stack        []Summary
	Past         Past
	Prepared     []Summary // prepared, not applied yet
	Next         Trigger   // the next level
	NextAt       int       // tokens used at which it is reached; 0: emergency is reached
	Running      *Event    // what a worker is doing; nil: nothing
	Scheduled    bool      // a request is queued and starts when the running job ends
	Last         Event     // the last event; its State is empty if there is none
	Failed       Event     // the last failure since which no compaction was applied; its State is empty if there is none
	BackingOff   bool      // a level is reached, but waits because the last attempt failed
	Paused       string    // why automatic compaction is paused; "": it is not
	Policy       Policy
}

// Past describes what a conversation has from before its session.
type Past struct {
	Earlier   []transcript.Session // oldest first: those that may be shown, and older ones that need work
	Inherited transcript.Inheritance
	Shown     map[int64]bool // rows of the conversation itself in the view, by id
	Tokens    int            // of what is in the view
}

// StatusReader returns a function that returns the Status of this moment, under the policy, window and budget, and at the
// time, of the call. That may be called in any goroutine, at any time.
func (c *Compactor) StatusReader() func() Status {
	at := &moment{
		meter: c.meter, models: c.models, s: c.view, retries: c.retries, last: c.reports.last, failed: c.reports.failed,
		scheduled: c.queued != nil, undoLifted: c.undoLifted,
	}
	if c.busy != nil {
		at.running = new(c.reports.event(c.busy.row, EventStarted))
	}
	return at.status
}

// moment is what a Status is computed from. The loop makes one after each step, so making one must be cheap.
type moment struct {
	meter                 meter
	models                models
	s                     view
	retries               retries // its map repairs is the loop's, and not to be read
	last, failed          Event
	running               *Event
	scheduled, undoLifted bool
}

func (m *moment) status() Status {
	now := m.meter.o.Now()
	g := m.meter.shares(m.s)
	g.Last = m.last
	g.Failed = m.failed
	g.Running = m.running
	g.Scheduled = m.scheduled
	g.Lines = len(m.s.Messages)
	g.Stack = m.s.Head.Stack
	g.Prepared = m.s.prepared()
	g.PinBudget = m.meter.shape(g.Policy).MaxCopies
	g.Past = Past{Earlier: m.s.Head.Earlier, Inherited: m.s.Head.Inherited, Shown: make(map[int64]bool), Tokens: m.s.Past.Tokens}
	for _, e := range m.s.Past.Entries {
		if e.Ours {
			g.Past.Shown[e.Row.ID] = true
		}
	}
	for _, v := range m.s.Messages {
		if v.Clipped() != nil && v.Role != llm.RoleTool {
			g.InPart++
		}
	}
	g.Next, g.NextAt = nextLevel(g.Used, g.Window, g.Policy)
	if m.running == nil && levelOf(g.Used, g.Window, g.Policy) != levelNone {
		_, ready := m.models.choose(g.Policy, m.s.addressed, m.retries, now)
		g.BackingOff = !ready
	}
	g.Paused = m.retries.why(now)
	if !g.Policy.Enabled {
		g.Paused = reasonOff
	}
	if g.Paused == "" && m.s.Head.Spared.To >= m.s.Head.Start && !m.undoLifted {
		g.Paused = reasonSpared
	}
	return g
}

// Usage returns Used, Head and Verbatim of a Status, at a cost independent of the size of the view.
// Call it on the owner's goroutine.
func (w *contextWindow) Usage() (used, head, verbatim int) {
	g := w.meter.shares(w.view)
	return g.Used, g.Head, g.Verbatim
}
