package channel

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
	"cairn/memory"
	"cairn/store"
)

// Context is what /context and `cairn context` show.
type Context struct {
	Channel string `json:"channel"`
	Agent   string `json:"agent"`
	Model   string `json:"model"`
	Fill
	Source   string       `json:"window_source"`
	Parts    Parts        `json:"parts"`
	Messages int          `json:"messages"`        // in the transcript
	Verbatim int          `json:"verbatim"`        // how many of them are shown verbatim
	InPart   int          `json:"in_part"`         // how many of them are too long for the window: the model sees the beginning and end
	Ready    string       `json:"ready"`           // summaries made ahead, not shown yet; empty: none
	Stack    []StackEntry `json:"stack"`           // oldest first
	Past     Past         `json:"past"`            // from before the session
	Tasks    []Task       `json:"tasks,omitempty"` // open tasks

	Evidence store.Evidence `json:"evidence"`        // of the newest summaries
	Calls    string         `json:"calls,omitempty"` // model calls in the last hour, if there is a limit; only the running bot knows

	Usage *Spending `json:"usage,omitempty"` // of models
}

// Fill is how full a window is, and what is done about it.
type Fill struct {
	Used    int     `json:"used_tokens"` // prompt of the next request plus the reply's reserve
	Max     int     `json:"max_tokens"`  // size of the window
	UsedPct float64 `json:"used_pct"`
	Next    string  `json:"next"` // which level comes next, and where
	Running string  `json:"running,omitempty"`
	Last    string  `json:"last,omitempty"`
	Paused  string  `json:"paused,omitempty"`
}

func fillOf(g compactor.Status) Fill {
	return Fill{
		Used: g.Used, Max: g.Window, UsedPct: float64(g.Used*1000/max(g.Window, 1)) / 10,
		Next: nextLevel(g), Running: runningWords(g), Last: lastWords(g.Last), Paused: g.Paused,
	}
}

// Parts breaks used_tokens down, in tokens.
type Parts struct {
	Frame    int `json:"system_and_tools"`
	Head     int `json:"head"`     // first messages, the past and the stack
	Verbatim int `json:"messages"` // messages shown verbatim
	Reserve  int `json:"reserve"`  // kept free for the reply
}

// Past is what a conversation keeps from before its session.
type Past struct {
	Tokens   int          `json:"tokens"`         // of the part that is shown
	Earlier  []StackEntry `json:"earlier"`        // rows of earlier sessions, oldest first
	Channel  []StackEntry `json:"channel"`        // in a thread: copies of its channel's stack, oldest first
	Root     string       `json:"root,omitempty"` // in a thread: the message it hangs on
	Sessions int          `json:"sessions"`       // how many earlier sessions Earlier covers
}

// ReadContext reads how full a conversation's window is from the database alone.
func ReadContext(ctx context.Context, records *store.Conversation, agent Agent) (Context, error) {
	tools, err := agent.tools(ctx, records, memory.ToolOptions{}, nil)
	if err != nil {
		return Context{}, err
	}
	policy, err := agent.PolicyOf(ctx, records)
	if err != nil {
		return Context{}, err
	}
	engine, err := compactor.Open(ctx, agent.engine(newWindow(ctx, agent.Model), tools, compactor.Options{
		Records: memory.Of(records).Records(), Policy: func() compactor.Policy { return policy },
	}))
	if err != nil {
		return Context{}, err
	}
	defer engine.Close()
	return newContext(ctx, engine.StatusReader()(), records, agent), nil
}

func newContext(ctx context.Context, g compactor.Status, records *store.Conversation, agent Agent) Context {
	window := agent.Model.Window(ctx)
	counts, _ := records.Transcript().Counts(ctx) // the report has what can be read
	open, _ := records.Tasks().Open(ctx)
	evidence, _ := records.Compactions().Evidence(ctx)
	c := Context{
		Channel: records.Name(), Agent: agent.ID, Model: agent.Model.Name(), Source: window.Source,
		Fill: fillOf(g), Parts: Parts{g.Frame, g.Head, g.Verbatim, g.Reserve},
		Messages: counts.Messages, Verbatim: g.Lines - g.InPart, InPart: g.InPart,
		Stack: stackOf(g.Stack), Past: pastOf(g.Past), Tasks: open, Evidence: evidence,
	}
	if n := len(g.Prepared); n > 0 {
		c.Ready = fmt.Sprintf("%d made ahead, up to #%d; the oldest are applied at the next level, or at the first request after %s of silence",
			n, g.Prepared[n-1].To, llm.InMinutes(g.Policy.CacheTTL.Or(cacheTTLOf(agent.Model))))
	}
	return c
}

func runningWords(g compactor.Status) (words string) {
	if e := g.Running; e != nil {
		words = fmt.Sprintf("summarizing %s, #%d to #%d (%s)", chat.Counted(e.Messages, "message", "messages"), e.From, e.To, e.Trigger)
		if g.Scheduled {
			words += "; a /compact is scheduled after it"
		}
	}
	return words
}

