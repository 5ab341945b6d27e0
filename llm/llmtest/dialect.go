// The wires of a Server: each has a strict parser of requests and a writer of responses.

package llmtest

import (
	"encoding/json"
	"fmt"

	"cairn/llm"
)

// dialect is one wire.
type dialect struct {
	wire    string
	fields  []string                          // allowed in a request
	read    func(r *reader)                   // parses everything but the model, and checks fields
	answer  func(x *Exchange) writer          // starts the response to x
	refusal func(code, message string) string // returns the body of an error
}

// writer writes one response in a wire's stream format.
type writer interface {
	piece(text string)       // a piece of text
	think(text string)       // a complete piece of reasoning
	calls(calls ...llm.Call) // tool calls, their arguments in two pieces
	finish(reason string)    // the finish reason, in llm's terms, and the usage
	done()                   // the regular end of the stream
	fail(message string)     // an error in the middle of the stream
}

// dialects are the wires, by the path of their requests.
var dialects = map[string]dialect{
	"/v1/chat/completions": {llm.WireChat, chatFields, readChat, func(x *Exchange) writer { return chatWriter{x} }, errorBody},
	"/v1/responses":        {llm.WireResponses, responsesFields, readResponses, answerResponses, errorBody},
	"/v1/messages":         {llm.WireMessages, messagesFields, readMessages, answerMessages, refuseMessages},
}

// errorBody returns the body of an error on OpenAI's wires.
func errorBody(code, message string) string {
	return encode(map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error", "code": code}})
}

func quote(text string) string { return encode(text) }

// encode returns v as JSON. It panics if v cannot be encoded, which is a mistake in the script.
func encode(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("llmtest: encode %T: %v", v, err))
	}
	return string(raw)
}
