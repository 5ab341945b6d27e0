// The text form of a message, as a model reads it: author, time, text and attachments, none of
// which people can forge.

package chat

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"cairn/internal/lazy"
	"cairn/llm"
)

const (
	SummaryMark = "[Compaction Summary]"
	FileEnd     = "[end of file]"

	MaxQuote = 1000 // characters of a Quote

	Voice = "voice message" // the kind of an attachment that a person has recorded in the chat
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
	return fmt.Sprintf("[#%d %s %s%s] ", m.Seq, Time(m.Time), m.Name(), reply)
}

// RepliedTo returns which message m replies to: its number, or the start of its text if it is
// elsewhere. A platform id would mean nothing to the model.
func RepliedTo(m Message) string {
	if m.ReplySeq > 0 {
		return fmt.Sprintf("#%d", m.ReplySeq)
	}
	return CleanLine(m.Quote, MaxQuote)
}

// Body returns the message as text: its own text and its attachments: text files and voice with their
// content, others described. The text of a tool's result mentions its pictures itself.
func (m Message) Body() string {
	if len(m.Attachments) == 0 || m.Role == llm.RoleTool {
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

// Said returns what the author has written and said: the text, and the voice messages as far as they are transcribed.
func (m Message) Said() string {
	said := m.Text
	for _, a := range m.Attachments {
		if a.Kind == Voice && a.Text != "" {
			said = strings.TrimPrefix(said+"\n"+a.Text, "\n")
		}
	}
	return said
}

// Words describes an attachment in a text: "[image: cat.png, image/png, 120 kB, a cat on a mat]", "[voice message, 0:34, not transcribed]".
func (a Attachment) Words() string { return a.words(func(kind string) string { return kind }) }

// words is Words with other names of its kind and its note.
func (a Attachment) words(name func(word string) string) string {
	media := CleanLine(a.Type, 50)
	if a.Text != "" {
		media = ""
	}
	about := []string{CleanLine(a.Name, 100), media, lengthWords(a.Seconds), sizeWords(a.Size), CleanLine(a.Caption, 500)}
	after := ": "
	if a.Kind == Voice { // platforms name all of them alike
		about = []string{lengthWords(a.Seconds), CleanLine(a.Caption, 500)}
		after = ", "
		if a.Text != "" {
			about = append(about, name("transcribed"))
		}
	}
	if a.Note != "" {
		about = append(about, CleanLine(name(a.Note), 200))
	}
	about = slices.DeleteFunc(about, func(s string) bool { return s == "" })
	kind := name(cmp.Or(CleanLine(a.Kind, 30), "attachment"))
	if a.Kind == Voice && len(about) == 0 {
		return "[" + kind + "]"
	}
	return "[" + kind + after + strings.Join(about, ", ") + "]"
}

// lengthWords returns the length of a recording: "0:34", "1:02:03".
func lengthWords(seconds int) string {
	switch {
	case seconds <= 0:
		return ""
	case seconds < 3600:
		return fmt.Sprintf("%d:%02d", seconds/60, seconds%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
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

// CleanName returns a display name that cannot forge a header: one line, no brackets, no hash.
func CleanName(name string) string { return cmp.Or(CleanLine(name, 64), "someone") }

// CleanLine is CleanName for any text of at most most characters; it marks where it cuts.
func CleanLine(text string, most int) string {
	clean := []rune(OneLine(strings.Map(func(r rune) rune {
		if forgeable(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)))
	if len(clean) <= most {
		return insideLine(string(clean))
	}
	return insideLine(strings.TrimSpace(string(clean[:most-1]))) + "…"
}

// Label returns the text that is with one of m's pictures in a request: "image of #12: cat.png", "image from calc_plot".
func (m Message) Label(a Attachment) string {
	if m.Role == llm.RoleTool {
		return "image from " + CleanLine(m.Tool, 64)
	}
	label := fmt.Sprintf("image of #%d", m.Seq)
	if name := CleanLine(a.Name, 100); name != "" {
		label += ": " + name
	}
	return label
}

// MemoryTools return what the conversation and the memories contain already: such a result is not
// searched or remembered, and is never cleared, because the model would call the tool again.
var MemoryTools = []string{"context", "memory_search", "recall", "expand"}

// nested matches a line of many blocks within blocks.
var nested = lazy.Pattern(`(?m)^(?:[ \t]*(?:>|(?:[-+*]|\d+[.)])[ \t])){20}`)

// Tangled reports whether a text would take a renderer of Markdown long: its work grows with the square of the
// number of blocks within blocks, of the marks in a paragraph, and of the cells that a table leaves out.
func Tangled(text string) bool {
	const most = 1000 // marks of emphasis and links in a paragraph
	for part := range strings.SplitSeq(text, "\n\n") {
		columns := 0
		for line := range strings.Lines(part) {
			columns = max(columns, strings.Count(line, "|"))
		}
		cells := columns * strings.Count(part, "\n")
		if strings.Count(part, "*")+strings.Count(part, "_")+strings.Count(part, "[") > most || cells > most+2*len(part) {
			return true
		}
	}
	return nested().MatchString(text)
}
