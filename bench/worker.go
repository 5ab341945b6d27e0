package main

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"cairn/llm"
	"cairn/prompts"
)

// memoriesEach is how many memories a worker saves of a span.
const memoriesEach = 6

var (
	askedTokens = regexp.MustCompile(`about (\d+) tokens`)
	keptTokens  = regexp.MustCompile(`at most (\d+) are kept`)
	askedSpan   = regexp.MustCompile(`Sum up messages #(\d+) to #(\d+)`)
)

// wanted is what a worker is asked for.
type wanted struct {
	tokens   int      // of the summary
	from     string   // seq of the first message
	memories bool     // they may be saved, and none was yet
	words    []string // of the material
}

func wantedOf(req llm.Request) (w wanted, err error) {
	ask := req.Messages[1].Text
	w.words = materialWords(ask)
	ask = ask[max(len(ask)-400, 0):] // what is asked stands below the material
	tokens, span := askedTokens.FindStringSubmatch(ask), askedSpan.FindStringSubmatch(ask)
	if tokens == nil || span == nil {
		return w, fmt.Errorf("the worker was asked in words that this bench does not know: %.80q", ask)
	}
	if shorter := keptTokens.FindStringSubmatch(req.Messages[len(req.Messages)-1].Text); shorter != nil {
		tokens = shorter // a summary was refused
	}
	w.from = span[1]
	w.memories = len(req.Tools) > 1 && len(req.Messages) == 2 && !strings.Contains(req.Messages[0].Text, prompts.In(prompts.English).Fold)
	w.tokens, err = strconv.Atoi(tokens[1])
	return w, err
}

// answer saves made-up memories, of which there were saved so far, or sums up. request
// tells the ids of its calls from others'.
func (w wanted) answer(words *rand.Rand, saved *int, request int) llm.Response {
	if !w.memories {
		return summarized(w.summary(words), request)
	}
	resp := llm.Response{FinishReason: llm.FinishToolCalls, Message: llm.Message{Role: llm.RoleAssistant}}
	for n := range memoriesEach {
		*saved++
		arguments := fmt.Sprintf(`{"content":%q,"kind":"fact","importance":0.5,"messages":[%s]}`, fact(words, *saved), w.from)
		resp.Message.Calls = append(resp.Message.Calls, llm.Call{ID: fmt.Sprintf("call_%d_%d", request, n), Name: "memory_save", Arguments: arguments})
	}
	return resp
}

// summarized is the answer of a worker that sums up.
func summarized(summary string, request int) llm.Response {
	call := llm.Call{ID: fmt.Sprintf("call_%d_0", request), Name: "summarize", Arguments: fmt.Sprintf(`{"summary":%q}`, summary)}
	return llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Calls: []llm.Call{call}}, FinishReason: llm.FinishToolCalls}
}

// summary is of the words of the material: the judge of summaries refuses others.
func (w wanted) summary(words *rand.Rand) string { return textOf(words, w.tokens*9/10, w.words) }

var (
	material = regexp.MustCompile(`(?s)<transcript>\n(.*)</transcript>`)
	markup   = regexp.MustCompile(`<[^>]*>`)
)

// mostOfWord is how many bytes a word has that a summary is made of; a longer one would
// make the summary longer than is wanted.
const mostOfWord = 12

// materialWords are the words of the transcript in a request for a summary.
func materialWords(ask string) (words []string) {
	found := material.FindStringSubmatch(ask)
	if found == nil {
		return vocabulary
	}
	for _, word := range strings.FieldsFunc(markup.ReplaceAllString(found[1], " "), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }) {
		if len(word) <= mostOfWord {
			words = append(words, word)
		}
	}
	if len(words) == 0 {
		return vocabulary
	}
	return words
}

// shortSummary is one of at most 60 words, likewise of the material of the request.
func shortSummary(ask string) string {
	n := 60
	if tokens := askedTokens.FindAllStringSubmatch(ask, -1); tokens != nil { // what is asked stands below the material
		most, err := strconv.Atoi(tokens[len(tokens)-1][1])
		if err == nil {
			n = min(n, most*6/10)
		}
	}
	return textOf(rand.New(rand.NewPCG(1, 1)), n, materialWords(ask))
}
