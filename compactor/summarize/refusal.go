// What is wrong with a text that a model submits as a summary, in words for people.

package summarize

import (
	"cmp"
	"encoding/json"
	"fmt"
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
// write JSON where none is asked for. JSON without a text as its summary gives "".
func TextOf(written string) string {
	stripped := StripThoughts(written)
	if toolSyntax().MatchString(stripped) {
		return stripped
	}
	for _, text := range []string{written, stripped} { // thoughts may be inside of the JSON, or before it
		raw := []byte(codeBlock().ReplaceAllString(text, "$1"))
		if !json.Valid(raw) {
			continue
		}
		var argument struct{ Summary, Text string }
		var bare string
		_, _ = json.Unmarshal(raw, &argument), json.Unmarshal(raw, &bare)
		return StripThoughts(cmp.Or(argument.Summary, argument.Text, bare))
	}
	return stripped
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
