// A message in words, as a model reads it: who said it and when, what was said, and
// what came with it; none of it can be forged by those who chat.

package compactor

import (
	"fmt"
	"strings"
	"unicode"

	"cairn/llm"
)

const (
	timeFormat = "2006-01-02 15:04"
	dateFormat = "2 January 2006"

	summaryMark = "[Compaction Summary]"
	fileEnd     = "[end of file]"
)

// header names speaker, place and time of what people say: the model must tell
// them apart. The bot's own words stand as they are, or it would learn to write headers.
func header(m Message) string {
	if m.Role != llm.RoleUser {
		return ""
	}
	reply := ""
	if to := repliedTo(m); to != "" {
		reply = ", replying to " + to
	}
	return fmt.Sprintf("[#%d %s %s%s] ", m.Seq, m.Time.Local().Format(timeFormat), cleanName(m.Author), reply)
}

// repliedTo says which message m replies to: its number, or how it begins if it
// stands elsewhere. A platform's id alone would tell the model nothing.
func repliedTo(m Message) string {
	if m.ReplySeq > 0 {
		return fmt.Sprintf("#%d", m.ReplySeq)
	}
	return cleanLine(m.Quote, 100)
}

// Body is all of a message in words: its text, and what came with it.
func (m Message) Body() string { return body(m) }

// body is what was said, with what came with it: a text file with its contents,
// anything else described.
func body(m Message) string {
	if len(m.Attachments) == 0 {
		return m.Text
	}
	var b strings.Builder
	b.WriteString(m.Text)
	file := false // a file was the last thing
	for _, a := range m.Attachments {
		switch {
		case b.Len() == 0:
		case file, a.Text != "":
			b.WriteByte('\n')
		default:
			b.WriteByte(' ')
		}
		b.WriteString(a.Words())
		if file = a.Text != ""; file {
			b.WriteString("\n" + escapeLines(strings.TrimRight(a.Text, "\r\n"), inFile) + "\n" + fileEnd)
		}
	}
	return b.String()
}

// Words is the trace an attachment leaves in a text:
// "[image: cat.png, image/png, 120 kB, a cat on a mat]".
func (a Attachment) Words() string {
	about := make([]string, 0, 4)
	add := func(s string) {
		if s != "" {
			about = append(about, s)
		}
	}
	add(cleanLine(a.Name, 100))
	if a.Text == "" {
		add(cleanLine(a.Type, 50))
	}
	add(sizeWords(a.Size))
	add(cleanLine(a.Caption, 500))
	kind := cleanLine(a.Kind, 30)
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

// cleanName makes a display name that cannot forge a header: one line, no
// brackets, no hash, at most 64 characters.
func cleanName(name string) string {
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

// Named is a display name as a view shows it: nothing in it can end what it stands in.
func Named(name string) string { return cleanName(name) }

// cleanLine does the same for any text, blank for line end, and marks what it cuts.
func cleanLine(text string, most int) string {
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
