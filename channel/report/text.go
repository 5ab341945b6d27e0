package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cairn/channel/sentences"
	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/words"
	"cairn/llm/prices"
	"cairn/store"
)

// The texts of /context, and of lists of summaries.

func runningWords(g compactor.Status, speaker sentences.Speaker) (text string) {
	if e := g.Running; e != nil {
		text = speaker.Sayf("summarizing %s, #%d to #%d (%s)", speaker.Count(e.Messages, "message", "messages"), e.From, e.To,
			speaker.Word("trigger", string(e.Trigger)))
		if g.Scheduled {
			text += speaker.Sayf("; a /compact is scheduled after it")
		}
	}
	return text
}

// nextLevel describes which level comes next, and at how many tokens, according to the engine.
func nextLevel(g compactor.Status, speaker sentences.Speaker) string {
	if g.NextAt == 0 {
		return speaker.Sayf("emergency level reached")
	}
	share := fmt.Sprintf("%.0f %%", 100*float64(g.NextAt)/float64(max(g.Window, 1)))
	return speaker.Sayf("%s at %s (%d tokens)", speaker.Word("trigger", fmt.Sprint(g.Next)), share, g.NextAt)
}

func lastWords(e compactor.Event, speaker sentences.Speaker) string {
	kind := speaker.Word("kind", string(e.Kind))
	switch e.State {
	case compactor.EventApplied:
		if e.AfterTokens >= e.BeforeTokens { // it fills a placeholder
			return speaker.Sayf("%s %s, messages #%d to #%d", kind, MadeBy(e.By, speaker), e.From, e.To)
		}
		return speaker.Sayf("%s %s, messages #%d to #%d: %d → %d tokens", kind, MadeBy(e.By, speaker), e.From, e.To, e.BeforeTokens, e.AfterTokens)
	case compactor.EventUndone:
		return speaker.Sayf("undone: %s of messages #%d to #%d: %d → %d tokens", kind, e.From, e.To, e.BeforeTokens, e.AfterTokens)
	case compactor.EventFailed:
		return speaker.Sayf("failed: %s", speaker.Translate(e.Error))
	case compactor.EventNoop:
		return speaker.Sayf("nothing was done: %s", speaker.Translate(e.Error))
	}
	return ""
}

const (
	barWidth   = 20 // of the bar, in characters: its line fits a narrow terminal, and a phone
	labelWidth = 9  // at least, without the blank behind it
)

// contextText is the text of /context in a language: lines with a label each.
type contextText struct {
	speaker sentences.Speaker
	rows    [][2]string
}

// add adds a line, unless its text is empty.
func (t *contextText) add(label, text string) {
	if text != "" {
		t.rows = append(t.rows, [2]string{t.speaker.Word("label", label), text})
	}
}

// addf adds a line in the language of the text.
func (t *contextText) addf(label, format string, args ...any) {
	t.add(label, t.speaker.Sayf(format, args...))
}

func (t *contextText) String() string {
	width := labelWidth
	for _, row := range t.rows {
		width = max(width, columns(row[0]))
	}
	lines := make([]string, len(t.rows))
	for i, row := range t.rows {
		lines[i] = Padded(row[0], width+1) + row[1]
	}
	return strings.Join(lines, "\n")
}

