// What is wrong with a text that a model hands in as a summary, and what its
// server's failures mean, in words for people.

package compactor

import (
	"regexp"
	"strings"

	"cairn/llm"
	"cairn/words"
)

// refusal is a summary that must not land, with the reason for people.
type refusal string

func (r refusal) Error() string { return string(r) }

// The reasons for which a summary is refused.
const (
	refusedEmpty    refusal = "the model's summary was empty"
	refusedCutOff   refusal = "the model's summary was cut off"
	refusedLarge    refusal = "the model's summary was hardly shorter than what it sums up"
	refusedTools    refusal = "the model wrote tool syntax instead of a summary"
	refusedDeclined refusal = "the model declined to sum up"
	refusedEcho     refusal = "the model repeated its instructions instead of a summary"
	refusedCalls    refusal = "the model kept calling tools and wrote no summary"
)

// again tells whether the same material is worth another request after so many.
func (r refusal) again(calls int) bool {
	return r != refusedCalls && r != refusedDeclined && (r != refusedEmpty || calls < 2)
}

var (
	reasoning  = regexp.MustCompile(`(?is)<think(?:ing)?>.*?(?:</think(?:ing)?>|\z)|\[thinking\].*?(?:\[/thinking\]|\z)`)
	thoughtEnd = regexp.MustCompile(`(?is)\A.*</think(?:ing)?>`) // where the server ate the beginning
	toolSyntax = regexp.MustCompile(`(?i)<tool_call|<function[=_]|<\|tool|"name"\s*:\s*"(?:summarize|memory_save)"|^\s*(?:summarize|memory_save)\s*\(`)

	// declined is how a model begins that does not sum up; or it is all it says.
	declined = regexp.MustCompile(`(?i)^\W*(?:` +
		`(?:i(?:['’]m| am) (?:very |so )?sorry|sorry|my apologies|i apologi[sz]e|unfortunately)\b.{0,40}\b(?:can(?:no|['’])t|cannot|unable|not able)\b` +
		`|i (?:can(?:no|['’])t|cannot|won['’]t|am unable to|am not able to) (?:help|assist|do|provide|comply|summari[sz]e|fulfil)` +
		`|as an? (?:ai|language model|assistant)\b` +
		`|(?:no )?summary (?:is )?(?:unavailable|not available|failed)` +
		`|(?:no summary|n/a|none|null|todo|tbd|placeholder|your summary here|insert summary(?: here)?|the summary|summary)\W*$` +
		`|(?:(?:es )?tut mir leid|(?:je suis )?désolée?|lo siento|mi dispiace|desculpe|к сожалению|извините|(?:很|非常)?抱歉|对不起|申し訳|죄송).{0,60}(?:kann|peux pas|puedo|posso|не могу|无法|不能|できません|수 없)` +
		`)`)
)

// mostOfRefusal is how long, in tokens, what declines may be: a longer text says
// something beside.
const mostOfRefusal = 80

// strip leaves out what a model thought aloud.
func strip(text string) string {
	return strings.TrimSpace(thoughtEnd.ReplaceAllString(reasoning.ReplaceAllString(text, ""), ""))
}

// check takes an answer's text as a summary, or refuses it.
func (w worker) check(resp llm.Response, items []item) (string, error) {
	if resp.FinishReason == llm.FinishLength {
		return "", refusedCutOff
	}
	text := strip(resp.Message.Text)
	if why := w.judge(text, items); why != "" {
		return "", why
	}
	return text, nil
}

// judge says why a text can be no summary of items, "" if it can.
func (w worker) judge(text string, items []item) refusal {
	tokens, most := Estimate(text), max(costOfItems(items)*6/10, minSummary)
	if w.plain {
		most = w.limit
	}
	switch {
	case text == "":
		return refusedEmpty
	case toolSyntax.MatchString(text):
		return refusedTools
	case w.echoes(text):
		return refusedEcho
	case tokens <= mostOfRefusal && declined.MatchString(text):
		return refusedDeclined
	case tokens > most:
		return refusedLarge
	}
	return ""
}

// leastEcho is how long, in bytes, a sentence must be to be found again by more than chance.
const leastEcho = 20

// echoes tells whether a text is for the most part what the worker itself was told.
func (w worker) echoes(text string) bool {
	flat := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	told := flat(w.prompt) + "\n" + flat(w.agent)
	all, echoed := 0, 0
	for _, sentence := range words.Sentences(text) {
		sentence = flat(sentence)
		all += len(sentence)
		if len(sentence) >= leastEcho && strings.Contains(told, sentence) {
			echoed += len(sentence)
		}
	}
	return 2*echoed > all
}

// reasonOfModel is what a provider's failure means, in words for people.
func reasonOfModel(err error) string {
	remedy, _ := llm.RemedyOf(err)
	return remedy.Reason
}
