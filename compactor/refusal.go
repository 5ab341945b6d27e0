// What is wrong with a text that a model hands in as a summary, and what its
// server's failures mean, in words for people.

package compactor

import (
	"fmt"
	"regexp"
	"strings"

	"cairn/llm"
)

// refusal is a summary that must not be applied, with the reason for people.
type refusal string

func (r refusal) Error() string { return string(r) }

// The reasons for which a summary is refused.
const (
	refusedEmpty    refusal = "the model's summary was empty"
	refusedCutOff   refusal = "the model's summary was cut off"
	refusedLarge    refusal = "the model's summary was hardly shorter than the messages"
	refusedTools    refusal = "the model wrote tool syntax instead of a summary"
	refusedDeclined refusal = "the model declined to summarize"
	refusedEcho     refusal = "the model repeated what it was given instead of a summary"
	refusedFiltered refusal = "the model's provider filtered the summary"
	refusedNothing  refusal = "the model's summary says nothing, or too little, about the messages"
	refusedCalls    refusal = "the model kept calling tools and wrote no summary"
)

// again reports whether the same material is worth another request after so many.
func (r refusal) again(calls int) bool {
	return r != refusedCalls && r != refusedDeclined && (r != refusedEmpty || calls < 2)
}

// tooLarge is the refusal of a summary that has more tokens than it may have.
func tooLarge(tokens, most int) refusal {
	return refusal(fmt.Sprintf("the model's summary was too large: %d tokens of at most %d", tokens, most))
}

var (
	reasoning  = regexp.MustCompile(`(?is)<think(?:ing)?>.*?(?:</think(?:ing)?>|\z)|\[thinking\].*?(?:\[/thinking\]|\z)`)
	thoughtEnd = regexp.MustCompile(`(?is)\A.*</think(?:ing)?>`) // where the server ate the beginning
	toolSyntax = regexp.MustCompile(`(?i)<tool_call|<function[=_]|<\|tool|"name"\s*:\s*"(?:summarize|memory_save)"|^\s*(?:summarize|memory_save)\s*\(`)
)

// strip leaves out what a model thought aloud.
func strip(text string) string {
	return strings.TrimSpace(thoughtEnd.ReplaceAllString(reasoning.ReplaceAllString(text, ""), ""))
}

// check takes an answer's text as a summary, or refuses it.
func (w worker) check(resp llm.Response, items []item) (string, error) {
	if why := broken(resp.FinishReason); why != "" {
		return "", why
	}
	text := strip(resp.Message.Text)
	if why := w.judge(text, items); why != "" {
		return "", why
	}
	return text, nil
}

// broken says why an answer cannot be whole, "" if it may be.
func broken(finish string) refusal {
	switch finish {
	case llm.FinishLength:
		return refusedCutOff
	case llm.FinishFilter:
		return refusedFiltered
	}
	return ""
}

// judge says why a text can be no summary of items, "" if it can.
func (w worker) judge(text string, items []item) refusal {
	most := mostOfSummary(items)
	if w.plain {
		most = w.limit
	}
	return judge(text, items, w.prompt+"\n"+w.agent, most)
}

// reasonOfModel is what a provider's failure means, in words for people.
func reasonOfModel(err error) string {
	remedy, _ := llm.RemedyOf(err)
	return remedy.Reason
}
