package main

import (
	"fmt"
	"strings"
	"testing"

	"cairn/llm/openai"
	"cairn/prompts"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// gardenTalk is a recording of ten messages, two of them with answers, in two spans of five.
var gardenTalk = map[string]string{
	"garden.jsonl": `{"id":"1","time":"2026-01-02T10:00:00Z","author":"Ann","text":"The council gave us plot 41 behind the mill, rent is 62 pounds."}
{"id":"2","time":"2026-01-02T10:01:00Z","author":"Bob","text":"Great news, I will bring the wheelbarrow on Sunday morning."}
{"id":"3","time":"2026-01-02T10:02:00Z","author":"Ann","text":"My cousin Marguerite keeps bees near the gate."}
{"id":"4","time":"2026-01-02T10:03:00Z","author":"Bob","text":"Then we should plant lavender along the fence for them."}
{"id":"5","time":"2026-01-02T10:04:00Z","author":"Ann","text":"Agreed, lavender along the fence, and beans behind the shed."}
{"id":"6","time":"2026-01-03T10:00:00Z","author":"Bob","text":"The wheelbarrow has a flat tyre, the shop in Orford repairs it for 12 pounds."}
{"id":"7","time":"2026-01-03T10:01:00Z","author":"Ann","text":"I paid the rent of the plot yesterday, with my own card."}
{"id":"8","time":"2026-01-03T10:02:00Z","author":"Bob","text":"I owe you half of it, thirty one pounds, until Friday."}
{"id":"9","time":"2026-01-03T10:03:00Z","author":"Ann","text":"The seeds of the beans arrive with the post on Tuesday."}
{"id":"10","time":"2026-01-03T10:04:00Z","author":"Bob","text":"My sister Clara lends us the greenhouse heater in February."}`,
	"garden.qa.jsonl": `{"question":"Which plot did the council give them?","answer":"41","evidence":["1"],"category":4}
{"question":"Who keeps bees?","answer":"Marguerite","evidence":["3"],"category":4}
{"question":"Who lends the heater?","answer":"Clara","evidence":["10"],"category":4}
{"question":"What is the rent, and who paid it?","answer":"62 pounds, Ann","evidence":["1","7"],"category":1}`,
}

// scriptedWorker answers a worker's requests: in the first span it saves a memory and hands in a summary that keeps one of the two
// messages with answers; in the second it hands in nothing at first.
func scriptedWorker(t *testing.T) *llmtest.Server {
	t.Helper()
	server := llmtest.NewServer(func(x *llmtest.Exchange) {
		asked := x.Request.Messages[1].Text()
		_, transcript, _ := strings.Cut(asked, "<transcript>")
		first := strings.Contains(transcript, "Marguerite")
		begins := len(x.Request.Messages) == 2
		switch {
		case first && begins:
			x.Use("m1", "memory_save", `{"memories":[{"content":"Saved by the script: Bob brings the wheelbarrow.","kind":"todo","messages":[2]}],
				"content":"Saved by the script: Bob brings the wheelbarrow.","kind":"todo","messages":[2]}`)
		case first:
			x.Use("s1", "summarize", `{"summary":"- Ann: The council gave them plot 41 behind the mill, the rent is 62 pounds (#1).\n- Bob and Ann agreed to plant lavender along the fence (#4, #5).\n- Zebras graze on the moon."}`)
		case begins:
			x.Use("s2", "summarize", `{"summary":"Okay."}`)
		default:
			x.Use("s3", "summarize", `{"summary":"- Bob: sister Clara lends them the greenhouse heater in February (#5)."}`)
		}
	})
	t.Cleanup(server.Close)
	return server
}

func TestPromptsOfAScriptedModel(t *testing.T) {
	dir := leaveRecordings(t, gardenTalk)
	server := scriptedWorker(t)
	t.Setenv("SCRIPT_KEY", "k")
	args := []string{"prompts", dir, "--model", "m", "--base-url", server.URL, "--key-env", "SCRIPT_KEY", "--window", "32000", "--span", "5", "--languages", "de"}
	r, err := ranAs[promptResults](t, args...)
	check.NoError(t, err)
	check.Require(t, r.Model == "m" && r.Window == 32_000 && len(r.Recordings) == 1, "got %+v", r)
	got := r.Recordings[0]
	check.That(t, got.Language == "de" && got.Recording == "garden", "got %+v", got)
	check.EqualAll(t, "spans, failed, questions in one span, lines", []int{got.Spans, got.Failed, got.Questions, got.Lines}, []int{2, 0, 3, 4})
	check.EqualAll(t, "lines without evidence, contradicted ones", []int{got.NoEvidence, got.Contradicted}, []int{1, 0})
	check.EqualAll(t, "answer, evidence, cited", []float64{got.Answer, got.Evidence, got.Cited}, []float64{2. / 3, 2. / 3, 2. / 3})
	check.EqualAll(t, "memories and requests of a span", []float64{got.Memories, got.Requests}, []float64{0.5, 2})
	check.That(t, got.Length > 0.3 && got.Length < 3 && got.Prompt > 1000 && got.Output > 0 && got.Instructions > 500, "got %+v", got)
	for why, n := range got.Refusals {
		check.Contains(t, "why a summary was refused", why, "too little")
		check.Equal(t, "how often", n, 1)
	}
	check.Equal(t, "reasons", len(got.Refusals), 1)
	for _, request := range server.Requests() {
		check.HasPrefix(t, "system prompt", request.Messages[0].Text(), prompts.In("de").Worker)
	}
	text := check.Must(ran(t, append(args, "--spans", "1")...))(t)
	check.Contains(t, "the table", text, "no evidence", "garden", "length")
}

func TestPromptsNeedAModel(t *testing.T) {
	_, err := ran(t, "prompts", "testdata")
	check.ErrorContains(t, "without a model", err, "--model qwen3 --base-url")
	dir := leaveRecordings(t, gardenTalk)
	_, err = ran(t, "prompts", dir, "--model", "m", "--base-url", "http://127.0.0.1:1/v1", "--window", "32000", "--span", "5")
	check.Equal(t, "exit code where no server answers", exitCode(err), exitFailed)
	declines := llmtest.NewServer(func(x *llmtest.Exchange) { x.Say("I'm sorry, but I can't help with that.") })
	t.Cleanup(declines.Close)
	_, err = ran(t, "prompts", dir, "--model", "m", "--base-url", declines.URL, "--window", "32000", "--span", "5")
	check.ErrorContains(t, "a model that declines", err, "m summarized no span: the model declined to summarize")
}

func TestKeyOfAProviderGoesToNoOtherServer(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sesame")
	t.Setenv("OTHER_KEY", "other")
	for want, o := range map[string]modelServer{
		"Bearer sesame": {},
		"":              {baseURL: "http://127.0.0.1:1/v1"},
		"Bearer other":  {baseURL: "http://127.0.0.1:1/v1", keyEnv: "OTHER_KEY"},
	} {
		o.model = "m"
		o.provider = providerOpenAI
		model := check.Must(o.connect())(t)
		check.Equal(t, "key for "+o.baseURL, model.(*openai.Model).Header.Get("Authorization"), want)
	}
}

func TestSpansAreDistributedEvenly(t *testing.T) {
	for _, c := range []struct{ messages, span, spans, want int }{{100, 10, 5, 80}, {100, 10, 20, 90}, {9, 10, 5, -1}, {30, 10, 1, 0}} {
		trial := promptTrial{promptOptions: promptOptions{span: c.span, spans: c.spans}, recording: recording{said: make([]store.Inbound, c.messages)}}
		last := -1
		for _, at := range trial.begins() {
			check.That(t, at > last && at+c.span <= c.messages, "%+v: a span begins at %d, behind %d", c, at, last)
			last = at
		}
		check.Equal(t, fmt.Sprintf("%+v: the last span", c), last, c.want)
	}
}
