// Limits of an answer: a server that sends without end, or nonsense, must not fill memory.

package llm

import (
	"errors"
	"fmt"
)

// Limits of what one answer may contain.
const (
	MaxCalls = 128     // tool calls; OpenAI accepts 128 tools
	MaxName  = 1 << 10 // bytes of a tool's name; servers accept 64 characters
	MaxParts = 10_000  // lists and objects in one event: decoded, an empty one takes a hundred times its bytes
)

// ErrTooLong is wrapped by the error for an answer that is too long to be read.
var ErrTooLong = errors.New("the answer is too long")

// TooLong returns the error for an answer with more than most of what. It is not temporary: the same request would get
// the same answer.
func TooLong(most int, what string) *Error {
	return &Error{Kind: KindBadRequest, Message: fmt.Sprintf("the answer is longer than %d %s", most, what), Err: ErrTooLong}
}

// Truncated returns the error for an answer whose rest is missing or unreadable.
func Truncated(err error) *Error {
	return &Error{Kind: KindTruncated, Message: "the answer broke off: " + err.Error(), Err: err}
}

// Crowded reports whether valid JSON has more than MaxParts lists and objects.
func Crowded(json []byte) bool {
	parts, quoted := 0, false
	for i := 0; i < len(json) && parts <= MaxParts; i++ {
		switch json[i] {
		case '"':
			quoted = !quoted
		case '\\':
			i++ // inside a string: the escaped byte does not end it
		case '{', '[':
			if !quoted {
				parts++
			}
		}
	}
	return parts > MaxParts
}
