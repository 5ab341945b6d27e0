// How full the window is, as text, as /context shows it.

package channel

import (
	"cmp"
	"fmt"
	"strings"

	"cairn/chat"
)

// barWidth is the width of the bar in characters: its line fits a narrow terminal, and a phone.
const barWidth = 20

// String shows it to people.
func (c Context) String() string {
	var b strings.Builder
	line := func(label, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-10s%s\n", label, text)
		}
	}
	filled := min(c.Used*barWidth/max(c.Max, 1), barWidth)
	fmt.Fprintf(&b, "[%s%s] %.1f %%", strings.Repeat("█", filled), strings.Repeat("░", barWidth-filled), c.UsedPct)
	if c.Used > c.Max {
		b.WriteString(" (over)")
	}
	fmt.Fprintf(&b, "\nused      %d of %d tokens (window: %s)\n", c.Used, c.Max, c.Source)
	fmt.Fprintf(&b, "of which  %d system prompt and tools, %d head, %d messages, %d reserved for the reply\n",
		c.Parts.Frame, c.Parts.Head, c.Parts.Verbatim, c.Parts.Reserve)
	line("model", c.Model)
	line("calls", c.Calls)
	c.Usage.write(&b)
	line("next", c.Next)
	inPart := ""
	if c.InPart > 0 {
		inPart = ", " + chat.Counted(c.InPart, "message", "messages") + " shown in part"
	}
	line("messages", fmt.Sprintf("%d in total, %d of them verbatim%s", c.Messages, c.Verbatim, inPart))
	line("running", cmp.Or(c.Running, "nothing"))
	label := "tasks"
	for _, t := range c.Tasks {
		line(label, fmt.Sprintf("%d by %s: %d messages, %d tokens so far", t.Number, t.Agent, t.Messages, t.Tokens))
		label = ""
	}
	line("ready", c.Ready)
	line("last", c.Last)
	line("paused", c.Paused)
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
