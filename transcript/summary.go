package transcript

import (
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"cairn/chat"
	"cairn/internal/tokens"
)

// Kind says what a summary is. The values of this type and the next three appear in the database
// and in output.
type Kind string

// The kinds of summaries.
const (
	Leaf        Kind = "leaf"        // a summary of messages
	Rollup      Kind = "rollup"      // a summary of summaries
	Placeholder Kind = "placeholder" // says only that something is hidden; with children: a rollup that lost its text
)

// By says who wrote a summary.
type By string

// The makers of summaries.
const (
	Worker     By = "worker"     // a model
	Extractive By = "extractive" // the summarizer that needs no model
	Nobody     By = "emergency"  // a placeholder
)

// Status is a summary's place in its life cycle:
// running -> prepared -> applied -> rolled up | replaced | undone; running -> failed;
// running or prepared -> stale.
type Status string

// The states of a summary.
const (
	Running  Status = "running"
	Prepared Status = "prepared"  // finished and stored, not in the prompt
	Applied  Status = "applied"   // in the prompt in place of its span
	RolledUp Status = "rolled_up" // in the prompt through the rollup that has it as a child
	Replaced Status = "replaced"  // a better summary, or the parts of it, took its place
	Undone   Status = "undone"
	Failed   Status = "failed"
	Stale    Status = "stale" // what it read has changed
)

// Trigger says why a summary was started.
type Trigger string

// The triggers of compactions.
const (
	OnBackground Trigger = "background"
	OnAggressive Trigger = "aggressive"
	OnEmergency  Trigger = "emergency"
	OnManual     Trigger = "manual"
	OnSelf       Trigger = "self"
	OnReactive   Trigger = "reactive"
	OnRepair     Trigger = "repair"
	OnRollup     Trigger = "rollup"
	OnPrepare    Trigger = "prepare" // ahead of the level that will need it
	OnNew        Trigger = "new"     // a user started a new session
	OnRewrite    Trigger = "rewrite" // a person rewrote a line of the summary
)

// MaxLevel limits how often a text is summarized again: a leaf or a placeholder has level 0, a
// rollup one more than its highest child.
const MaxLevel = 12

// Summary is a row that represents a span in the prompt.
type Summary struct {
	ID      int64
	Kind    Kind
	By      By
	State   Status
	Trigger Trigger
	Level   int

	Span                       // full turns
	FromTime, ToTime time.Time // when the first and the last message of the span were sent
	Messages         int       // in the span, deleted ones not counted
	Children         []int64   // of a rollup, oldest first
	Sources          []int64   // for the extractive summarizer: the messages its rollup chooses from; 0 means workers' text below it

	Text   string // of a placeholder, which is generated when it is rendered, only the lines of people
	Tokens int    // tokens in the prompt

	Lines   []Line // the lines of Text that claim something; nil: not known
	Dropped int    // how many lines the messages contradicted: they are not in Text

	DroppedLines []DroppedLine // some of these, and those that people removed or rewrote

	Model string // the worker's model; empty for the others
	Focus string // what the requester wants to keep, in their own words
	Error string // why it failed, in words for people

	AwaitsModel bool     // a model still has to summarize it
	Declined    Declined // by a model, while the summary awaited one
	Cut         bool     // the rest of a summary whose other part is replaced, as a plan sees it
}

// Declined says how often in a row, and which model declined to summarize a span.
type Declined struct {
	Times int
	By    string
}

// Count returns how often a model declined the span.
func (d Declined) Count(model string) int {
	if d.By != model {
		return 0
	}
	return d.Times
}

// LogAttrs identifies the summary in the log, without its text.
func (sum Summary) LogAttrs() []slog.Attr {
	return []slog.Attr{
		slog.Int64("id", sum.ID), slog.String("trigger", string(sum.Trigger)), slog.String("kind", string(sum.Kind)),
		slog.String("by", string(sum.By)), slog.Int64("from_seq", sum.From), slog.Int64("to_seq", sum.To),
	}
}

// NeedsRepair reports whether a model may still replace the summary with a better one.
func (sum Summary) NeedsRepair() bool { return sum.By != Worker || sum.AwaitsModel }

// IsRollup reports whether the summary is a summary of summaries, with or without its text.
func (sum Summary) IsRollup() bool { return sum.Kind == Rollup || len(sum.Children) > 0 }

