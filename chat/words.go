// The text form of a message, as a model reads it: author, time, text and attachments, none of
// which people can forge.

package chat

import (
	"fmt"
	"strings"
	"unicode"

	"cairn/llm"
)

const (
	TimeFormat = "2006-01-02 15:04"
	DateFormat = "2 January 2006"

	SummaryMark = "[Compaction Summary]"
	FileEnd     = "[end of file]"

	MaxQuote = 1000 // characters of a Quote
)

// Header returns the author, seq and time of a message, so that the model can tell people apart.
// The bot's own messages have none: the model would learn to write headers.
func Header(m Message) string {
	if m.Role != llm.RoleUser {
		return ""
	}
	reply := ""
	if to := RepliedTo(m); to != "" {
		reply = ", replying to " + to
	}
	return fmt.Sprintf("[#%d %s %s%s] ", m.Seq, m.Time.Format(TimeFormat), m.Name(), reply)
}

// RepliedTo returns which message m replies to: its number, or the start of its text if it is
// elsewhere. A platform id would mean nothing to the model.
func RepliedTo(m Message) string {
	if m.ReplySeq > 0 {
		return fmt.Sprintf("#%d", m.ReplySeq)
	}
	return CleanLine(m.Quote, MaxQuote)
}

// Body returns the message as text: its own text and its attachments: text files with their
// content, others described.
func (m Message) Body() string {
	if len(m.Attachments) == 0 {
		return m.Text
	}
	var b strings.Builder
	b.WriteString(m.Text)
	file := false // the last attachment was a text file
	for _, a := range m.Attachments {
		switch {
		case b.Len() == 0:
		case file, a.Text != "":
			b.WriteByte('\n')
		default:
			b.WriteByte(' ')
		}
		b.WriteString(a.Words())
		file = a.Text != ""
		if file {
			b.WriteString("\n" + EscapeLines(strings.TrimRight(a.Text, "\r\n"), InFile) + "\n" + FileEnd)
		}
	}
	return b.String()
}

// Words describes an attachment in a text: "[image: cat.png, image/png, 120 kB, a cat on a mat]".
func (a Attachment) Words() string {
	about := make([]string, 0, 4)
	add := func(s string) {
		if s != "" {
			about = append(about, s)
		}
	}
	add(CleanLine(a.Name, 100))
	if a.Text == "" {
		add(CleanLine(a.Type, 50))
	}
	add(sizeWords(a.Size))
	add(CleanLine(a.Caption, 500))
	kind := CleanLine(a.Kind, 30)
	if kind == "" {
		kind = "attachment"
	}
	return "[" + kind + ": " + strings.Join(about, ", ") + "]"
}

func sizeWords(bytes int64) string {
	switch {
	case bytes <= 0:
		return ""
	case bytes < 1000:
		return fmt.Sprintf("%d B", bytes)
	case bytes < 999_500:
		return fmt.Sprintf("%d kB", (bytes+500)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
}

// TaskAuthor begins the AuthorID of a task's result, which is the name of the task's conversation.
const TaskAuthor = "task:"

// Name returns the author's display name for the prompt. A task's has a #, which no person's has:
// "researcher (task #1)".
func (m Message) Name() string {
	name := CleanName(m.Author)
	if strings.HasPrefix(m.AuthorID, TaskAuthor) {
		name = strings.Replace(name, "(task ", "(task #", 1)
	}
	return name
}

// CleanName returns a display name that cannot forge a header: one line, no brackets, no hash, at
// most 64 characters.
func CleanName(name string) string {
	n := 0
	clean := strings.TrimSpace(strings.Map(func(r rune) rune {
		if n++; n > 64 || forgeable(r) {
			return -1
		}
		return r
	}, name))
	if clean == "" {
		return "someone"
	}
	return insideLine(clean)
}

// CleanLine is CleanName for any text of at most most characters; it marks where it cuts.
func CleanLine(text string, most int) string {
	n := 0
	clean := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			r = ' '
		}
		if n > most || forgeable(r) {
			return -1
		}
		n++
		return r
	}, text)
	clean = strings.Join(strings.Fields(clean), " ")
	if n <= most {
		return insideLine(clean)
	}
	runes := []rune(clean)
	return insideLine(strings.TrimSpace(string(runes[:min(most-1, len(runes))]))) + "…"
}

// Label returns the text that precedes a picture in a request: "image of #12: cat.png".
func (a Attachment) Label(seq int64) string {
	label := fmt.Sprintf("image of #%d", seq)
	if name := CleanLine(a.Name, 100); name != "" {
		label += ": " + name
	}
	return label
}

// MemoryTools return what the conversation and the memories contain already: such a result is not
// searched or remembered, and is never cleared, because the model would call the tool again.
var MemoryTools = []string{"context", "memory_search", "recall", "expand"}
