package main

import (
	"maps"
	"strings"
	"testing"

	"cairn/testkit/check"
)

// factsOf runs the benchmark on the talk in the garden.
func factsOf(t *testing.T, args ...string) (of factResult, before, after quotedMean) {
	t.Helper()
	r, err := ranAs[factResults](t, append([]string{"facts", leaveRecordings(t, gardenTalk), "--span", "5"}, args...)...)
	check.NoError(t, err)
	check.Require(t, len(r.Recordings) == 1 && len(r.Quoted) == 3, "got %+v", r)
	return r.Recordings[0], r.Quoted[0], r.Quoted[1]
}

// A memory brings the message from which it is, by a class word that no message has.
func TestFactsOfAFile(t *testing.T) {
	t.Parallel()
	const facts = `{"content":"Marguerite, a cousin of Ann, keeps bees near the gate","kind":"fact","messages":["3"],"also":["insects","animals"]}
{"content":"Bob owes Ann thirty one pounds","kind":"todo","about":"Bob","messages":["8"]}
{"content":"Ann won 999 pounds","kind":"fact","messages":["8"]}`
	const asked = `{"question":"Which insects?","answer":"Marguerite","evidence":["3"],"category":4}
{"question":"Which insects, and whose?","answer":"","evidence":["3","9"],"category":1}
{"question":"Why?","evidence":["3"],"category":5}`
	dir := leaveRecordings(t, map[string]string{"garden.jsonl": gardenTalk["garden.jsonl"], "garden.qa.jsonl": asked, "garden.facts.jsonl": facts})
	r, err := ranAs[factResults](t, "facts", dir)
	check.NoError(t, err)
	check.Require(t, len(r.Recordings) == 1 && len(r.Quoted) == 3, "got %+v", r)
	of := r.Recordings[0]
	check.That(t, of.Source == "file" && of.Memories == 2 && of.Refused == 1 && of.Questions == 2, "got %+v", of)
	before := r.Quoted[0]
	after := r.Quoted[1]
	gain := r.Quoted[2]
	check.That(t, before.Evidence == 0 && before.Answer == 0, "without memories: %+v", before)
	check.That(t, after.Evidence == 0.75 && after.Low >= 0.5 && after.High == 1 && after.Answer == 1 && after.Tokens > before.Tokens, "with memories: %+v", after)
	check.That(t, gain.Evidence == 0.75 && gain.Tokens == after.Tokens-before.Tokens, "the gain: %+v", gain)
	text := check.Must(ran(t, "facts", dir))(t)
	check.Contains(t, "the table", text, "memories by", "with memories", "0.75")
}

func TestFactsWithoutAFile(t *testing.T) {
	t.Parallel()
	of, before, after := factsOf(t)
	check.That(t, of.Source == "extractor" && of.Memories > 0 && of.Spans == 2 && of.Failed == 0 && of.Questions == 4, "got %+v", of)
	check.That(t, before.Evidence > 0.5 && after.Evidence > 0.5, "without memories %+v, with %+v", before, after)
	server := scriptedWorker(t) // it saves a memory of the first span; of the second the extractor does
	of, _, _ = factsOf(t, "--model", "m", "--base-url", server.URL, "--window", "32000")
	check.That(t, of.Source == "m" && of.Memories == 2 && of.Spans == 2 && of.Failed == 0 && of.Questions == 4, "by a model: %+v", of)
}

func TestFactsThatCannotBeMeasured(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct{ facts, flags string }{
		"fact 1 comes from message 99, which is not there": {`{"content":"Ann keeps bees","kind":"fact","messages":["99"]}`, ""},
		"fact 1 names no messages":                         {`{"content":"Ann keeps bees","kind":"fact"}`, ""},
		"garden.facts.jsonl, object 1":                     {`{"content"`, ""},
		"m summarized no span":                             {"", "--model m --window 32000 --base-url http://127.0.0.1:1/v1"},
		"must be openai or anthropic":                      {"", "--model m --provider x"},
	} {
		files := maps.Clone(gardenTalk)
		if c.facts != "" {
			files["garden.facts.jsonl"] = c.facts
		}
		_, err := ran(t, append([]string{"facts", leaveRecordings(t, files)}, strings.Fields(c.flags)...)...)
		check.ErrorContains(t, want, err, want)
	}
}

// What several recordings have is one result, of all questions.
func TestFactsOfSeveralRecordings(t *testing.T) {
	t.Parallel()
	files := maps.Clone(gardenTalk)
	files["b.jsonl"] = gardenTalk["garden.jsonl"]
	files["b.qa.jsonl"] = gardenTalk["garden.qa.jsonl"]
	files["b.facts.jsonl"] = `{"content":"Ann's cousin Marguerite keeps bees","kind":"fact","messages":["3"]}`
	r, err := ranAs[factResults](t, "facts", leaveRecordings(t, files))
	check.NoError(t, err)
	check.Require(t, len(r.Recordings) == 3 && len(r.Quoted) == 9, "got %+v", r)
	all := r.Recordings[2]
	check.That(t, all.Recording == "all" && all.Source == "several" && all.Questions == 8 && all.Memories == r.Recordings[0].Memories+1, "got %+v", all)
	check.Equal(t, "evidence of all", r.Quoted[6].Evidence, (r.Quoted[0].Evidence+r.Quoted[3].Evidence)/2)
}