// Edited returns the summary after an edit of a message that it reads. A job becomes stale. A
// worker's text stays until it is repaired; the extractive summarizer writes a new one, and until
// then only the lines of people are left. The store also does this to rows that the State does not hold.
func (sum Summary) Edited() Summary {
	switch {
	case sum.State == Running || sum.State == Prepared:
		return sum.retire(Stale)
	case sum.State != Applied && sum.State != RolledUp:
		return sum
	case sum.By == Worker:
		sum.AwaitsModel = true
		sum.Declined = Declined{}
		sum.DroppedLines = nil // they may have the old words, and a repair would keep those of people
		return sum
	}
	return sum.emptied().Keeping(sum)
}

// Without returns the summary after a deletion of messages that it reads, or of others whose
// words its text repeats. A job becomes stale, and no row keeps its text, lines of people included,
// which may repeat what was deleted: an applied one becomes a placeholder, or ends if it no longer covers any message. A rollup
// keeps its children. The store also does this to rows that the State does not hold; deleted are the messages that existed until
// now.
func (sum Summary) Without(deleted []int64) Summary {
	if sum.State == Running || sum.State == Prepared {
		return sum.retire(Stale)
	}
	for _, seq := range deleted {
		if sum.Covers(seq) {
			sum.Messages--
		}
	}
	sum = sum.emptied()
	if sum.State == Applied && sum.Messages == 0 {
		sum.State = Replaced
	}
	return sum
}

// emptied returns the summary without its text: a placeholder, if it is or was applied. A model that
// declined it has not read what is left.
func (sum Summary) emptied() Summary {
	sum = sum.withoutText()
	sum.Declined = Declined{}
	switch sum.State {
	case Applied, RolledUp:
		sum.AwaitsModel = sum.AwaitsModel || sum.By == Worker
		sum.Kind = Placeholder
		sum.By = Nobody
		sum.Model = ""
	}
	return sum.priced()
}

// priced returns a summary; for a placeholder with its tokens in the prompt, which depend on how
// many messages it hides.
func (sum Summary) priced() Summary {
	if sum.Kind == Placeholder {
		sum.Tokens = sum.Cost()
	}
	return sum
}

// retire returns the summary in a state in which it is never in the prompt.
func (sum Summary) retire(as Status) Summary {
	sum.State = as
	if as == Stale || as == Failed {
		sum = sum.withoutText()
	}
	return sum
}

func (sum Summary) withoutText() Summary {
	sum.Text = ""
	sum.Sources = nil
	sum.Lines = nil
	sum.Dropped = 0
	sum.DroppedLines = nil
	return sum
}

// Render returns the summary as the prompt shows it.
func (sum Summary) Render() string {
	if sum.Kind == Placeholder {
		return sum.below(fmt.Sprintf("[System: %d older messages were truncated due to context limits]", sum.Messages))
	}
	return fmt.Sprintf("%s messages #%d to #%d, %s\n%s", chat.SummaryMark, sum.From, sum.To, sum.Days(), chat.Escape(sum.Marked()))
}

// below returns a placeholder's line with the lines of people under it.
func (sum Summary) below(line string) string {
	if sum.Text == "" {
		return line
	}
	return line + "\n" + chat.Escape(sum.Text)
}

// Cost returns the tokens of the summary in the prompt.
func (sum Summary) Cost() int { return tokens.PerMessage + tokens.Estimate(sum.Render()) }

// RenderInherited returns a copy of the summary as the prompt of a thread shows it.
func (sum Summary) RenderInherited() string {
	if sum.Kind == Placeholder {
		return sum.below(fmt.Sprintf("[System: %d older messages of the channel above this thread were truncated]", sum.Messages))
	}
	text := Citations.ReplaceAllString(sum.Marked(), "") // the numbers are the channel's: in a thread they would mean other messages
	return fmt.Sprintf("%s of the channel above this thread, %s\n%s", chat.SummaryMark, sum.Days(), chat.Escape(text))
}

// InheritedCost returns the tokens of a copy of the summary in the prompt of a thread.
func (sum Summary) InheritedCost() int {
	return tokens.PerMessage + tokens.Estimate(sum.RenderInherited())
}

// Days returns the days that the summary spans, in words.
func (sum Summary) Days() string {
	from := sum.FromTime.Format(chat.DateFormat)
	to := sum.ToTime.Format(chat.DateFormat)
	if from == to {
		return from
	}
	return from + " to " + to
}

// Citations are the numbers of the messages that a line of a summary comes from, as models write
// them: (#12), (#12, #15), [#12–#15], （#12、#15）.
var Citations = regexp.MustCompile(` ?[(（[]#[0-9]+(?:[,、， ]+#[0-9]+|[–-]#?[0-9]+)*[])）]`)
