package compactor

import (
	"maps"

	"cairn/llm"
)

// Gauge is how full a conversation's window is.
type Gauge struct {
	Used, Window int // tokens; used counts the prompt of the next request and the reply's reserve
	Frame        int // of Used: system prompt and tools
	Head         int // of Used: first messages and the stack
	Verbatim     int // of Used: messages and turn contexts
	Contexts     int // of Verbatim: turn contexts
	Reserve      int // of Used: kept free for the reply
	Lines        int // verbatim messages
	InPart       int // of Lines: messages that are too long and shown in part, without tool results
	Stack        []Compaction
	Past         Past
	Prepared     []Compaction // made ahead, not shown yet
	Next         Trigger      // the level that is reached next
	NextAt       int          // at so many tokens used; 0: emergency is reached
	Running      *Event       // what a worker is at; nil: nothing
	Scheduled    bool         // a request is queued; it begins when that has ended
	Last         Event        // the last thing that happened; its State is empty if nothing has
	Failed       Event        // the last failure that no compaction has followed; its State is empty if there is none
	BackingOff   bool         // a level is reached that waits only because the last attempt failed
	Paused       string       // why automatic compaction rests just now; empty: it does not
	Policy       Policy
}

// Reading returns the gauge as it is now, to be read in any goroutine, at any time.
func (c *Compactor) Reading() func() Gauge {
	s, backoff, vetoes, undoLifted := c.h.view, c.backoff, maps.Clone(c.vetoes), c.undoLifted
	_, ready := c.summarizer(c.o.Policy(), s, c.o.Now())
	waits := c.busy == nil && !ready
	known := Gauge{Last: c.last, Failed: c.lastFailed, Prepared: c.prepared, Scheduled: c.queued != nil}
	if c.busy != nil {
		event := c.busy.event(EventStarted)
		known.Running = &event
	}
	return func() Gauge {
		g, now := c.measure(s, known), c.o.Now()
		g.BackingOff = waits && levelOf(g.Used, g.Window, g.Policy) != levelNone
		switch paused := backoff.why(now); {
		case !g.Policy.Enabled:
			g.Paused = reasonOff
		case paused != "":
			g.Paused = paused
		default:
			g.Paused = vetoed(vetoes, now)
		}
		if g.Paused == "" && s.head.SparedTo >= s.head.Start && !undoLifted {
			g.Paused = reasonSpared
		}
		return g
	}
}

// Usage returns Used, Head and Verbatim of a Gauge. It costs the same however much is shown.
// It is for the owner.
func (c *Compactor) Usage() (used, head, verbatim int) {
	s := c.h.view
	prompt, frame := c.prompt(s), c.frame()
	share := func(estimated int) int { return prompt * estimated / max(frame+s.cost(), 1) }
	head = share(s.headCost)
	return prompt + Reserve(c.o.MaxOutput, c.o.Window()), head, prompt - share(frame) - head
}

// measure adds to a gauge what a view costs.
func (c *Compactor) measure(s view, g Gauge) Gauge {
	window := c.o.Window()
	prompt, frame := c.prompt(s), c.frame()
	share := func(estimated int) int { return prompt * estimated / max(frame+s.cost(), 1) }
	g.Window, g.Reserve, g.Policy = window, Reserve(c.o.MaxOutput, window), c.o.Policy()
	g.Used, g.Frame, g.Head, g.Contexts = prompt+g.Reserve, share(frame), share(s.headCost), share(s.contextCost)
	g.Verbatim = prompt - g.Frame - g.Head
	g.Lines, g.Stack, g.Past = len(s.lines), s.head.Stack, s.pastOf()
	for _, l := range s.lines {
		if l.short != nil && l.Role != llm.RoleTool {
			g.InPart++
		}
	}
	g.Next, g.NextAt = nextLevel(g.Used, window, g.Policy)
	return g
}
