// The JSON of a request.

package provider

import (
	"bytes"
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
