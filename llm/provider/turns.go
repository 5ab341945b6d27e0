// Messages in a form that every template accepts: roles alternate, and a user is first.

package provider

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"cairn/llm"
)

// Placeholder is the text of a user message where a protocol demands one and there is none.
const Placeholder = "(continued)"

// Turn becomes one message of the request: neighbours of users, or of an assistant up to the first with calls; or one.
type Turn struct {
	*llm.Message         // the last of them, the request's own
	Content      []Piece // of all of them, without empty texts except of tools
}

// Piece is a text or a picture.
type Piece struct {
	Text      string
	MediaType string // of the picture; "": it is a text
	Data      string // of the picture, in base64
	Marked    bool   // a breakpoint follows it
}

// IsPicture reports whether it is one.
func (p Piece) IsPicture() bool { return p.MediaType != "" }

// pieces returns the pictures of a user's message, each after its label, and then the text, unless it is empty. Of a
// tool's result the text is first.
func pieces(m *llm.Message) (all []Piece) {
	text := m.Text
	images := []llm.Image(nil)
	if m.Role == llm.RoleUser || m.Role == llm.RoleTool { // only they have pictures
		text, images = m.Content()
	}
	if m.Role == llm.RoleTool {
		all = append(all, Piece{Text: text})
	}
	for _, image := range images {
		kind, _ := image.MediaType()
		all = append(all, Piece{Text: "[" + image.Name() + "]"}, Piece{MediaType: kind, Data: base64.StdEncoding.EncodeToString(image.Data)})
	}
	if text != "" && m.Role != llm.RoleTool {
		all = append(all, Piece{Text: text})
	}
	return all
}

// PicturesByUser moves the pictures of tool results, with their labels, into the user's turn behind the results, or into
// a new one: for protocols whose results are only text.
func PicturesByUser(turns []Turn) []Turn {
	all := make([]Turn, 0, len(turns)+1)
	var pictures []Piece
	for _, t := range turns {
		switch {
		case t.Role == llm.RoleTool:
			pictures = append(pictures, t.Content[1:]...)
			t.Content = t.Content[:1]
		case len(pictures) > 0 && t.Role == llm.RoleUser:
			t.Content = append(pictures, t.Content...)
			pictures = nil
		case len(pictures) > 0:
			all = append(all, Turn{&llm.Message{Role: llm.RoleUser}, pictures})
			pictures = nil
		}
		all = append(all, t)
	}
	if len(pictures) > 0 {
		all = append(all, Turn{&llm.Message{Role: llm.RoleUser}, pictures})
	}
	return all
}

// Turns converts messages, of which the first head ones are the head. Blank messages of an assistant are left out: many
// servers refuse them. If no user is first a placeholder is: templates of Gemma, Mistral and Llama 2 refuse such prompts,
// and so does Anthropic. Users and tools have breakpoints: after the head, and after everything that was the end of an
// earlier request. A request writes only the latest three, and reads from any.
func Turns(messages []llm.Message, head int) []Turn {
	all := make([]Turn, 0, len(messages)+1)
	headTurn := -1
	headPiece := 0 // the end of the head
	before := new(llm.Message)
	at := -1 // and its index
	for i := range messages {
		m := &messages[i]
		joins := m.Role == llm.RoleUser || m.Role == llm.RoleAssistant && len(before.Calls) == 0
		switch {
		case m.Role == llm.RoleAssistant && len(m.Calls) == 0 && strings.TrimSpace(m.Text) == "":
			continue
		case m.Role == before.Role && joins:
		case m.Role != llm.RoleUser && m.Role != llm.RoleSystem && (before.Role == "" || before.Role == llm.RoleSystem):
			all = append(all, Turn{&llm.Message{Role: llm.RoleUser}, []Piece{{Text: Placeholder}}}, Turn{})
		default:
			if at >= head && m.Role == llm.RoleAssistant {
				markEnd(all)
			}
			all = append(all, Turn{})
		}
		t := &all[len(all)-1]
		t.Message = m
		before = m
		at = i
		t.Content = append(t.Content, pieces(m)...)
		if n := len(t.Content); i < head && n > 0 && m.Role != llm.RoleAssistant && m.Role != llm.RoleSystem {
			headTurn = len(all) - 1
			headPiece = n - 1
		}
	}
	if at >= head {
		markEnd(all)
	}
	if headTurn >= 0 {
		all[headTurn].Content[headPiece].Marked = true
	}
	return all
}

// markEnd marks the end of the last turn if it is a user's or a tool's.
func markEnd(all []Turn) {
	t := &all[len(all)-1]
	if n := len(t.Content); n > 0 && (t.Role == llm.RoleUser || t.Role == llm.RoleTool) {
		t.Content[n-1].Marked = true
	}
}

// Joined returns the texts, separated by blank lines.
func (t Turn) Joined() string {
	texts := make([]string, len(t.Content))
	for i, p := range t.Content {
		texts[i] = p.Text
	}
	return strings.Join(texts, "\n\n")
}

// Schema returns the JSON Schema of a tool's arguments.
func Schema(t llm.Tool) json.RawMessage {
	if len(t.Parameters) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return t.Parameters
}
