package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"cairn/llm"
	"cairn/testkit/check"
)

// lookup is a tool that answers like the store's, and records its arguments.
func lookup(name, result string, asked *[]string) llm.Tool {
	return llm.Tool{Name: name, Run: func(_ context.Context, arguments json.RawMessage) (llm.Result, error) {
		var a struct{ Query string }
		if err := json.Unmarshal(arguments, &a); err != nil {
			return llm.Result{}, err
		}
		*asked = append(*asked, name+": "+a.Query)
		if result == "" {
			return llm.Result{}, errors.New("the disk is full")
		}
		return llm.Result{Text: result}, nil
	}}
}

const (
	memories = `{"memories":[
		{"id":1,"kind":"event","content":"Ada: I adopted a cat named Pixel yesterday (7 May 2023).","who":"Ada","when":"2023-05-08 13:56","messages":[12,13]},
		{"id":2,"kind":"preference","content":"Ada: I like green tea.","who":"Ada","when":"2023-05-09 10:00","messages":[20]}],"total":2}`
	transcript = `{"messages":[
		{"seq":12,"who":"Ada","when":"2023-05-08 13:56","text":"I adopted a cat named Pixel yesterday."},
		{"seq":14,"who":"Bob","when":"2023-05-08 13:58","text":"What is the cat called?"},
		{"seq":30,"who":"Bob","when":"2023-06-01 09:00","text":"Ada's cat Pixel ate my sandwich."}]}`
	noMemories, noTranscript = `{"memories":[],"total":0}`, `{"messages":[]}`
)

// talk calls the offline model through the loop of every turn, after earlier messages.
func talk(t *testing.T, said, memories, transcript string, earlier ...llm.Message) (answer string, asked []string) {
	t.Helper()
	req := llm.Request{
		Messages: append(append([]llm.Message{{Role: llm.RoleSystem, Text: "You are Cairn."}}, earlier...), user(said)),
		Tools:    []llm.Tool{lookup("memory_search", memories, &asked), lookup("recall", transcript, &asked)},
	}
	var shown strings.Builder
	pieces := 0
	resp, err := llm.Loop{
		Model: llm.NewOffline(0), MaxCalls: 3,
		Request: func(context.Context, int) (llm.Request, error) { return req, nil },
		Record: func(calls llm.Message, results []llm.Message) {
			req.Messages = append(append(req.Messages, calls), results...)
		},
		Show: func(delta string) { pieces++; shown.WriteString(delta) },
	}.Run(t.Context())
	check.NoError(t, err)
	check.That(t, shown.String() == resp.Message.Text && pieces >= 2, "got %q shown in %d pieces, answer %q", shown.String(), pieces, resp.Message.Text)
	return resp.Message.Text, asked
}

const question = "[#41 2023-07-01 10:00 Bob] What is Ada's cat called?"

func TestOfflineModelQuotes(t *testing.T) {
	// It asks both tools for the person's words alone.
	const head, hello, asks = "<kept>\nold\n</kept>", "[#40 2023-07-01 09:59 Eve] hello there", "[#41 2023-07-01 10:00 Bob, replying to #12] What is\nAda's cat called?"
	const now = "<now>\ntime: 2023-07-01 10:00 UTC\n</now>"
	_, asked := talk(t, now, memories, transcript, user(head), user(hello), user(asks))
	_, briefed := talk(t, strings.Join([]string{head, hello, asks, now}, "\n\n"), memories, transcript)
	for _, questions := range [][]string{asked, briefed} {
		check.EqualAll(t, "questions", questions, []string{"memory_search: What is Ada's cat called?", "recall: What is Ada's cat called?"})
	}
	// It quotes what it found with who, when and where, once, and tells how to set a model the first time.
	first, _ := talk(t, question, memories, transcript)
	check.Contains(t, "answer", first, "Ada, 2023-05-08 13:56 (#12, #13): “I adopted a cat named Pixel yesterday (7 May 2023).”", "Bob, 2023-06-01 09:00 (#30)")
	check.Lacks(t, "answer", first, "green tea", "#14")
	check.Equal(t, "copies in the answer", strings.Count(first, "adopted"), 1)
	check.Contains(t, "answer", first, "OPENAI_API_KEY", "base_url", "config.toml")
	later, _ := talk(t, question, memories, transcript, user(question), assistant(first))
	check.Contains(t, "a later answer", later, "No language model is set")
	check.Lacks(t, "a later answer", later, "OPENAI_API_KEY")
	one, _ := talk(t, question, "", transcript) // a tool fails, and the other one still answers
	check.Contains(t, "answer", one, "(#12)")
	check.Lacks(t, "answer", one, "disk")
	none, _ := talk(t, question, noMemories, noTranscript)
	for claim, c := range map[string]struct {
		said, memories, transcript string
		earlier                    []llm.Message
		want                       string
	}{
		"it says plainly that it found nothing":              {question, noMemories, noTranscript, []llm.Message{assistant(none)}, "found nothing"},
		"and how to set a model":                             {question, noMemories, noTranscript, []llm.Message{assistant(none)}, "OPENAI_API_KEY"},
		"a question of common words gets what was found":     {"[#41 2023-07-01 10:00 Ada] Who am I?", memories, noTranscript, nil, "Pixel"},
		"what it found counts, whatever it answered before":  {question, memories, transcript, []llm.Message{assistant(none)}, "Pixel"},
		"a failing tool is reported":                         {question, "", "", nil, "could not look it up: the disk is full"},
		"a question without a mark is one":                   {"hey what did Ada adopt", noMemories, noTranscript, nil, "found nothing"},
		"so is a wish":                                       {"tell me about the cat", noMemories, noTranscript, nil, "found nothing"},
		"in any script":                                      {"阿达的猫叫什么？", noMemories, noTranscript, nil, "found nothing"},
		"its own answers do not count as results":            {question, noMemories, ofItself(t, later), nil, "found nothing"},
		"nor what it saved":                                  {question, noMemories, ofItself(t, "Saved as message #41. It goes with this:\n- Ada: “Pixel”"), nil, "found nothing"},
		"nor that, in the words of an earlier version of it": {question, noMemories, ofItself(t, "It is kept."), nil, "found nothing"},
	} {
		answer, _ := talk(t, c.said, c.memories, c.transcript, c.earlier...)
		check.Contains(t, claim, answer, c.want)
	}
}

