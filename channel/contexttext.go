package channel

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/compactor"
	"cairn/internal/words"
	"cairn/llm/prices"
	"cairn/store"
)

// The texts of /context, and of lists of summaries.

func runningWords(g compactor.Status, language string) (text string) {
	if e := g.Running; e != nil {
		text = Sayf(language, "summarizing %s, #%d to #%d (%s)", count(language, e.Messages, "message", "messages"), e.From, e.To,
			Word(language, "trigger", string(e.Trigger)))
		if g.Scheduled {
			text += Sayf(language, "; a /compact is scheduled after it")
		}
	}
	return text
}

// nextLevel describes which level comes next, and at how many tokens, according to the engine.
func nextLevel(g compactor.Status, language string) string {
	if g.NextAt == 0 {
		return Sayf(language, "emergency level reached")
	}
	share := fmt.Sprintf("%.0f %%", 100*float64(g.NextAt)/float64(max(g.Window, 1)))
	return Sayf(language, "%s at %s (%d tokens)", Word(language, "trigger", fmt.Sprint(g.Next)), share, g.NextAt)
}

func lastWords(e compactor.Event, language string) string {
	kind := Word(language, "kind", string(e.Kind))
	switch e.State {
	case compactor.EventApplied:
		if e.AfterTokens >= e.BeforeTokens { // it fills a placeholder
			return Sayf(language, "%s %s, messages #%d to #%d", kind, madeBy(e.By, language), e.From, e.To)
		}
		return Sayf(language, "%s %s, messages #%d to #%d: %d → %d tokens", kind, madeBy(e.By, language), e.From, e.To, e.BeforeTokens, e.AfterTokens)
	case compactor.EventUndone:
		return Sayf(language, "undone: %s of messages #%d to #%d: %d → %d tokens", kind, e.From, e.To, e.BeforeTokens, e.AfterTokens)
	case compactor.EventFailed:
		return Sayf(language, "failed: %s", Translated(language, e.Error))
	case compactor.EventNoop:
		return Sayf(language, "nothing was done: %s", Translated(language, e.Error))
	}
	return ""
}

const (
	barWidth   = 20 // of the bar, in characters: its line fits a narrow terminal, and a phone
	labelWidth = 9  // at least, without the blank behind it
)

// contextText is the text of /context in a language: lines with a label each.
type contextText struct {
	language string
	rows     [][2]string
}

// add adds a line, unless its text is empty.
func (t *contextText) add(label, text string) {
	if text != "" {
		t.rows = append(t.rows, [2]string{Word(t.language, "label", label), text})
	}
}

// addf adds a line in the language of the text.
func (t *contextText) addf(label, format string, args ...any) {
	t.add(label, Sayf(t.language, format, args...))
}

func (t *contextText) String() string {
	width := labelWidth
	for _, row := range t.rows {
		width = max(width, columns(row[0]))
	}
	lines := make([]string, len(t.rows))
	for i, row := range t.rows {
		lines[i] = padded(row[0], width+1) + row[1]
	}
	return strings.Join(lines, "\n")
}

// padded fills a text up to a width, in columns of a terminal.
func padded(text string, width int) string {
	return text + strings.Repeat(" ", max(width-columns(text), 0))
}

// columns returns the width of a text: characters of Chinese and Japanese are wide.
func columns(text string) (n int) {
	for _, r := range text {
		n++
		if words.IsUnspaced(r) {
			n++
		}
	}
	return n
}

// String shows it to people, in English.
func (c Context) String() string { return c.in(DefaultLanguage) }

// in is String in the language of the sentences in c.
func (c Context) in(language string) string {
	filled := min(c.Used*barWidth/max(c.Max, 1), barWidth)
	bar := fmt.Sprintf("[%s%s] %.1f %%", strings.Repeat("█", filled), strings.Repeat("░", barWidth-filled), c.UsedPct)
	if c.Used > c.Max {
		bar += Sayf(language, " (over)")
	}
	t := contextText{language: language}
	t.addf("used", "%d of %d tokens (window: %s)", c.Used, c.Max, Word(language, "window", c.Source))
	t.addf("of which", "%d system prompt and tools, %d head, %d messages, %d reserved for the reply", c.Parts.Frame, c.Parts.Head, c.Parts.Verbatim, c.Parts.Reserve)
	t.add("model", c.Model)
	t.add("calls", Translated(language, c.Calls))
	c.Usage.write(&t)
	t.add("next", c.Next)
	text := Sayf(language, "%d, of which %d verbatim", c.Messages, c.Verbatim)
	if c.InPart > 0 {
		text += Sayf(language, ", %s shown in part", count(language, c.InPart, "message", "messages"))
	}
	t.add("messages", text)
	t.add("running", cmp.Or(c.Running, Sayf(language, "nothing")))
	label := "tasks"
	for _, one := range c.Tasks {
		t.addf(label, "%d by %s: %s, %d tokens so far", one.Number, one.Agent, count(language, int(one.Messages), "message", "messages"), one.Tokens)
		label = ""
	}
	t.add("ready", c.Ready)
	t.add("last", c.Last)
	t.add("paused", c.Paused)
	c.writeRows(&t)
	t.add("evidence", evidenceWords(c.Evidence, language))
	return bar + "\n" + t.String()
}

