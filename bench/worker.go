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
	"cairn/testkit/llmtest"
)

// memoriesEach is how many memories a worker saves per span.
const memoriesEach = 6

var (
	askedTokens = regexp.MustCompile(`about (\d+) tokens`)
	keptTokens  = regexp.MustCompile(`of at most (\d+); write it shorter`)
	askedSpan   = regexp.MustCompile(`Summarize messages #(\d+) to #(\d+)`)
)

// workerRequest is what a worker is asked for.
type workerRequest struct {
	tokens   int      // of the summary
	from     string   // seq of the first message
	memories bool     // memories can be saved, and none were yet
	words    []string // of the material
}

func wantedOf(req llm.Request) (w workerRequest, err error) {
	ask := req.Messages[1].Text
	w.words = materialWords(ask)
	ask = ask[max(len(ask)-400, 0):] // the instructions are below the material
	tokens := askedTokens.FindStringSubmatch(ask)
	span := askedSpan.FindStringSubmatch(ask)
	if tokens == nil || span == nil {
		return w, fmt.Errorf("the worker was asked in words that this bench does not know: %.80q", ask)
	}
	if shorter := keptTokens.FindStringSubmatch(req.Messages[len(req.Messages)-1].Text); shorter != nil {
		tokens = shorter // a summary was rejected
	}
	w.from = span[1]
	w.memories = len(req.Tools) > 1 && len(req.Messages) == 2 && !strings.Contains(req.Messages[0].Text, prompts.In(prompts.English).Fold)
	w.tokens, err = strconv.Atoi(tokens[1])
	return w, err
}

// answer saves generated memories, or summarizes. request makes the ids of
// its calls unique.
func (w workerRequest) answer(words *rand.Rand, request int) llm.Response {
	if !w.memories {
		return summarized(w.summary(words), request)
	}
	var calls []llm.Call
	for n := range memoriesEach {
		arguments := fmt.Sprintf(`{"content":%q,"kind":"fact","importance":0.5,"messages":[%s]}`, text(words, 20), w.from)
		calls = append(calls, llm.Call{ID: fmt.Sprintf("call_%d_%d", request, n), Name: "memory_save", Arguments: arguments})
	}
	return llmtest.Use(calls...)
}

// summarized returns a response that summarizes.
func summarized(summary string, request int) llm.Response {
	return llmtest.Use(llmtest.Call(fmt.Sprintf("call_%d_0", request), "summarize", map[string]string{"summary": summary}))
}

// summary uses words of the material: the judge of summaries rejects others.
func (w workerRequest) summary(words *rand.Rand) string { return textOf(words, w.tokens*9/10, w.words) }

var (
	material = regexp.MustCompile(`(?s)<transcript>\n(.*)</transcript>`)
	markup   = regexp.MustCompile(`<[^>]*>`)
)

// maxWordBytes is the limit of words in a summary, in bytes; longer ones would make the summary too
// long.
const maxWordBytes = 12

// materialWords returns the words of the transcript in a request for a summary.
func materialWords(ask string) (words []string) {
	found := material.FindStringSubmatch(ask)
	if found == nil {
		return vocabulary
	}
	for _, word := range strings.FieldsFunc(markup.ReplaceAllString(found[1], " "), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }) {
		if len(word) <= maxWordBytes {
			words = append(words, word)
		}
	}
	if len(words) == 0 {
		return vocabulary
	}
	return words
}

// shortSummary returns a summary of at most 60 words of the material.
func shortSummary(ask string) string {
	n := 60
	if tokens := askedTokens.FindAllStringSubmatch(ask, -1); tokens != nil { // the instructions are below the material
		most, err := strconv.Atoi(tokens[len(tokens)-1][1])
		if err == nil {
			n = min(n, most*6/10)
		}
	}
	return textOf(rand.New(rand.NewPCG(1, 1)), n, materialWords(ask))
}
