// The JSON of a request.

package provider

import (
	"bytes"
	"encoding/base64"
	"encoding/json"

	"cairn/llm"
)

// Marshal is json.Marshal without HTML escapes, which take tokens.
func Marshal(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// Schema returns the JSON Schema of a tool's arguments.
func Schema(t llm.Tool) json.RawMessage {
	if len(t.Parameters) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return t.Parameters
}

// Part is a piece of a message: a text, or a picture.
type Part struct {
	Text      string
	MediaType string // of the picture; "": it is a text
	Data      string // of the picture, in base64
}

// Parts returns the pictures of a user's message, each after its label, and then the text, which may
// be empty.
func Parts(m llm.Message) (parts []Part) {
	text, images := m.Text, []llm.Image(nil)
	if m.Role == llm.RoleUser { // only users have pictures
		text, images = m.Shown()
	}
	for _, image := range images {
		kind, _ := image.MediaType()
		parts = append(parts, Part{Text: "[" + image.Name() + "]"}, Part{MediaType: kind, Data: base64.StdEncoding.EncodeToString(image.Data)})
	}
	return append(parts, Part{Text: text})
}
