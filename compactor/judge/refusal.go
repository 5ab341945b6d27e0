// The reasons why a summary is refused, and what its writer should do.

package judge

import (
	"fmt"
	"strings"

	"cairn/compactor/summarize"
	"cairn/internal/tokens"
	"cairn/internal/words"
	"cairn/llm"
	"cairn/transcript"
)

// Refusal is the reason why a summary must not be applied, in words for people.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// The reasons why a summary is refused; see also TooLarge and inLanguage.
const (
	RefusedEmpty        Refusal = "the model's summary was empty"
	refusedCutOff       Refusal = "the model's summary was cut off at its output limit"
	refusedTools        Refusal = "the model wrote tool syntax instead of a summary"
	RefusedDeclined     Refusal = "the model declined to summarize"
	refusedVague        Refusal = "the model's answer says hardly anything about the messages"
	refusedReasoning    Refusal = "the model thought aloud instead of writing the summary"
	refusedInstructions Refusal = "the model repeated its instructions instead of summarizing"
	refusedEcho         Refusal = "the model repeated the messages instead of summarizing them"
	refusedBefore       Refusal = "the model repeated the summary of what came before"
	refusedFiltered     Refusal = "the model's provider filtered the summary"
	refusedNothing      Refusal = "the model's summary says too little: it contains too few of the names, numbers and words in the messages"
	RefusedCalls        Refusal = "the model kept calling tools and wrote no summary"
)

const (
	tooLarge = "the model's summary was hardly shorter than the messages: "
	wroteIn  = "the model wrote in "
)

// TooLarge returns the refusal of a summary of tokens tokens, with limit as the maximum.
func TooLarge(tokens, limit int) Refusal {
	return Refusal(fmt.Sprintf(tooLarge+"%d tokens of at most %d", tokens, limit))
}

// Again reports whether the same material is worth another request after calls calls.
func (r Refusal) Again(calls int) bool {
	return r != RefusedCalls && !r.Declines() && (r != RefusedEmpty || calls < 2)
}

// Declines reports whether the model declined to summarize, or may have, in words that nobody can know to be a refusal: it would
// do so again.
func (r Refusal) Declines() bool { return r == RefusedDeclined || r == refusedVague }

// OfLanguage reports whether a summary was refused because it is not in the language of the messages.
func (r Refusal) OfLanguage() bool { return strings.HasPrefix(string(r), wroteIn) }

// Advice returns the reason of a refusal with what the model should do, as a part of a sentence.
func (j *Judge) Advice(r Refusal) string {
	todo := "write the summary"
	switch {
	case r.OfLanguage():
		todo = "write it in " + j.span.spoken().name()
	case strings.HasPrefix(string(r), tooLarge), r == refusedCutOff:
		todo = "write it shorter"
	case r == refusedTools:
		todo = "write the text of the summary alone, without a call in it"
	case r == refusedReasoning:
		todo = "write the summary alone, without thoughts about it"
	case r == refusedInstructions, r == refusedEcho, r == refusedBefore:
		todo = "write in your own words what the messages inside <transcript> say"
	case r == refusedNothing:
		todo = "write who said and decided what, with their names and numbers"
	}
	return string(r) + "; " + todo
}

const (
	// subjectShare is the share of a refusal's words in the span if it names the span's subject.
	subjectShare = 0.5

	fewestWords = 4 // of a sentence that refuses
)

// declines returns why a text is about the task instead of the span, whatever its language: it is
// short and has hardly a word of the span, or it begins by thinking about the task.
func (j *Judge) declines(text string, sentences []string) Refusal {
	if len(sentences) == 0 || summarize.HasHeadings(text) {
		return ""
	}
	short := tokens.Estimate(text) <= maxRefusal
	first, _ := j.span.share(sentences[0])
	share, _ := j.span.share(text)
	ofTask := task().MatchString(sentences[0]) && first < subjectShare && !j.span.quotes(sentences[0])
	thinks := ofTask && first < someShare && (thinking().MatchString(strings.Join(sentences[:min(2, len(sentences))], " ")) || j.rambles(sentences))
	switch {
	case thinks && (!short || len(sentences) > 2 && share >= someShare):
		return refusedReasoning
	case short && (thinks || Declines(sentences[0])):
		return RefusedDeclined
	case short && speaks(text) && !j.span.wordless() && (share < hardlyShare || ofTask && share < subjectShare) && !j.span.foreign(text):
		if refusing().MatchString(text) {
			return RefusedDeclined
		}
		return refusedVague
	case short && ofTask && share < hardlyShare && !transcript.Citations.MatchString(text) && j.span.foreign(text):
		return j.inLanguage(text) // names alone, as in a refusal that names who speaks, are no evidence
	}
	return ""
}

// rambles reports whether most sentences of a text, or half of one that is cut off, say nothing about
// the span.
func (j *Judge) rambles(sentences []string) bool {
	empty := 0
	for _, sentence := range sentences {
		if share, _ := j.span.share(sentence); share < someShare {
			empty++
		}
	}
	last := sentences[len(sentences)-1]
	cutOff := !words.EndsInMark(last) && !strings.HasSuffix(last, ")")
	share, _ := j.span.share(strings.Join(sentences, "\n"))
	return share < maxFrame && len(sentences) > 2 && (2*empty > len(sentences) || cutOff && 2*empty >= len(sentences))
}

// speaks reports whether a text has the words of a sentence.
func speaks(text string) bool {
	unspaced := 0
	for _, r := range text {
		if words.IsUnspaced(r) {
			unspaced++
		}
	}
	return len(strings.Fields(text)) >= fewestWords || unspaced >= 2*fewestWords
}

// reason returns why a text with too little evidence is refused.
func (j *Judge) reason(text string, declined bool) Refusal {
	switch {
	case j.span.foreign(text):
		return j.inLanguage(text)
	case declined || refusing().MatchString(text):
		return RefusedDeclined
	case tokens.Estimate(text) <= maxRefusal && !summarize.HasHeadings(text) && speaks(text):
		if share, _ := j.span.share(text); share < someShare {
			return refusedVague
		}
	}
	return refusedNothing
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
