// What is wrong with a text that a model submits as a summary, in words for people.

package summarize

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cairn/internal/lazy"
	"cairn/llm"
)

// Refusal is the reason why a summary must not be applied, in words for people.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// The reasons why a summary is refused.
const (
	RefusedEmpty    Refusal = "the model's summary was empty"
	refusedCutOff   Refusal = "the model's summary was cut off"
	RefusedLarge    Refusal = "the model's summary was hardly shorter than the messages"
	refusedTools    Refusal = "the model wrote tool syntax instead of a summary"
	RefusedDeclined Refusal = "the model declined to summarize"
	refusedEcho     Refusal = "the model repeated what it was given instead of a summary"
	refusedFiltered Refusal = "the model's provider filtered the summary"
	refusedNothing  Refusal = "the model's summary says nothing, or too little, about the messages"
	RefusedCalls    Refusal = "the model kept calling tools and wrote no summary"
)

// Again reports whether the same material is worth another request after calls calls.
func (r Refusal) Again(calls int) bool {
	return r != RefusedCalls && r != RefusedDeclined && (r != RefusedEmpty || calls < 2)
}

// TooLarge returns the refusal of a summary of tokens tokens, with most as the maximum.
func TooLarge(tokens, most int) Refusal {
	return Refusal(fmt.Sprintf("the model's summary was too large: %d tokens of at most %d", tokens, most))
}

var (
	reasoning  = lazy.Pattern(`(?is)<think(?:ing)?>.*?(?:</think(?:ing)?>|\z)|\[thinking\].*?(?:\[/thinking\]|\z)`)
	thoughtEnd = lazy.Pattern(`(?is)\A.*</think(?:ing)?>`) // some servers drop the opening tag
	codeBlock  = lazy.Pattern("(?s)\\A```\\w*\n(.*)\n```\\z")
	toolSyntax = lazy.Pattern(`(?i)<tool_call|<function[=_]|<\|tool|"name"\s*:\s*"(?:summarize|memory_save)"|^\s*(?:summarize|memory_save)\s*\(`)
)

// StripThoughts removes a model's visible reasoning.
func StripThoughts(text string) string {
	return strings.TrimSpace(thoughtEnd().ReplaceAllString(reasoning().ReplaceAllString(text, ""), ""))
}

// TextOf returns a summary as a model wrote it, without reasoning and outside of JSON: small models
// write JSON where none is asked for, and other arguments than those of a tool.
func TextOf(written string) string {
	stripped := StripThoughts(written)
	if toolSyntax().MatchString(stripped) {
		return stripped
	}
	for _, text := range []string{written, stripped} { // thoughts may be inside of the JSON, or before it
		if text := codeBlock().ReplaceAllString(text, "$1"); json.Valid([]byte(text)) {
			return StripThoughts(textIn(json.RawMessage(text)))
		}
	}
	return stripped
}

// textIn returns the text in a JSON value; the keys of an object with several are headings.
func textIn(value json.RawMessage) string {
	var text string
	var list []json.RawMessage
	var object map[string]json.RawMessage
	switch {
	case json.Unmarshal(value, &text) == nil:
		return text
	case json.Unmarshal(value, &list) != nil && json.Unmarshal(value, &object) != nil:
		return string(value) // a number, true, or false
	case object["summary"] != nil:
		return textIn(object["summary"])
	}
	var parts []string
	for _, item := range list {
		parts = append(parts, textIn(item))
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if len(object) > 1 {
			parts = append(parts, "## "+key)
		}
		parts = append(parts, textIn(object[key]))
	}
	return strings.Join(parts, "\n")
}

// Broken returns why an answer with this finish reason cannot be complete; "" if it may be.
func Broken(finish string) Refusal {
	switch finish {
	case llm.FinishLength:
		return refusedCutOff
	case llm.FinishFilter:
		return refusedFiltered
	}
	return ""
}
