package compactor

import (
	"cmp"
	"slices"

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
	Staged       []Compaction // made ahead, not shown yet
	Next         Trigger      // the level that is reached next
	NextAt       int          // at so many tokens used; 0: emergency is reached
	Running      *Event       // what a worker is at; nil: nothing
	Scheduled    bool         // somebody's wish is next, when that has ended
	Last         Event        // the last thing that happened; its State is empty if nothing has
	Failed       Event        // the last failure that no landing has followed; its State is empty if there is none
	Paused       string       // why automatic compaction rests just now; empty: it does not
	Policy       Policy
}

// Gauge reads the gauge.
func (c *Compactor) Gauge() Gauge {
	s, p, window := c.h.snapshot(), c.o.Policy(), c.o.Window()
	prompt, frame := c.prompt(s), c.frame()
	share := func(estimated int) int { return prompt * estimated / max(frame+s.cost(), 1) }
	g := Gauge{
		Used: prompt + Reserve(c.o.MaxOutput, window), Window: window, Frame: share(frame), Head: share(s.headCost),
		Reserve: Reserve(c.o.MaxOutput, window), Lines: len(s.lines), Stack: s.head.Stack, Past: s.pastOf(), Policy: p,
	}
	for _, l := range s.lines {
		if l.short != nil && l.Role != llm.RoleTool {
			g.InPart++
		}
	}
	g.Verbatim = prompt - g.Frame - g.Head
	g.Contexts = share(s.contextCost)
	g.Next, g.NextAt = nextLevel(g.Used, window, p)
	c.mu.Lock()
	defer c.mu.Unlock()
	g.Last, g.Failed, g.Staged = c.last, c.lastFailed, slices.Clone(c.staged)
	if c.busy != nil {
		event := c.busy.event(EventStarted)
		g.Running = &event
	}
	g.Scheduled = c.wished != nil
	now := c.o.Now()
	g.Paused = cmp.Or(c.pace.why(now), c.vetoedLocked(now))
	if g.Paused == "" && s.head.SparedTo >= s.head.Start && !c.lifted {
		g.Paused = reasonSpared
	}
	if !p.Enabled {
		g.Paused = reasonOff
	}
	return g
}
