package channel

import (
	"context"
	"time"

	"cairn/compactor"
	"cairn/llm"
	"cairn/memory"
	"cairn/store"
)

// Context is what /context and `cairn context` show. Its sentences are English, except for /context.
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

func fillOf(g compactor.Status, language string) Fill {
	return Fill{
		Used: g.Used, Max: g.Window, UsedPct: float64(g.Used*1000/max(g.Window, 1)) / 10,
		Next: nextLevel(g, language), Running: runningWords(g, language), Last: lastWords(g.Last, language), Paused: Translated(language, g.Paused),
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

// StackEntry is one entry of the stack.
type StackEntry struct {
	ID       int64          `json:"id"`
	Level    int            `json:"level"`
	Kind     compactor.Kind `json:"kind"`
	By       compactor.By   `json:"by"`
	From     int64          `json:"from_seq"`
	To       int64          `json:"to_seq"`
	FromTime time.Time      `json:"from_time"`
	ToTime   time.Time      `json:"to_time"`
	Tokens   int            `json:"tokens"`
	Text     string         `json:"text"` // as the model sees it
	Lines    []SummaryLine  `json:"lines"`
	Without  int            `json:"without_evidence"`  // how many lines have no evidence
	Dropped  int            `json:"dropped"`           // how many further lines the messages contradicted
	Session  int64          `json:"session,omitempty"` // of an earlier session: its first message
	Hidden   bool           `json:"hidden,omitempty"`  // not shown: there are newer ones, or there is no room
}

// SummaryLine is a line of a summary that claims something.
type SummaryLine struct {
	Number   int     `json:"number"` // from 1
	Text     string  `json:"text"`
	Seqs     []int64 `json:"seqs"`               // the messages that say it
	Beside   bool    `json:"beside,omitempty"`   // no message of the summary's says it, but what its writer was shown beside them
	Earlier  int64   `json:"earlier,omitempty"`  // if beside: the summary that says it; absent: it is none, or not known
	Evidence *bool   `json:"evidence,omitempty"` // it has some, or a person wrote it; absent: not known
	By       string  `json:"by,omitempty"`       // the name of the person who wrote it
	At       int     `json:"-"`                  // its index among the lines of StackEntry.Text
}

// linesOf returns the lines of a summary that claim something, as people count them.
func linesOf(s compactor.Summary) []SummaryLine {
	claims := s.Claims()
	lines := make([]SummaryLine, len(claims))
	for i, claim := range claims {
		lines[i] = SummaryLine{
			Number: i + 1, Text: claim.Text, Seqs: append([]int64{}, claim.Seqs...), Beside: claim.Beside, Earlier: claim.Earlier, By: claim.By, At: claim.At,
		}
		if claim.Known {
			lines[i].Evidence = new(claim.HasEvidence())
		}
	}
	return lines
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
	return newContext(ctx, engine.StatusReader()(), records, agent, DefaultLanguage), nil
}

// newContext returns the report, with its sentences in a language.
func newContext(ctx context.Context, g compactor.Status, records *store.Conversation, agent Agent, language string) Context {
	window := agent.Model.Window(ctx)
	counts, _ := records.Transcript().Counts(ctx) // the report has what can be read
	open, _ := records.Tasks().Open(ctx)
	evidence, _ := records.Compactions().Evidence(ctx)
	c := Context{
		Channel: records.Name(), Agent: agent.ID, Model: agent.Model.Name(), Source: window.Source,
		Fill: fillOf(g, language), Parts: Parts{g.Frame, g.Head, g.Verbatim, g.Reserve},
		Messages: counts.Messages, Verbatim: g.Lines - g.InPart, InPart: g.InPart,
		Stack: stackOf(g.Stack), Past: pastOf(g.Past), Tasks: open, Evidence: evidence,
	}
	if n := len(g.Prepared); n > 0 {
		c.Ready = Sayf(language, "%d made ahead, up to #%d; the oldest are applied at the next level, or at the first request after %s of silence",
			n, g.Prepared[n-1].To, Translated(language, llm.InMinutes(g.Policy.CacheTTL.Or(cacheTTLOf(agent.Model)))))
	}
	return c
}

// StackEntryOf converts a summary to an entry of the stack.
func StackEntryOf(s compactor.Summary) StackEntry {
	text, lines := s.Marked(), linesOf(s)
	if s.Kind == compactor.Placeholder {
		text = s.Render()
		for i := range lines {
			lines[i].At++ // they stand under the placeholder's own line
		}
	}
	return StackEntry{
		ID: s.ID, Level: s.Level, Kind: s.Kind, By: s.By, From: s.From, To: s.To,
		FromTime: s.FromTime.UTC(), ToTime: s.ToTime.UTC(), Tokens: s.Tokens, Text: text,
		Lines: lines, Without: s.Unsupported(), Dropped: s.Dropped,
	}
}

func stackOf(rows []compactor.Summary) []StackEntry {
	all := make([]StackEntry, len(rows))
	for i, row := range rows {
		all[i] = StackEntryOf(row)
	}
	return all
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
