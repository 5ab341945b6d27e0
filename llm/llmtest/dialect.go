// The wires a Server speaks: each has one strict reader of requests and one writer of answers.

package llmtest

import (
	"encoding/json"
	"fmt"
	"slices"

	"cairn/llm"
)

// dialect is one wire.
type dialect interface {
	// parse reads a request, as far as it can, and says what is wrong with it.
	parse(body []byte) (Request, error)
	// answer begins the answer to x.
	answer(x *Exchange) writer
	// refusal is the body of an error.
	refusal(code, message string) string
}

// writer writes one answer in a wire's own stream format.
type writer interface {
	piece(text string)       // a piece of text
	think(text string)       // a whole piece of reasoning
	calls(calls ...llm.Call) // tool calls, their arguments in two pieces
	finish(reason string)    // why it stopped, in llm's words, and what was counted
	done()                   // the regular end of the stream
	fail(message string)     // an error in the middle of the stream
}

// dialects are the wires by the path of their requests.
var dialects = map[string]dialect{
	"/v1/chat/completions": chatDialect{},
	"/v1/responses":        responsesDialect{},
	"/v1/messages":         messagesDialect{},
}

// wirePaths are the paths of the wires by name.
var wirePaths = map[string]string{
	llm.WireChat:      "/v1/chat/completions",
	llm.WireResponses: "/v1/responses",
	llm.WireMessages:  "/v1/messages",
}

// unknownField returns an error for a field of object that allowed does not list.
func unknownField(object map[string]json.RawMessage, where string, allowed []string) error {
	for name := range object {
		if !slices.Contains(allowed, name) {
			return fmt.Errorf("unknown field %s%s", where, name)
		}
	}
	return nil
}

// errorBody is an error as OpenAI's wires write it.
func errorBody(code, message string) string {
	body, err := json.Marshal(map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error", "code": code}})
	if err != nil { // strings always have a JSON form
		return err.Error()
	}
	return string(body)
}

func quote(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil { // strings always have a JSON form
		return `""`
	}
	return string(quoted)
}