func TestOfflineModelQuotesWhatIsOfTheTime(t *testing.T) {
	const asks = "[#41 2023-06-02 10:00 Ada] What happened yesterday?"
	answer, _ := talk(t, asks, memories, transcript)
	lines := strings.Split(answer, "\n")
	check.Require(t, len(lines) > 2, "got %s", answer)
	check.Contains(t, "the first quotation", lines[1], "2023-06-01 09:00 (#30)") // it shares no word with the question
	check.Contains(t, "the next one", lines[2], "Pixel yesterday")
	check.Lacks(t, "answer", answer, "green tea")
}

// Messages of the person whom the question names are quoted if none shares a word with it.
func TestOfflineModelQuotesWhomAQuestionNames(t *testing.T) {
	const travels = `{"messages":[
		{"seq":12,"who":"Cleo","when":"2023-05-08 13:56","text":"back from Portugal, my skin is peeling"},
		{"seq":14,"who":"Bob","when":"2023-05-08 13:58","text":"the heating is broken"}]}`
	const asks = "[#41 2023-07-01 10:00 Bob] which countries has Cleo been to?"
	answer, _ := talk(t, asks, noMemories, travels)
	check.Contains(t, "answer", answer, "Cleo, 2023-05-08 13:56 (#12): “back from Portugal")
	check.Lacks(t, "answer", answer, "heating")
	answer, _ = talk(t, asks, noMemories, strings.Replace(travels, "the heating is broken", "Cleo knows nine countries", 1))
	check.Contains(t, "answer", answer, "nine countries")
	check.Lacks(t, "answer", answer, "Portugal")
}

// ofItself is a transcript with an answer of the model.
func ofItself(t *testing.T, text string) string {
	return string(check.Must(json.Marshal(map[string]any{"messages": []any{map[string]any{"seq": 42, "who": "assistant", "when": "2023-07-01 10:01", "text": text}}}))(t))
}

// A quoted fact says whether it is true now.
func TestOfflineModelQuotesWhatWas(t *testing.T) {
	const found = `{"memories":[
		{"id":1,"content":"Ben's home is in Porto","who":"Ben","when":"2026-01-08 13:56","until":"2026-05","note":"was so","messages":[3]},
		{"id":2,"content":"Ben's home is a boat","who":"Ada","when":"2026-06-09 10:00","note":"in doubt"}],"total":2}`
	answer, _ := talk(t, "where is Ben's home?", found, noTranscript)
	check.Contains(t, "answer", answer, "- Ben, 2026-01-08 13:56 (#3), was so until 2026-05: “Ben's home is in Porto”", "- Ada, 2026-06-09 10:00, in doubt: “Ben's home is a boat”")
}

func TestOfflineModelAnswersStatements(t *testing.T) {
	for said, want := range map[string]string{ // without looking anything up
		"[#1 2023-07-01 10:00 Bob] Hello!": "Hello!",
		"[#41 2023-07-01 10:00 Eve] We adopted a cat too [file: notes.txt, 2 kB]\nWhat is love?\n[end of file]": "Saved as message #41.\n\n",
		"[#41 2023-07-01 10:00 Eve] [voice message, 0:04, transcribed]\nHello!\n[end of file]":                  "Hello!",
		"[#41 2023-07-01 10:00 Eve] [voice message, 0:04, not transcribed]":                                     "Saved as message #41.\n\n",
	} {
		answer, asked := talk(t, said, memories, transcript)
		check.HasPrefix(t, said, answer, want)
		check.Len(t, said, asked, 0)
	}
	resp := check.Must(llm.NewOffline(0).Generate(t.Context(), llm.Request{Messages: []llm.Message{user(question)}}, nil))(t) // without tools
	check.That(t, resp.FinishReason == llm.FinishStop && len(resp.Message.Calls) == 0, "%+v", resp)
	check.Contains(t, "answer", resp.Message.Text, "OPENAI_API_KEY")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	check.Error(t, check.ErrorOf(llm.NewOffline(0).Generate(ctx, llm.Request{}, nil)), context.Canceled)
}
