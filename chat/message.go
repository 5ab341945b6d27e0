// Package chat defines the messages of a conversation and their attachments, and renders them for a model: with
// author and time, escaped so that no part can pass for one of Cairn's own lines or for another role.
package chat

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"cairn/internal/tokens"
	"cairn/llm"
)

// Message is one row of a conversation's transcript, as its owner and the compactor use it.
// Compaction never changes one.
type Message struct {
	Seq  int64 // place in the conversation, from 1; set when the message is taken up
	Turn int64 // seq of the first message of its turn; its own for a message that gets no answer
	Role llm.Role
	ID   string // the platform's id; unique among a conversation's user messages

	AuthorID    string // the platform's id of the author; empty for the bot and its tools
	Author      string // the name people see
	Text        string
	Attachments []Attachment
	ReplyTo     string    // the platform's id of the message it replies to
	ReplySeq    int64     // seq of that message if it is in this conversation, else 0
	Quote       string    // start and author of that message if it is elsewhere
	Time        time.Time // when it was sent, in the time zone in which it is shown
	Addressed   bool      // the author expects an answer
	Optional    bool      // no one asked for an answer: the bot may stay silent

	Unremembered bool // its author has opted out of memories; set only for summarizers

	Calls  []llm.Call      // assistant: the tools it called
	CallID string          // tool: the call it answers
	Tool   string          // tool: the name of the tool
	Quotes llm.Quotes      // tool: what its result quotes; set until the message is stored
	Native json.RawMessage // see llm.Message; stored only if the provider requires it after the turn

	Tokens    int    // tokens of the whole message in the prompt, without Native, see TokensOf
	Reasoning int    // tokens of Native while it is sent, estimated; 0: unknown. Not stored
	Deprived  bool   // its reasoning was dropped during its turn, see llm.Message
	Context   string // the stored turn context that follows it; see Context
}

// Attachment is a file or picture that came with a message, or a picture in a tool's result.
type Attachment struct {
	Kind    string `json:"kind"`              // image, file, …
	Name    string `json:"name,omitempty"`    // file name
	Caption string `json:"caption,omitempty"` // a description of its content
	URL     string `json:"url,omitempty"`     // where the connector can fetch it
	Type    string `json:"type,omitempty"`    // media type, as "image/png"
	Size    int64  `json:"size,omitempty"`    // bytes; 0: not known
	Text    string `json:"text,omitempty"`    // content of a text file, or what is said in a recording, as far as the budget allows
	File    int64  `json:"file,omitempty"`    // the stored picture, for models that accept pictures; 0: none
	Seconds int    `json:"seconds,omitempty"` // length of a recording; 0: not known
	Note    string `json:"note,omitempty"`    // why there is no Text, for people and models: "not transcribed"; a sentence of the code
	ID      string `json:"id,omitempty"`      // the platform's, of a file that its connector looks up again

	// Data is a picture that is not stored yet; the store saves it and sets File.
	Data []byte `json:"-"`
}

// Record is the external form of a message: in `cairn transcript --json`, over HTTP, and as a text for people.
type Record struct {
	Seq      int64     `json:"seq"`
	ID       string    `json:"id"` // the platform's
	Role     llm.Role  `json:"role"`
	Author   string    `json:"author"`
	AuthorID string    `json:"author_id,omitempty" jsonschema:"the platform's, of a person"`
	Time     time.Time `json:"time"`
	Text     string    `json:"text"`
	With     []With    `json:"attachments,omitempty"`

	Calls  []llm.Call `json:"calls,omitempty" jsonschema:"calls of tools, by the model"`
	Tool   string     `json:"tool,omitempty" jsonschema:"name of the tool whose result it is"`
	CallID string     `json:"call_id,omitempty" jsonschema:"id of the call that it answers"`

	of Message // for String; of a record that was read from JSON, it is empty
}

// With has what came with a message.
type With struct {
	Kind    string `json:"kind"`
	Name    string `json:"name,omitempty"`
	Caption string `json:"caption,omitempty"`
	File    int64  `json:"file,omitempty" jsonschema:"number of the stored picture"`
}