// writeRows writes the summaries.
func (c Context) writeRows(t *contextText) {
	root := ""
	if c.Past.Root != "" {
		root = Sayf(t.language, ", and the message it belongs to")
	}
	if len(c.Past.Channel) > 0 || root != "" {
		t.add("channel", Sayf(t.language, "summaries the thread began with: %d", len(c.Past.Channel))+root)
	}
	earlier := c.Past.Earlier
	if c.Past.Sessions > 0 {
		shown := slices.DeleteFunc(slices.Clone(earlier), func(s StackEntry) bool { return s.Hidden })
		t.add("earlier", Sayf(t.language, "sessions before the last /new: %d; rows shown: %d of %d, %d tokens:", c.Past.Sessions,
			len(shown), len(earlier), c.Past.Tokens)+rowLines(earlier, t.language))
	}
	if len(c.Stack) > 0 {
		t.add("stack", Sayf(t.language, "%d, oldest first:", len(c.Stack))+rowLines(c.Stack, t.language))
	} else {
		t.addf("stack", "empty")
	}
}

func rowLines(rows []StackEntry, language string) (lines string) {
	for _, s := range rows {
		lines += fmt.Sprintf("\n  %4d  %s ", s.ID, padded(Word(language, "kind", string(s.Kind)), 6)) +
			Sayf(language, "level %d  #%d to #%d  %s  %d tokens, %s", s.Level, s.From, s.To, days(s.FromTime, s.ToTime, language), s.Tokens, madeBy(s.By, language))
		if s.Hidden {
			lines += Sayf(language, ", not shown")
		}
	}
	return lines
}

// madeBy describes who wrote a summary; nobody writes a placeholder.
func madeBy(by compactor.By, language string) string {
	if by == compactor.ByNobody {
		return Sayf(language, "to be summarized")
	}
	return Translated(language, "by "+string(by))
}

// days formats a range of days, or a single day.
func days(from, to time.Time, language string) string {
	first := from.Local().Format(time.DateOnly)
	last := to.Local().Format(time.DateOnly)
	if first == last {
		return first
	}
	return first + " " + Word(language, "between days", "to") + " " + last
}

// evidenceWords says what the lines of the newest summaries rest on; "" if there are none.
func evidenceWords(e store.Evidence, language string) string {
	if e.Lines+e.Dropped == 0 {
		return ""
	}
	return Sayf(language, "Lines of the newest summaries (%d): %d; without evidence: %d; dropped because the messages contradict them: %d.",
		e.Summaries, e.Lines, e.Without, e.Dropped)
}

// write writes it as lines of /context.
func (s *Spending) write(t *contextText) {
	if s == nil {
		return
	}
	if s.Total.Requests > 0 {
		t.add("today", s.Today.in(t.language))
		t.add("in total", s.Total.in(t.language))
	}
	if s.Summaries.Requests > 0 || s.SavedTokens > 0 {
		t.addf("summaries", "%s; they saved about %d tokens of cached input: %s", s.Summaries.in(t.language), s.SavedTokens, prices.Money(s.Saved))
	}
	var budgets []string
	for _, one := range s.Budgets {
		budgets = append(budgets, Translated(t.language, one.String()))
	}
	if len(budgets) > 0 {
		t.addf("budget", "%s, in all conversations", strings.Join(budgets, ", "))
	}
	for _, model := range s.NoPrice {
		t.addf("no price", "for %s: it counts as 0; set [prices.\"%s\"]", model, model)
	}
}

// String describes the expense in words.
func (e Expense) String() string { return e.in(DefaultLanguage) }

// in is String in a language.
func (e Expense) in(language string) string {
	return Sayf(language, "%s, %d tokens in (%d cached, %d written), %d out: %s", count(language, int(e.Requests), "request", "requests"),
		e.Input, e.Cached, e.Written, e.Output, prices.Money(e.Cost))
}
