// Package report has what people see of a conversation: its window, its summaries, its settings, and what its models cost.
package report

import (
	"context"

	"cairn/channel/sentences"
	"cairn/compactor"
	"cairn/llm"
	"cairn/store"
)

// Context is what /context and `cairn context` show. Its sentences are English, except for /context.
type Context struct {
	Channel string `json:"channel"`
	Agent   string `json:"agent"`
	Model   string `json:"model"`
	Fill

	Fallback *StandIn `json:"fallback,omitempty"`        // only the running bot knows
	ChosenBy string   `json:"model_chosen_by,omitempty"` // who chose Model with /model; absent: it is the agent's own

	Source   string       `json:"window_source"`
	Parts    Parts        `json:"parts"`
	Messages int          `json:"messages"`        // in the transcript
	Verbatim int          `json:"verbatim"`        // how many of them are shown verbatim
	InPart   int          `json:"in_part"`         // how many of them are too long for the window: the model sees the beginning and end
	Ready    string       `json:"ready"`           // summaries made ahead, not shown yet; empty: none
	Stack    []StackEntry `json:"stack"`           // oldest first
	Past     Past         `json:"past"`            // from before the session
	Tasks    []store.Task `json:"tasks,omitempty"` // open tasks

	Evidence store.Evidence `json:"evidence"`        // of the newest summaries
	Calls    string         `json:"calls,omitempty"` // model calls in the last hour, if there is a limit; only the running bot knows

	Usage *Spending `json:"usage,omitempty"` // of models
}

// StandIn is a model of an agent's fallback that answers in place of the agent's own.
type StandIn struct {
	Own    string `json:"own"`
	Model  string `json:"model"`
	Reason string `json:"reason"` // why the own one does not answer
	Again  string `json:"again"`  // when it is tried again: "a minute"
}

// String describes it in English.
func (s *StandIn) String() string { return s.Text(sentences.Speaker{}) }

// Text describes it by a speaker.
func (s *StandIn) Text(speaker sentences.Speaker) string {
	return speaker.Sayf("%s answers: %s; %s is tried again in %s", s.Model, speaker.Translate(s.Reason), s.Own, speaker.Translate(s.Again))
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

// FillOf returns the fill of a window, with sentences of a speaker.
func FillOf(g compactor.Status, speaker sentences.Speaker) Fill {
	return Fill{
		Used: g.Used, Max: g.Window, UsedPct: float64(g.Used*1000/max(g.Window, 1)) / 10,
		Next: nextLevel(g, speaker), Running: runningWords(g, speaker), Last: lastWords(g.Last, speaker), Paused: speaker.Translate(g.Paused),
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

// NewContext returns the report of a conversation, with sentences of a speaker. What cannot be read is left out. It may ask
// the model's server.
func NewContext(
	ctx context.Context, g compactor.Status, records *store.Conversation, agent string, model llm.Model, speaker sentences.Speaker,
) Context {
	window := model.Window(ctx)
	counts, _ := records.Transcript().Counts(ctx)
	open, _ := records.Tasks().Open(ctx)
	evidence, _ := records.Compactions().Evidence(ctx)
	c := Context{
		Channel: records.Name(), Agent: agent, Model: model.Name(), Source: window.Source,
		Fill: FillOf(g, speaker), Parts: Parts{g.Frame, g.Head, g.Verbatim, g.Reserve},
		Messages: counts.Messages, Verbatim: g.Lines - g.InPart, InPart: g.InPart,
		Stack: stackOf(g.Stack), Past: pastOf(g.Past), Tasks: open, Evidence: evidence,
	}
	if n := len(g.Prepared); n > 0 {
		silence := llm.InMinutes(g.Policy.CacheTTL.Or(llm.CacheTTLOf(model)))
		c.Ready = speaker.Sayf("%d summaries ready, up to #%d; the oldest are applied at the next level, or at the first request after %s of silence",
			n, g.Prepared[n-1].To, speaker.Translate(silence))
	}
	return c
}

func pastOf(g compactor.Past) Past {
	p := Past{Tokens: g.Tokens, Sessions: len(g.Earlier), Earlier: []StackEntry{}, Channel: stackOf(g.Inherited.Stack)}
	for _, session := range g.Earlier {
		for _, s := range stackOf(session.Rows) {
			s.Session = session.From
			s.Hidden = !g.Shown[s.ID]
			p.Earlier = append(p.Earlier, s)
		}
	}
	if g.Inherited.Root != nil {
		p.Root = g.Inherited.Root.Text
	}
	return p
}
