// The wires a Server speaks: each has one strict reader of requests and one writer of answers.

package llmtest

import (
	"encoding/json"

	"cairn/llm"
)

// dialect is one wire.
type dialect struct {
	wire    string
	fields  []string                          // that a request may have
	read    func(r *reader)                   // reads a request, but for model and fields
	answer  func(x *Exchange) writer          // begins the answer to x
	refusal func(code, message string) string // the body of an error
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
	"/v1/chat/completions": {llm.WireChat, chatFields, readChat, func(x *Exchange) writer { return chatWriter{x} }, errorBody},
	"/v1/responses":        {llm.WireResponses, responsesFields, readResponses, answerResponses, errorBody},
	"/v1/messages":         {llm.WireMessages, messagesFields, readMessages, answerMessages, refuseMessages},
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
