// How full the window is, as text, as /context shows it.

package channel

import (
	"cmp"
	"fmt"
	"strings"
)

// barWidth is the width of the bar in characters: its line fits a narrow terminal, and a phone.
const barWidth = 20

// String shows it to people.
func (c Context) String() string {
	var b strings.Builder
	filled := min(c.Used*barWidth/max(c.Max, 1), barWidth)
	fmt.Fprintf(&b, "[%s%s] %.1f %%", strings.Repeat("█", filled), strings.Repeat("░", barWidth-filled), c.UsedPct)
	if c.Used > c.Max {
		b.WriteString(" (over)")
	}
	fmt.Fprintf(&b, "\nused      %d of %d tokens (window: %s)\n", c.Used, c.Max, c.Source)
	fmt.Fprintf(&b, "of which  %d system prompt and tools, %d head, %d messages, %d reserved for the reply\n",
		c.Parts.Frame, c.Parts.Head, c.Parts.Verbatim, c.Parts.Reserve)
	fmt.Fprintf(&b, "model     %s\n", c.Model)
	if c.Calls != "" {
		fmt.Fprintf(&b, "calls     %s\n", c.Calls)
	}
	c.Usage.write(&b)
	fmt.Fprintf(&b, "next      %s\n", c.Next)
	fmt.Fprintf(&b, "messages  %d in total, %d of them verbatim%s\n", c.Messages, c.Verbatim, c.inPart())
	fmt.Fprintf(&b, "running   %s\n", cmp.Or(c.Running, "nothing"))
	for i, t := range c.Tasks {
		head := "          "
		if i == 0 {
			head = "tasks     "
		}
		fmt.Fprintf(&b, "%s%d by %s: %d messages, %d tokens so far\n", head, t.Number, t.Agent, t.Messages, t.Tokens)
	}
	if c.Ready != "" {
		fmt.Fprintf(&b, "ready     %s\n", c.Ready)
	}
	if c.Last != "" {
		fmt.Fprintf(&b, "last      %s\n", c.Last)
	}
	if c.Paused != "" {
		fmt.Fprintf(&b, "paused    %s\n", c.Paused)
	}
	c.Past.write(&b)
	if len(c.Stack) == 0 {
		b.WriteString("stack     empty")
		return b.String()
	}
	fmt.Fprintf(&b, "stack     %d, oldest first:", len(c.Stack))
	for _, s := range c.Stack {
		b.WriteString("\n" + s.line())
	}
	return b.String()
}

func (c Context) inPart() string {
	if c.InPart == 0 {
		return ""
	}
	return ", " + counted(c.InPart, "message", "messages") + " shown in part"
}

func (s StackEntry) line() string {
	return fmt.Sprintf("  %4d  %-6s level %d  #%d to #%d  %s  %d tokens, by %s", s.ID, s.Kind, s.Level, s.From, s.To,
		days(s.FromTime, s.ToTime), s.Tokens, s.By)
}

func (p Past) write(b *strings.Builder) {
	if len(p.Channel) > 0 || p.Root != "" {
		fmt.Fprintf(b, "channel   summaries the thread began with: %d", len(p.Channel))
		if p.Root != "" {
			b.WriteString(", and the message it belongs to")
		}
		b.WriteByte('\n')
	}
	if p.Sessions == 0 {
		return
	}
	shown := 0
	for _, s := range p.Earlier {
		if !s.Hidden {
			shown++
		}
	}
	fmt.Fprintf(b, "earlier   sessions before the last /new: %d; rows shown: %d of %d, %d tokens:\n", p.Sessions, shown, len(p.Earlier), p.Tokens)
	for _, s := range p.Earlier {
		b.WriteString(s.line())
		if s.Hidden {
			b.WriteString(", not shown")
		}
		b.WriteByte('\n')
	}
}