func RecordOf(m Message) Record {
	r := Record{
		Seq: m.Seq, ID: m.ID, Role: m.Role, Author: m.Author, Time: m.Time.UTC(), Text: m.Text,
		Calls: m.Calls, Tool: m.Tool, CallID: m.CallID, of: m,
	}
	if m.Role == llm.RoleUser {
		r.AuthorID = m.AuthorID
	}
	for _, a := range m.Attachments {
		r.With = append(r.With, With{a.Kind, a.Name, a.Caption, a.File})
	}
	return r
}

// Part returns the record with a part of its text, and nothing that came with it.
func (r Record) Part(text string) Record {
	r.Text = text
	r.With = nil
	r.of.Attachments = nil
	return r
}

// Decoded returns a record that was read from JSON, with what String shows of attachments.
func (r Record) Decoded() Record {
	for _, w := range r.With {
		r.of.Attachments = append(r.of.Attachments, Attachment{Kind: w.Kind, Name: w.Name, Caption: w.Caption})
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
func (r Record) String() string { return r.Words(func(word string) string { return word }) }

// Words is String with translated names of roles and of kinds of attachments: assistant, tool, image.
func (r Record) Words(name func(word string) string) string {
	who := OneLine(r.Author)
	if who == "" {
		who = name(string(r.Role))
	}
	if r.Tool != "" {
		who = name("tool") + " " + OneLine(r.Tool)
	}
	lines := []string{r.Text}
	for _, a := range r.of.Attachments {
		if r.Role != llm.RoleTool { // its text mentions them
			lines = append(lines, a.words(name))
			if a.Kind == Voice && a.Text != "" { // it is what the person says
				lines = append(lines, a.Text)
			}
		}
	}
	for _, call := range r.Calls {
		lines = append(lines, CallLine(call))
	}
	text := strings.TrimSpace(strings.Join(lines, "\n"))
	at := r.of.Time
	if at.IsZero() {
		at = r.Time
	}
	return fmt.Sprintf("#%d  %s  %s: %s", r.Seq, Time(at), who, lineBreaks.Replace(text))
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

// PictureTokens is the estimate for a picture of any size, because sizes in pixels are not known:
// that of a large one. A screen of 1920 by 1080 pixels is 1 105 tokens for GPT-4o and 1 548 for
// Gemini, and Claude scales most pictures down to 1 600.
const PictureTokens = 1600

// TokensOf returns the tokens of the whole message in a prompt.
func TokensOf(m Message) int {
	m.Calls = BrokenCalls(m.Calls)
	return ShownTokens(m, Header(m)+Escape(m.Body())) + len(m.Pictures())*PictureTokens
}

// ShownTokens returns the tokens of m if text is shown instead of its own text: with its calls or
// results, without its pictures and reasoning.
func ShownTokens(m Message, text string) int {
	cost := tokens.PerMessage + tokens.Estimate(text) + CallTokens(m.Calls...)
	if m.CallID != "" {
		cost += tokens.Estimate(m.CallID)
	}
	return cost
}

// CallTokens estimates what calls cost in a prompt.
func CallTokens(calls ...llm.Call) (cost int) {
	for _, call := range calls {
		cost += tokens.PerMessage + tokens.Estimate(call.ID) + tokens.Estimate(call.Name) + tokens.Estimate(call.Arguments)
	}
	return cost
}

// ToolTokens estimates what the definitions of tools cost in each request.
func ToolTokens(tools ...llm.Tool) (cost int) {
	for _, t := range tools {
		cost += tokens.PerMessage + tokens.Estimate(t.Name) + tokens.Estimate(t.Description) + tokens.Estimate(string(t.Parameters))
	}
	return cost
}

// Pictures returns the attachments of m that are stored pictures: of a person's message, or of a tool's result.
func (m Message) Pictures() []Attachment {
	if m.Role != llm.RoleUser && m.Role != llm.RoleTool {
		return nil
	}
	var pictures []Attachment
	for _, a := range m.Attachments {
		if a.File > 0 {
			pictures = append(pictures, a)
		}
	}
	return pictures
}
