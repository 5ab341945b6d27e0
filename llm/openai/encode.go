// The JSON of a request, written once and directly: a prompt has a hundred kilobytes.

package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"cairn/llm"
)

// body is a JSON object that grows field by field.
type body struct {
	buf   []byte
	extra map[string]any // fields of the caller, which win
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
	return &body{buf: append(make([]byte, 0, size), '{')}
}

// field begins a field, unless the caller has set it itself.
func (b *body) field(name string) bool {
	if _, set := b.extra[name]; set {
		return false
	}
	if len(b.buf) > 1 {
		b.buf = append(b.buf, ',')
	}
	b.buf = append(appendString(b.buf, name), ':')
	return true
}

// quote writes JSON and texts by turns, the texts as strings.
func (b *body) quote(pieces ...string) {
	for i, piece := range pieces {
		if i%2 == 0 {
			b.buf = append(b.buf, piece...)
		} else {
			b.buf = appendString(b.buf, piece)
		}
	}
}

// next begins the next item of a list, of which it writes the bracket, too, if it is the first.
func (b *body) next(first bool) {
	if first {
		b.buf = append(b.buf, '[')
	} else {
		b.buf = append(b.buf, ',')
	}
}

func (b *body) str(name, value string) {
	if value != "" && b.field(name) {
		b.buf = appendString(b.buf, value)
	}
}

func (b *body) number(name string, value int) {
	if value != 0 && b.field(name) {
		b.buf = strconv.AppendInt(b.buf, int64(value), 10)
	}
}

// raw writes a field whose value is JSON already.
func (b *body) raw(name, value string) {
	if b.field(name) {
		b.buf = append(b.buf, value...)
	}
}

// temperature writes 0 too: without it some servers use a default of their own.
func (b *body) temperature(value *float64) {
	if value != nil && b.field("temperature") {
		b.buf = strconv.AppendFloat(b.buf, *value, 'g', -1, 64)
	}
}

// tools writes the tools, each opened by open and closed by end.
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

// parts writes the parts of a span, texts and pictures each behind their opening.
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

// dataURL appends a picture as a string.
func dataURL(buf []byte, kind string, data []byte) []byte {
	buf = append(append(append(buf, `"data:`...), kind...), ";base64,"...)
	return append(base64.StdEncoding.AppendEncode(buf, data), '"')
}

const hex = "0123456789abcdef"

// plain are the bytes that stand for themselves in a JSON string.
var plain = func() (table [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		table[c] = c != '"' && c != '\\'
	}
	return table
}()

// appendString appends text as a JSON string. What is no UTF-8 becomes U+FFFD.
func appendString(buf []byte, text string) []byte {
	buf = append(buf, '"')
	begin := 0 // of what is not written yet
	for i := 0; i < len(text); {
		c := text[i]
		if plain[c] {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			if r, size := utf8.DecodeRuneInString(text[i:]); r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		buf = append(buf, text[begin:i]...)
		switch {
		case c >= utf8.RuneSelf:
			buf = append(buf, "\uFFFD"...)
		case c == '"' || c == '\\':
			buf = append(buf, '\\', c)
		case c == '\n':
			buf = append(buf, '\\', 'n')
		default:
			buf = append(buf, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		begin = i
	}
	return append(append(buf, text[begin:]...), '"')
}
