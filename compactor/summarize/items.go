package summarize

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"cairn/chat"
	"cairn/internal/lazy"
	"cairn/internal/secrets"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/transcript"
)

// The worker reads its span as labelled data, without entities: code appears as it was written.
// Only text that looks like one of our own labels gets a backslash, so no message can close the
// transcript or pass for another speaker.

// Item is an indivisible piece of material: a message, a part of a long one, or a summary.
type Item struct {
	Text    string
	Tokens  int
	Turn    int64 // items of one turn stay together
	From    int64
	To      int64
	Message chat.Message        // its content, without secrets
	Row     *transcript.Summary // the summary that it is, or is a part of; nil for a message
}

const (
	MaxResult  = 300   // max tokens of a tool result that the worker reads
	labelQuote = 100   // max characters of a quote: each part of a message repeats it
	MaxMessage = 3_000 // max tokens of one part of a message or summary
)

// labelledText is a text with the label around it in the material.
type labelledText struct{ name, attributes, text string }

// items returns the label's text in parts of at most limit tokens. of is the message or summary they
// are parts of.
func (l labelledText) items(limit int, of chat.Message, from, to int64) (items []Item) {
	parts := splitText(l.text, limit)
	of.Attachments = nil // their text is part of the message's
	for i, part := range parts {
		attributes := l.attributes
		if len(parts) > 1 {
			attributes += fmt.Sprintf(" part=\"%d/%d\"", i+1, len(parts))
		}
		of.Text = part
		text := fmt.Sprintf("<%s%s>%s</%s>", l.name, attributes, EscapeLabels(part), l.name)
		items = append(items, Item{Text: text, Tokens: tokens.PerMessage + tokens.Estimate(text), Turn: of.Turn, From: from, To: to, Message: of})
	}
	return items
}

// ItemsOf returns the messages as items; long ones in parts of at most limit tokens.
func ItemsOf(messages []chat.Message, limit int) []Item {
	items := make([]Item, 0, len(messages))
	for _, m := range messages {
		if l, ok := labelOf(m); ok {
			items = append(items, l.items(limit, m, m.Seq, m.Seq)...)
		}
	}
	return items
}

// ClippedItems returns one item for each message, with at most limit tokens of its text.
func ClippedItems(messages []chat.Message, limit int) []Item {
	items := make([]Item, 0, len(messages))
	for _, m := range messages {
		if l, ok := labelOf(m); ok {
			l.text = tokens.Clip(l.text, limit)
			items = append(items, l.items(math.MaxInt, m, m.Seq, m.Seq)...)
		}
	}
	return items
}

// MessagesIn returns the contents of items, without secrets.
func MessagesIn(items []Item) []chat.Message {
	messages := make([]chat.Message, len(items))
	for i, it := range items {
		messages[i] = it.Message
	}
	return messages
}

// ItemsOfRow returns the text of a summary as items.
func ItemsOfRow(c transcript.Summary, limit int) []Item {
	l := labelledText{"summary", fmt.Sprintf(" from=\"%d\" to=\"%d\"", c.From, c.To), secrets.Mask(c.Text)}
	if !c.FromTime.IsZero() {
		l.attributes += fmt.Sprintf(" dates=\"%s\"", c.Days())
	}
	of := WrittenOf(c)
	of.Turn = c.From
	items := l.items(limit, of, c.From, c.To)
	for i := range items {
		items[i].Row = &c
	}
	return items
}

// labelOf returns a message as the worker reads it; ok is false for what it need not read: results
// that repeat memories and messages, and answers that are empty or of the offline model.
func labelOf(m chat.Message) (l labelledText, ok bool) {
	at := fmt.Sprintf(" id=\"%d\" time=\"%s\"", m.Seq, chat.Time(m.Time))
	switch m.Role {
	case llm.RoleUser:
		at += fmt.Sprintf(" from=\"%s\" user=\"%s\"", attribute(chat.CleanName(m.Author)), attribute(m.AuthorID))
		m.Quote = chat.Excerpt(secrets.Mask(m.Quote), labelQuote)
		if to := chat.RepliedTo(m); to != "" {
			at += fmt.Sprintf(" replying_to=\"%s\"", attribute(to))
		}
		if m.Unremembered {
			at += ` memories="none"`
		}
		return labelledText{"message", at, Lean(m.Body())}, true
	case llm.RoleTool:
		at += fmt.Sprintf(" tool=\"%s\"", attribute(m.Tool))
		return labelledText{"tool_result", at, tokens.Clip(Lean(tokens.Clip(m.Text, 10*MaxResult)), MaxResult)}, !slices.Contains(chat.MemoryTools, m.Tool)
	default:
		return labelledText{"answer", at, Lean(m.Text)}, m.Text != "" && !llm.IsOffline(m.Text)
	}
}

