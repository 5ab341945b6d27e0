// What is wrong with a text that a model hands in as a summary, and what its
// server's failures mean, in words for people.

package summarize

import (
	"fmt"
	"strings"

	"cairn/llm"
	"cairn/words"
)

// Refusal is a summary that must not be applied, with the reason for people.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// The reasons for which a summary is refused.
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

// again reports whether the same material is worth another request after so many.
func (r Refusal) Again(calls int) bool {
	return r != RefusedCalls && r != RefusedDeclined && (r != RefusedEmpty || calls < 2)
}

// TooLarge is the refusal of a summary that has more tokens than it may have.
func TooLarge(tokens, most int) Refusal {
	return Refusal(fmt.Sprintf("the model's summary was too large: %d tokens of at most %d", tokens, most))
}

var (
	reasoning  = words.Pattern(`(?is)<think(?:ing)?>.*?(?:</think(?:ing)?>|\z)|\[thinking\].*?(?:\[/thinking\]|\z)`)
	thoughtEnd = words.Pattern(`(?is)\A.*</think(?:ing)?>`) // where the server ate the beginning
	toolSyntax = words.Pattern(`(?i)<tool_call|<function[=_]|<\|tool|"name"\s*:\s*"(?:summarize|memory_save)"|^\s*(?:summarize|memory_save)\s*\(`)
)

// StripThoughts removes a model's visible reasoning.
func StripThoughts(text string) string {
	return strings.TrimSpace(thoughtEnd().ReplaceAllString(reasoning().ReplaceAllString(text, ""), ""))
}

// Broken says why an answer cannot be whole, "" if it may be.
func Broken(finish string) Refusal {
	switch finish {
	case llm.FinishLength:
		return refusedCutOff
	case llm.FinishFilter:
		return refusedFiltered
	}
	return ""
}
