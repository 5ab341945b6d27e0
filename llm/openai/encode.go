// Writes the JSON of a request once and directly: a prompt has a hundred kilobytes.

package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"cairn/llm"
)

// body is a JSON object that is written field by field.
type body struct {
	buf   []byte
	extra map[string]any // fields of the caller, which win

	strings *json.Encoder // to buf
}

func newBody(req llm.Request) *body {
	size := 4 << 10
	for _, m := range req.Messages {
		size += len(m.Text) + len(m.Text)/16 + len(m.Native) + 128
		for _, call := range m.Calls {
			size += len(call.Arguments) + 256
		}
		for _, image := range m.Images {
			size += base64.StdEncoding.EncodedLen(len(image.Data)) + 256
		}
	}
	for _, tool := range req.Tools {
		size += len(tool.Description) + len(tool.Parameters) + 256
	}
	b := &body{buf: append(make([]byte, 0, size), '{')}
	b.strings = json.NewEncoder(b)
	b.strings.SetEscapeHTML(false) // HTML escapes take tokens
	return b
}

// Write appends JSON; it never fails.
func (b *body) Write(p []byte) (int, error) {
	b.buf = append(b.buf, p...)
	return len(p), nil
}

// string appends a JSON string.
func (b *body) string(text string) {
	_ = b.strings.Encode(text)   // a string can always be encoded
	b.buf = b.buf[:len(b.buf)-1] // without the newline
}

// field starts a field, unless the caller has set it itself.
func (b *body) field(name string) bool {
	if _, set := b.extra[name]; set {
		return false
	}
	if len(b.buf) > 1 {
		b.buf = append(b.buf, ',')
	}
	b.string(name)
	b.buf = append(b.buf, ':')
	return true
}

// quote appends its arguments, alternately as raw JSON and as JSON strings.
func (b *body) quote(pieces ...string) {
	for i, piece := range pieces {
		if i%2 == 0 {
			b.buf = append(b.buf, piece...)
		} else {
			b.string(piece)
		}
	}
}

// next starts the next item of a list, with the bracket if it is the first.
func (b *body) next(first bool) {
	if first {
		b.buf = append(b.buf, '[')
	} else {
		b.buf = append(b.buf, ',')
	}
}

func (b *body) str(name, value string) {
	if value != "" && b.field(name) {
		b.string(value)
	}
}

func (b *body) number(name string, value int) {
	if value != 0 && b.field(name) {
		b.buf = strconv.AppendInt(b.buf, int64(value), 10)
	}
}

// raw writes a field whose value is already JSON.
func (b *body) raw(name, value string) {
	if b.field(name) {
		b.buf = append(b.buf, value...)
	}
}

// temperature writes 0 too: without it some servers use their own default.
func (b *body) temperature(value *float64) {
	if value != nil && b.field("temperature") {
		b.buf = strconv.AppendFloat(b.buf, *value, 'g', -1, 64)
	}
}

// tools writes the tools, each between open and end.
func (b *body) tools(tools []llm.Tool, open, end string) error {
	if len(tools) == 0 || !b.field("tools") {
		return nil
	}
	for i, tool := range tools {
		b.next(i == 0)
		b.quote(open+`"name":`, tool.Name)
		if tool.Description != "" {
			b.quote(`,"description":`, tool.Description)
		}
		parameters := tool.Parameters
		if len(parameters) == 0 {
			parameters = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		if !json.Valid(parameters) {
			return fmt.Errorf("the parameters of the tool %s are no JSON", tool.Name)
		}
		b.buf = append(append(append(b.buf, `,"parameters":`...), parameters...), end...)
	}
	b.buf = append(b.buf, ']')
	return nil
}

// parts writes the parts of a span, texts and pictures each after their opening.
func (b *body) parts(s span, first bool, text, image, imageEnd string) {
	for part := range s.parts() {
		b.next(first)
		first = false
		if part.image == "" {
			b.quote(text, part.text, "}")
		} else {
			b.buf = append(dataURL(append(b.buf, image...), part.image, part.data), imageEnd...)
		}
	}
}

// close writes the caller's fields and returns the object.
func (b *body) close() ([]byte, error) {
	extra := b.extra
	b.extra = nil
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		raw, err := json.Marshal(extra[name])
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", name, err)
		}
		b.raw(name, string(raw))
	}
	return append(b.buf, '}'), nil
}

// dataURL appends a picture as a JSON string with a data URL.
func dataURL(buf []byte, kind string, data []byte) []byte {
	buf = append(append(append(buf, `"data:`...), kind...), ";base64,"...)
	return append(base64.StdEncoding.AppendEncode(buf, data), '"')
}
