// Requests in a form that is the same for all wires, and their strict parsing.

package llmtest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"cairn/llm"
)

// Request is a request, in a form that is the same for all wires.
type Request struct {
	Wire      string // one of llm's Wire constants
	Model     string
	Messages  []Message // the system prompt comes first, wherever the wire puts it
	Tools     []Tool
	Forced    string // the tool that must be called; "": none
	MaxTokens int

	Body   map[string]json.RawMessage // the whole request
	Raw    []byte                     // the whole request, as received
	Header http.Header

	usage bool // the response must report the usage
}

// Message is one of a request's messages.
type Message struct {
	Role       llm.Role
	Content    *string     // nil: missing or null; if there are parts, their joined text
	Parts      []string    // texts of the parts; a single one for a string
	Images     []llm.Image // from the parts: type and data
	ToolCallID string
	ToolCalls  []llm.Call

	Reasoning []json.RawMessage          // Responses and Messages: the reasoning items or blocks
	Body      map[string]json.RawMessage // all fields; nil for assistant messages on Responses

	pieces []part // parts for caching and counting
}

// Tool is one of a request's tools.
type Tool struct {
	Type     string
	Function struct {
		Name, Description string
		Parameters        json.RawMessage
	}
}

// Text returns the content; "" if there is none.
func (m Message) Text() string {
	if m.Content == nil {
		return ""
	}
	return *m.Content
}

// say adds a text part.
func (m *Message) say(text string, marked bool) {
	m.Parts = append(m.Parts, text)
	whole := strings.Join(m.Parts, "\n")
	m.Content = &whole
	m.pieces = append(m.pieces, part{role: string(m.Role), text: text, marked: marked})
}

// think adds reasoning; raw is nil if it is a field of the message.
func (m *Message) think(text string, raw json.RawMessage) {
	if raw != nil {
		m.Reasoning = append(m.Reasoning, raw)
	}
	if text != "" {
		m.pieces = append(m.pieces, part{role: "assistant", text: text, reasoning: true})
	}
}

func (m *Message) call(call llm.Call, marked bool) {
	m.ToolCalls = append(m.ToolCalls, call)
	m.pieces = append(m.pieces, callPart(call, marked))
}

// Last returns the last message; the zero Message if there is none.
func (r Request) Last() Message {
	if len(r.Messages) == 0 {
		return Message{}
	}
	return r.Messages[len(r.Messages)-1]
}

type object = map[string]json.RawMessage

// reader parses a request and keeps the first error.
type reader struct {
	*Request
	where    string // prefix of errors: the position in the request
	rejected *rejection

	marks    int  // Messages: blocks with cache_control
	reasoned bool // Responses: the last item was reasoning, which must be followed by another item
}

func (r *reader) fail(format string, args ...any) {
	if r.rejected == nil {
		r.rejected = refused("%s%s", r.where, fmt.Sprintf(format, args...))
	}
}

// refuse fails if something is wrong.
func (r *reader) refuse(wrong bool, format string, args ...any) {
	if wrong {
		r.fail(format, args...)
	}
}

// get decodes a field, which may be missing but must have the right type.
func get[T any](r *reader, o object, name string) (value T) {
	if raw := o[name]; raw != nil {
		if err := json.Unmarshal(raw, &value); err != nil {
			r.fail("the body is not what the protocol says: %s: %v", name, err)
		}
	}
	return value
}

// checkFields fails if an object has other fields.
func (r *reader) checkFields(o object, fields []string) {
	for name := range o {
		if !slices.Contains(fields, name) {
			r.fail("unknown field %s", name)
		}
	}
}

// readRequest parses as much of a request as possible, and returns the first error.
func readRequest(request *Request, d dialect, body []byte) *rejection {
	*request = Request{Wire: d.wire, Raw: body}
	r := &reader{Request: request}
	if err := json.Unmarshal(body, &r.Body); err != nil {
		return refused("the body is not what the protocol says: %v", err)
	}
	r.Model, _ = get[string](r, r.Body, "model"), get[bool](r, r.Body, "stream")
	r.checkFields(r.Body, d.fields)
	r.refuse(r.Model == "", "model is missing")
	d.read(r)
	r.where = ""
	r.checkTools()
	r.checkMessages()
	return r.rejected
}

// addTool adds a tool; parameters is the name of the field with its schema.
func (r *reader) addTool(kind string, o object, parameters string) {
	tool := Tool{Type: kind}
	tool.Function.Name, tool.Function.Description = get[string](r, o, "name"), get[string](r, o, "description")
	tool.Function.Parameters = o[parameters]
	r.Tools = append(r.Tools, tool)
}

// imageTokens is the count for a picture of any size: GPT-4o counts 765 for 1024 by 1024 pixels.
const imageTokens = 765

// partFields are the fields of a message part.
var partFields = []string{"type", "text", "image_url", "detail", "annotations", "prompt_cache_breakpoint", "cache_control"}

// content parses a string, or parts with the given types of text and pictures; image "": pictures are not allowed.
func (r *reader) content(m *Message, raw json.RawMessage, text, image string) {
	if len(raw) == 0 || string(raw) == "null" {
		return
	}
	before := len(m.pieces)
	if raw[0] != '[' {
		m.say(get[string](r, object{"content": raw}, "content"), false)
	} else {
		parts := get[[]object](r, object{"content": raw}, "content")
		r.refuse(len(parts) == 0, "content is a list of nothing")
		whole := ""
		if m.Content == nil {
			m.Content = &whole
		}
		for _, p := range parts {
			r.part(m, p, text, image)
		}
	}
	if m.Role == llm.RoleTool { // a result is cached as a whole
		m.asResult(slices.ContainsFunc(m.pieces[before:], func(p part) bool { return p.marked }))
	}
}

