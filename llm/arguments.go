package llm

import (
	"bytes"
	"encoding/json"
)

// DecodeArguments decodes the arguments of a tool call. An argument that has no field in into is an error.
func DecodeArguments(arguments json.RawMessage, into any) error {
	strict := json.NewDecoder(bytes.NewReader(arguments))
	strict.DisallowUnknownFields()
	return strict.Decode(into)
}
