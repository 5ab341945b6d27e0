// Calls as servers and models write them: arguments in unusual forms, and calls that only repeat the prompt.

package provider

import (
	"encoding/json"
	"strings"
	"unicode"

	"cairn/llm"
)

// Arguments are a call's arguments, or a piece of them. Most servers send them as a string, some (Ollama before 0.4) as
// the object itself. null is an empty string.
type Arguments string

// UnmarshalJSON takes any JSON value.
func (a *Arguments) UnmarshalJSON(raw []byte) error {
	var text *string
	if json.Unmarshal(raw, &text) == nil {
		*a = ""
		if text != nil {
			*a = Arguments(*text)
		}
		return nil
	}
	*a = Arguments(raw)
	return nil
}

// unwrapped returns arguments without a string or a list of one around the object.
func unwrapped(arguments string) string {
	for range 2 {
		raw := []byte(strings.TrimSpace(arguments))
		var text string
		var list []json.RawMessage
		switch {
		case json.Unmarshal(raw, &text) == nil && begins(text, `{["`) && json.Valid([]byte(text)):
			arguments = text
		case json.Unmarshal(raw, &list) == nil && len(list) == 1 && begins(string(list[0]), "{"):
			arguments = string(list[0])
		case string(raw) == "null":
			return ""
		default:
			return arguments
		}
	}
	return arguments
}

// begins reports whether a text begins with one of chars, behind white space.
func begins(text, chars string) bool {
	text = strings.TrimSpace(text)
	return text != "" && strings.ContainsAny(text[:1], chars)
}

// quotedIn returns a function that reports whether a text is in a message of a person or a tool. White space is not
// compared, nor are quotation marks, and the backslashes with which the prompt breaks marks of roles.
func quotedIn(messages []llm.Message) func(text string) bool {
	return func(text string) bool {
		text = squashed(text)
		for _, m := range messages {
			if (m.Role == llm.RoleUser || m.Role == llm.RoleTool) && strings.Contains(squashed(m.Text), text) {
				return true
			}
		}
		return false
	}
}

func squashed(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || strings.ContainsRune(`\"'`, r) {
			return -1
		}
		return r
	}, text)
}