func (r *reader) part(m *Message, o object, textType, imageType string) {
	r.checkFields(o, partFields)
	kind := get[string](r, o, "type")
	text := get[string](r, o, "text")
	mark := o["prompt_cache_breakpoint"]
	switch {
	case mark != nil && (!strings.HasPrefix(kind, "input_") || string(mark) != `{"mode":"explicit"}`):
		r.fail("prompt_cache_breakpoint %s on %s", mark, kind)
	case kind == textType && text != "" && o["image_url"] == nil:
		m.say(text, mark != nil || o["cache_control"] != nil)
	case imageType != "" && kind == imageType && o["image_url"] != nil && o["text"] == nil:
		var url struct{ URL string } // an object on chat completions, a string on Responses
		if json.Unmarshal(o["image_url"], &url.URL) != nil {
			url = get[struct{ URL string }](r, o, "image_url")
		}
		r.image(m, url.URL, mark != nil)
	default:
		r.fail("content has no part of type %s or %s with what that wants", textType, imageType)
	}
}

var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// image adds a picture that is embedded as a data URL. Like strict providers, it rejects a type that does not match the data.
func (r *reader) image(m *Message, url string, marked bool) {
	kind, encoded, ok := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,")
	data, err := base64.StdEncoding.Strict().DecodeString(encoded)
	real := http.DetectContentType(data)
	r.refuse(!ok || !strings.HasPrefix(url, "data:") || !slices.Contains(imageTypes, kind), "%.40q is no data URL of a picture", url)
	r.refuse(err != nil, "the picture is no base64: %v", err)
	r.refuse(real != kind, "the picture was specified as %s, but it appears to be %s", kind, real)
	m.Images = append(m.Images, llm.Image{Type: kind, Data: data})
	m.pieces = append(m.pieces, part{role: string(m.Role), text: fmt.Sprintf("image %x", sha256.Sum256([]byte(url))), image: true, marked: marked})
}

func (r *reader) checkTools() {
	seen := map[string]bool{}
	for i, tool := range r.Tools {
		name := tool.Function.Name
		var schema struct{ Type, Properties, OneOf, AnyOf, AllOf any }
		object := json.Unmarshal(tool.Function.Parameters, &schema) == nil && schema.Type == "object"
		r.refuse(tool.Type != "function" || name == "", "tools[%d] is no function with a name", i)
		r.refuse(seen[name], "tools[%d]: there are two named %s", i, name)
		r.refuse(!object, "tools[%d]: the parameters of %s are no schema of an object: %s", i, name, tool.Function.Parameters)
		r.refuse(r.Wire != llm.WireMessages && schema.Properties == nil, "invalid schema for function %q: object schema missing properties", name)
		r.refuse(schema.OneOf != nil || schema.AnyOf != nil || schema.AllOf != nil, "the schema of %q has oneOf, allOf, or anyOf at the top level", name)
		seen[name] = true
	}
	r.refuse(r.Forced != "" && !seen[r.Forced], "tool_choice: there is no tool %s", r.Forced)
}

// checkMessages checks the order of messages; pending has the calls without a result so far.
func (r *reader) checkMessages() {
	pending := map[string]bool{}
	var before llm.Role
	for i, m := range r.Messages {
		r.where = fmt.Sprintf("messages[%d] (%s): ", i, m.Role)
		empty := m.Text() == ""
		r.refuse(m.Content == nil, "content is missing")
		// https://platform.openai.com/docs/api-reference/chat/create: "For tool messages, only type text is supported."
		mayShow := m.Role == llm.RoleUser || m.Role == llm.RoleTool && r.Wire != llm.WireChat
		r.refuse(len(m.Images) > 0 && !mayShow, "a message of the %s may not show pictures", m.Role)
		r.refuse(m.Role != llm.RoleTool && len(pending) > 0, "%d calls before it have no result", len(pending))
		switch m.Role {
		case llm.RoleSystem:
			r.refuse(i > 0, "only the first message may be of the system")
			r.refuse(empty, "it is empty")
		case llm.RoleUser:
			r.refuse(empty && len(m.Images) == 0, "it is empty")
			r.refuse(before == llm.RoleUser, "two in a row")
		case llm.RoleAssistant:
			r.refuse(empty && len(m.ToolCalls) == 0, "it is empty")
			r.refuse(before == "" || before == llm.RoleSystem || before == llm.RoleAssistant, "roles must alternate user and assistant, the user first")
			for _, call := range m.ToolCalls {
				r.refuse(call.ID == "" || pending[call.ID], "the id %q of a call is missing or there twice", call.ID)
				r.refuse(call.Name == "" || !json.Valid([]byte(call.Arguments)), "the call %s is no function with a name and JSON arguments", call.ID)
				pending[call.ID] = true
			}
		case llm.RoleTool:
			r.refuse(!pending[m.ToolCallID], "no call before it has the id %q, or it was answered", m.ToolCallID)
			delete(pending, m.ToolCallID)
		default:
			r.fail("there is no such role")
		}
		before = m.Role
	}
	r.where = ""
	r.refuse(len(r.Messages) == 0, "messages is empty")
	r.refuse(before != llm.RoleUser && before != llm.RoleTool, "the last message is of the %s: there is nothing to answer", before)
}