// splitText splits a text into parts of at most limit tokens each: at a line end if possible, else
// at the end of a sentence or a word. The parts concatenated are the text.
func splitText(text string, limit int) (parts []string) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	for {
		head := tokens.Beginning(text, max(limit, minPart))
		if len(head) == len(text) {
			return append(parts, text)
		}
		for _, end := range []string{"\n", "。", ". ", " "} {
			if at := strings.LastIndex(head, end); at >= len(head)/2 {
				head = head[:at+len(end)]
				break
			}
		}
		parts = append(parts, head)
		text = text[len(head):]
	}
}

// minPart is the minimum size of a part of a long message, in tokens: a part's label costs about as
// much.
const minPart = 40

// Lean returns a text without what no summary should contain: secrets and encoded data.
func Lean(text string) string { return withoutData(secrets.Mask(text)) }

// dataRun matches a run of base64 or hex. Up to maxDataRun it may be a word, a hash or an address.
var dataRun = lazy.Pattern(`[A-Za-z0-9+/=]+`)

const maxDataRun = 300

func withoutData(text string) string {
	if len(text) <= maxDataRun {
		return text
	}
	return dataRun().ReplaceAllStringFunc(text, func(run string) string {
		if len(run) <= maxDataRun {
			return run
		}
		return fmt.Sprintf("[data: %d characters]", len(run))
	})
}

// Omitted returns an item for a row that the model refuses to summarize.
func Omitted(c transcript.Summary) Item {
	text := fmt.Sprintf("<omitted from=\"%d\" to=\"%d\" dates=\"%s\"/>", c.From, c.To, c.Days())
	return Item{Text: text, Tokens: tokens.PerMessage + tokens.Estimate(text), Turn: c.From, From: c.From, To: c.To}
}

// labels are all labels that the worker and other agents read.
var labels = slices.Concat(chat.Attributed, chat.Blocks, []string{"transcript", "before", "after", "corrections", "question"})

// EscapeLabels escapes a text for use between labels.
func EscapeLabels(text string) string { return chat.EscapeTags(chat.BreakRoles(text), labels) }

// Content returns a text for use between labels, in at most limit tokens.
func Content(text string, limit int) string { return EscapeLabels(tokens.Clip(text, limit)) }

// attribute returns a text on one line that cannot end an attribute or a tag.
func attribute(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case chat.EndsLine(r):
			return ' '
		case unicode.IsLetter(r):
			return r
		}
		switch chat.LooksLike(r) {
		case '"':
			return '\''
		case '<':
			return '('
		case '>':
			return ')'
		}
		return r
	}, chat.BreakRoles(text))
}

// Chunks splits items into runs of at most limit tokens, never inside a turn unless the turn alone
// is larger.
func Chunks(items []Item, limit int) (chunks [][]Item) {
	tokens := 0 // of the last chunk
	for i := 0; i < len(items); {
		j := i
		cost := 0
		for j < len(items) && items[j].Turn == items[i].Turn && (j == i || cost+items[j].Tokens <= limit) {
			cost += items[j].Tokens
			j++
		}
		if i == 0 || tokens+cost > limit {
			chunks = append(chunks, nil)
			tokens = 0
		}
		last := len(chunks) - 1
		chunks[last] = append(chunks[last], items[i:j]...)
		tokens += cost
		i = j
	}
	return chunks
}

// PlainText returns the material of one request as text.
func PlainText(items []Item) string {
	lines := []string{"<transcript>"}
	for _, it := range items {
		lines = append(lines, it.Text)
	}
	return strings.Join(append(lines, "</transcript>"), "\n")
}

func CostOfItems(items []Item) (tokens int) {
	for _, it := range items {
		tokens += it.Tokens
	}
	return tokens
}

// WrittenOf returns a summary's text as a message of the assistant.
func WrittenOf(row transcript.Summary) chat.Message {
	return chat.Message{Role: llm.RoleAssistant, Text: row.Text, Time: row.FromTime}
}
