package chat

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"cairn/llm"
)

// Record is the external form of a message: in `cairn transcript --json`, over HTTP, and as a text for people.
type Record struct {
	Seq    int64     `json:"seq"`
	ID     string    `json:"id"` // the platform's
	Role   llm.Role  `json:"role"`
	Author string    `json:"author"`
	Time   time.Time `json:"time"`
	Text   string    `json:"text"`
	With   []With    `json:"attachments,omitempty"`

	Calls  []llm.Call `json:"calls,omitempty" jsonschema:"calls of tools, by the model"`
	Tool   string     `json:"tool,omitempty" jsonschema:"name of the tool whose result it is"`
	CallID string     `json:"call_id,omitempty" jsonschema:"id of the call that it answers"`

	of Message // for String
}

// With has what came with a message.
type With struct {
	Kind    string `json:"kind"`
	Name    string `json:"name,omitempty"`
	Caption string `json:"caption,omitempty"`
}

func RecordOf(m Message) Record {
	r := Record{
		Seq: m.Seq, ID: m.ID, Role: m.Role, Author: m.Author, Time: m.Time.UTC(), Text: m.Text,
		Calls: m.Calls, Tool: m.Tool, CallID: m.CallID, of: m,
	}
	for _, a := range m.Attachments {
		r.With = append(r.With, With{a.Kind, a.Name, a.Caption})
	}
	return r
}

// MaxCallShown limits the text of a tool call, in characters.
const MaxCallShown = 100

// CallLine returns a call of a tool as one short line.
func CallLine(call llm.Call) string {
	return "→ " + Excerpt(call.Name+" "+call.Arguments, MaxCallShown)
}

// Excerpt returns at most this many characters of a text, in one line.
func Excerpt(text string, most int) string {
	line := []rune(OneLine(text))
	if len(line) > most {
		line = append(line[:most], '…')
	}
	return string(line)
}

// Empty reports whether there is nothing to show: some models answer with empty text after a tool call.
func (r Record) Empty() bool {
	return r.Role == llm.RoleAssistant && strings.TrimSpace(r.Text) == "" && len(r.With)+len(r.Calls) == 0
}

// String returns the message for people. All lines but the first are indented, so that no text can
// imitate another message.
func (r Record) String() string {
	who := cmp.Or(OneLine(r.Author), string(r.Role))
	if r.Tool != "" {
		who = "tool " + OneLine(r.Tool)
	}
	lines := []string{r.Text}
	for _, a := range r.of.Attachments {
		lines = append(lines, a.Words())
	}
	for _, call := range r.Calls {
		lines = append(lines, CallLine(call))
	}
	text := strings.TrimSpace(strings.Join(lines, "\n"))
	return fmt.Sprintf("#%d  %s  %s: %s", r.Seq, r.of.Time.Format(TimeFormat), who, lineBreaks.Replace(text))
}

// lineBreaks adds an indent after anything that a screen may treat as the end of a line.
var lineBreaks = func() *strings.Replacer {
	const next = "\n       "
	return strings.NewReplacer("\r\n", next, "\n", next, "\r", next, "\v", next, "\f", next, "\u0085", next, "\u2028", next, "\u2029", next)
}()

func Counted(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