func pastOf(g compactor.Past) Past {
	p := Past{Tokens: g.Tokens, Sessions: len(g.Earlier), Earlier: []StackEntry{}, Channel: stackOf(g.Inherited.Stack)}
	for _, session := range g.Earlier {
		for _, s := range stackOf(session.Rows) {
			s.Session, s.Hidden = session.From, !g.Shown[s.ID]
			p.Earlier = append(p.Earlier, s)
		}
	}
	if g.Inherited.Root != nil {
		p.Root = g.Inherited.Root.Text
	}
	return p
}

// nextLevel describes which level comes next, and at how many tokens, according to the engine.
func nextLevel(g compactor.Status) string {
	if g.NextAt == 0 {
		return "emergency is reached"
	}
	return fmt.Sprintf("%s at %.0f %% (%d tokens)", g.Next, 100*float64(g.NextAt)/float64(max(g.Window, 1)), g.NextAt)
}

func lastWords(e compactor.Event) string {
	switch e.State {
	case compactor.EventApplied:
		if e.AfterTokens >= e.BeforeTokens { // it fills a placeholder
			return fmt.Sprintf("%s by %s, messages #%d to #%d", e.Kind, e.By, e.From, e.To)
		}
		return fmt.Sprintf("%s by %s, messages #%d to #%d: %d → %d tokens", e.Kind, e.By, e.From, e.To, e.BeforeTokens, e.AfterTokens)
	case compactor.EventUndone:
		return fmt.Sprintf("undone: %s of messages #%d to #%d: %d → %d tokens", e.Kind, e.From, e.To, e.BeforeTokens, e.AfterTokens)
	case compactor.EventFailed:
		return "failed: " + e.Error
	case compactor.EventNoop:
		return "nothing was done: " + e.Error
	}
	return ""
}

const (
	barWidth = 20 // of the bar, in characters: its line fits a narrow terminal, and a phone
	notShown = ", not shown"
)

// String shows it to people.
func (c Context) String() string {
	filled := min(c.Used*barWidth/max(c.Max, 1), barWidth)
	lines := []string{fmt.Sprintf("[%s%s] %.1f %%", strings.Repeat("█", filled), strings.Repeat("░", barWidth-filled), c.UsedPct)}
	if c.Used > c.Max {
		lines[0] += " (over)"
	}
	line := func(label, format string, values ...any) {
		if text := fmt.Sprintf(format, values...); text != "" {
			lines = append(lines, fmt.Sprintf("%-10s%s", label, text))
		}
	}
	line("used", "%d of %d tokens (window: %s)", c.Used, c.Max, c.Source)
	line("of which", "%d system prompt and tools, %d head, %d messages, %d reserved for the reply", c.Parts.Frame, c.Parts.Head, c.Parts.Verbatim, c.Parts.Reserve)
	line("model", "%s", c.Model)
	line("calls", "%s", c.Calls)
	c.Usage.write(line)
	line("next", "%s", c.Next)
	inPart := ""
	if c.InPart > 0 {
		inPart = ", " + chat.Counted(c.InPart, "message", "messages") + " shown in part"
	}
	line("messages", "%d in total, %d of them verbatim%s", c.Messages, c.Verbatim, inPart)
	line("running", "%s", cmp.Or(c.Running, "nothing"))
	label := "tasks"
	for _, t := range c.Tasks {
		line(label, "%d by %s: %s, %d tokens so far", t.Number, t.Agent, chat.Counted(int(t.Messages), "message", "messages"), t.Tokens)
		label = ""
	}
	line("ready", "%s", c.Ready)
	line("last", "%s", c.Last)
	line("paused", "%s", c.Paused)
	root := ""
	if c.Past.Root != "" {
		root = ", and the message it belongs to"
	}
	if len(c.Past.Channel) > 0 || root != "" {
		line("channel", "summaries the thread began with: %d%s", len(c.Past.Channel), root)
	}
	if c.Past.Sessions > 0 {
		rows := rowLines(c.Past.Earlier)
		line("earlier", "sessions before the last /new: %d; rows shown: %d of %d, %d tokens:%s", c.Past.Sessions,
			len(c.Past.Earlier)-strings.Count(rows, notShown), len(c.Past.Earlier), c.Past.Tokens, rows)
	}
	if len(c.Stack) > 0 {
		line("stack", "%d, oldest first:%s", len(c.Stack), rowLines(c.Stack))
	} else {
		line("stack", "empty")
	}
	line("evidence", "%s", evidenceWords(c.Evidence))
	return strings.Join(lines, "\n")
}

func rowLines(rows []StackEntry) (lines string) {
	for _, s := range rows {
		lines += fmt.Sprintf("\n  %4d  %-6s level %d  #%d to #%d  %s  %d tokens, %s", s.ID, s.Kind, s.Level, s.From, s.To,
			days(s.FromTime, s.ToTime), s.Tokens, madeBy(s.By))
		if s.Hidden {
			lines += notShown
		}
	}
	return lines
}