// Padded fills a text up to a width, in columns of a terminal.
func Padded(text string, width int) string {
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

// NameOf returns a model's name with its window: "qwen3 (32k)".
func NameOf(model string, window int) string {
	return fmt.Sprintf("%s (%s)", model, shortTokens(window))
}

// shortTokens writes the size of a window as its makers do: 32k means 32 000 or 32 768 tokens.
func shortTokens(n int) string {
	const kilo, binary = 1000, 1024
	size := kilo
	if n%kilo != 0 && n%binary == 0 {
		size = binary
	}
	switch {
	case n < kilo:
		return strconv.Itoa(n)
	case n < size*size:
		return strconv.Itoa(n/size) + "k"
	}
	return strconv.FormatFloat(float64(n*10/size/size)/10, 'f', -1, 64) + "M"
}

// String returns the text of /context in English.
func (c Context) String() string { return c.Text(sentences.Speaker{}) }

// Text returns the text of /context, by the speaker of the sentences in c.
func (c Context) Text(speaker sentences.Speaker) string {
	filled := min(c.Used*barWidth/max(c.Max, 1), barWidth)
	bar := fmt.Sprintf("[%s%s] %.1f %%", strings.Repeat("█", filled), strings.Repeat("░", barWidth-filled), c.UsedPct)
	if c.Used > c.Max {
		bar += speaker.Sayf(" (over)")
	}
	t := contextText{speaker: speaker}
	t.addf("used", "%d of %d tokens (window: %s)", c.Used, c.Max, speaker.Word("window", c.Source))
	t.addf("of which", "%d system prompt and tools, %d head, %d messages, %d reserved for the reply", c.Parts.Frame, c.Parts.Head, c.Parts.Verbatim, c.Parts.Reserve)
	model := c.Model
	if c.ChosenBy != "" {
		model += speaker.Sayf(", chosen by %s", speaker.Translate(chat.OneLine(c.ChosenBy)))
	}
	t.add("model", model)
	if c.Fallback != nil {
		t.add("fallback", c.Fallback.Text(speaker))
	}
	t.add("calls", speaker.Translate(c.Calls))
	c.Usage.write(&t)
	t.add("next", c.Next)
	text := speaker.Sayf("%d, of which %d verbatim", c.Messages, c.Verbatim)
	if c.InPart > 0 {
		text += speaker.Sayf(", %s shown in part", speaker.Count(c.InPart, "message", "messages"))
	}
	t.add("messages", text)
	t.add("running", cmp.Or(c.Running, speaker.Sayf("nothing")))
	label := "tasks"
	for _, one := range c.Tasks {
		t.addf(label, "%d by %s: %s, %d tokens so far", one.Number, one.Agent, speaker.Count(int(one.Messages), "message", "messages"), one.Tokens)
		label = ""
	}
	t.add("ready", c.Ready)
	t.add("last", c.Last)
	t.add("paused", c.Paused)
	c.writeRows(&t)
	t.add("evidence", evidenceWords(c.Evidence, speaker))
	return bar + "\n" + t.String()
}

// writeRows writes the summaries.
func (c Context) writeRows(t *contextText) {
	root := ""
	if c.Past.Root != "" {
		root = t.speaker.Sayf(", and the message it belongs to")
	}
	if len(c.Past.Channel) > 0 || root != "" {
		t.add("channel", t.speaker.Sayf("summaries the thread began with: %d", len(c.Past.Channel))+root)
	}
	earlier := c.Past.Earlier
	if c.Past.Sessions > 0 {
		shown := slices.DeleteFunc(slices.Clone(earlier), func(s StackEntry) bool { return s.Hidden })
		t.add("earlier", t.speaker.Sayf("sessions before the last /new: %d; rows shown: %d of %d, %d tokens:", c.Past.Sessions,
			len(shown), len(earlier), c.Past.Tokens)+rowLines(earlier, t.speaker))
	}
	if len(c.Stack) > 0 {
		t.add("stack", t.speaker.Sayf("%d, oldest first:", len(c.Stack))+rowLines(c.Stack, t.speaker))
	} else {
		t.addf("stack", "empty")
	}
}

func rowLines(rows []StackEntry, speaker sentences.Speaker) (lines string) {
	for _, s := range rows {
		lines += fmt.Sprintf("\n  %4d  %s ", s.ID, Padded(speaker.Word("kind", string(s.Kind)), 6)) +
			speaker.Sayf("level %d  #%d to #%d  %s  %d tokens, %s", s.Level, s.From, s.To, Days(s.FromTime, s.ToTime, speaker), s.Tokens, MadeBy(s.By, speaker))
		if s.Hidden {
			lines += speaker.Sayf(", not shown")
		}
	}
	return lines
}

// MadeBy describes who wrote a summary. Nobody writes a placeholder.
func MadeBy(by compactor.By, speaker sentences.Speaker) string {
	if by == compactor.ByNobody {
		return speaker.Sayf("to be summarized")
	}
	text := "by " + string(by)
	return speaker.Translate(text)
}

// Days formats a range of days, or a single day.
func Days(from, to time.Time, speaker sentences.Speaker) string {
	first := from.Local().Format(time.DateOnly)
	last := to.Local().Format(time.DateOnly)
	if first == last {
		return first
	}
	return first + " " + speaker.Word("between days", "to") + " " + last
}

// evidenceWords says what the lines of the newest summaries rest on; "" if there are none.
func evidenceWords(e store.Evidence, speaker sentences.Speaker) string {
	if e.Lines+e.Dropped == 0 {
		return ""
	}
	return speaker.Sayf("Lines of the newest summaries (%d): %d; without evidence: %d; dropped because the messages contradict them: %d.",
		e.Summaries, e.Lines, e.Without, e.Dropped)
}

// write writes it as lines of /context.
func (s *Spending) write(t *contextText) {
	if s == nil {
		return
	}
	if s.Total.Requests > 0 {
		t.add("today", s.Today.text(t.speaker))
		t.add("in total", s.Total.text(t.speaker))
	}
	if s.Summaries.Requests > 0 || s.SavedTokens > 0 {
		t.addf("summaries", "%s; they saved about %d tokens of cached input: %s", s.Summaries.text(t.speaker), s.SavedTokens, prices.Money(s.Saved))
	}
	var budgets []string
	for _, one := range s.Budgets {
		budgets = append(budgets, t.speaker.Translate(one.String()))
	}
	if len(budgets) > 0 {
		t.addf("budget", "%s, in all conversations", strings.Join(budgets, ", "))
	}
	for _, model := range s.NoPrice {
		t.addf("no price", "for %s: it counts as 0; set [prices.\"%s\"]", model, model)
	}
}

// String describes the expense in English.
func (e Expense) String() string { return e.text(sentences.Speaker{}) }

func (e Expense) text(speaker sentences.Speaker) string {
	return speaker.Sayf("%s, %d tokens in (%d cached, %d written), %d out: %s", speaker.Count(int(e.Requests), "request", "requests"),
		e.Input, e.Cached, e.Written, e.Output, prices.Money(e.Cost))
}
