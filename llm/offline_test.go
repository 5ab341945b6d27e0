package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/llm"
)

// lookup is a tool that answers like the store's, and records its arguments.
func lookup(name, result string, asked *[]string) llm.Tool {
	return llm.Tool{Name: name, Run: func(_ context.Context, arguments json.RawMessage) (string, error) {
		var a struct{ Query string }
		if err := json.Unmarshal(arguments, &a); err != nil {
			return "", err
		}
		*asked = append(*asked, name+": "+a.Query)
		if result == "" {
			return "", errors.New("the disk is full")
		}
		return result, nil
	}}
}

const (
	memories = `{"memories":[
		{"id":1,"kind":"event","content":"Ada: I adopted a cat named Pixel yesterday (7 May 2023).","who":"Ada","when":"2023-05-08 13:56","messages":[12]},
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
		Messages: append(append([]llm.Message{{Role: llm.RoleSystem, Text: "You are Cairn."}}, earlier...), llm.Message{Role: llm.RoleUser, Text: said}),
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
	t.Run("it asks both tools for the person's words alone", func(t *testing.T) {
		said := "<kept>\nold\n</kept>\n\n[#40 2023-07-01 09:59 Eve] hello there\n\n[#41 2023-07-01 10:00 Bob, replying to #12] What is\nAda's cat called?\n\n<now>\ntime: 2023-07-01 10:00 UTC\n</now>"
		_, asked := talk(t, said, memories, transcript)
		check.EqualAll(t, "questions", asked, []string{"memory_search: What is Ada's cat called?", "recall: What is Ada's cat called?"})
	})
	t.Run("it quotes what it found with who, when and where, once", func(t *testing.T) {
		answer, _ := talk(t, question, memories, transcript)
		check.Contains(t, "answer", answer, "Ada, 2023-05-08 13:56 (#12): “I adopted a cat named Pixel yesterday (7 May 2023).”", "Bob, 2023-06-01 09:00 (#30)")
		check.Lacks(t, "answer", answer, "green tea", "#14")
		check.Equal(t, "copies in the answer", strings.Count(answer, "adopted"), 1)
	})
	t.Run("it tells how to set a model the first time, briefly later", func(t *testing.T) {
		first, _ := talk(t, question, memories, transcript)
		check.Contains(t, "answer", first, "OPENAI_API_KEY", "base_url", "config.toml")
		later, _ := talk(t, question, memories, transcript, llm.Message{Role: llm.RoleUser, Text: question}, llm.Message{Role: llm.RoleAssistant, Text: first})
		check.Contains(t, "answer", later, "No language model is set")
		check.Lacks(t, "answer", later, "OPENAI_API_KEY")
	})
	t.Run("it says plainly that it found nothing, and how to set a model", func(t *testing.T) {
		first, _ := talk(t, question, noMemories, noTranscript)
		again, _ := talk(t, question, noMemories, noTranscript, llm.Message{Role: llm.RoleAssistant, Text: first})
		check.Contains(t, "answer", again, "found nothing", "OPENAI_API_KEY")
	})
	t.Run("a question of common words gets what the tools found", func(t *testing.T) {
		answer, _ := talk(t, "[#41 2023-07-01 10:00 Ada] Who am I?", memories, noTranscript)
		check.Contains(t, "answer", answer, "Pixel")
	})
	t.Run("its own earlier answers do not count as results", func(t *testing.T) {
		hint, _ := talk(t, question, noMemories, noTranscript)
		told := llm.Message{Role: llm.RoleAssistant, Text: hint}
		own, _ := talk(t, question, memories, transcript, told)
		check.Contains(t, "answer", own, "Pixel")
		for _, own := range []string{own, "Saved as message #41. It goes with this:\n- Ada: “Pixel”", "It is kept."} {
			text := check.Must(json.Marshal(map[string]any{"messages": []any{map[string]any{"seq": 42, "who": "assistant", "when": "2023-07-01 10:01", "text": own}}}))(t)
			answer, _ := talk(t, question, noMemories, string(text))
			check.Contains(t, "answer", answer, "found nothing")
		}
	})
	t.Run("a failing tool is reported, and the other one still answers", func(t *testing.T) {
		both, _ := talk(t, question, "", "")
		check.Contains(t, "answer", both, "could not look it up", "the disk is full")
		one, _ := talk(t, question, "", transcript)
		check.Contains(t, "answer", one, "(#12)")
		check.Lacks(t, "answer", one, "disk")
	})
}

func TestOfflineModelAnswersStatements(t *testing.T) {
	t.Run("a greeting is answered without looking anything up", func(t *testing.T) {
		answer, asked := talk(t, "[#1 2023-07-01 10:00 Bob] Hello!", memories, transcript)
		check.Contains(t, "answer", answer, "Hello!")
		check.Len(t, "asked", asked, 0)
	})
	t.Run("a statement is acknowledged", func(t *testing.T) {
		answer, asked := talk(t, "[#41 2023-07-01 10:00 Eve] We adopted a cat too [file: notes.txt, 2 kB]\nWhat is love?\n[end of file]", memories, transcript)
		check.HasPrefix(t, "answer", answer, "Saved as message #41.\n\n")
		check.Len(t, "asked", asked, 0)
	})
	t.Run("a question without a mark is one, in any script", func(t *testing.T) {
		for _, said := range []string{"hey what did Ada adopt", "tell me about the cat", "阿达的猫叫什么？"} {
			answer, _ := talk(t, said, noMemories, noTranscript)
			check.Contains(t, "answer", answer, "found nothing")
		}
	})
	t.Run("without tools it answers at once", func(t *testing.T) {
		resp, err := llm.NewOffline(0).Generate(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: question}}}, nil)
		check.Require(t, err == nil && resp.FinishReason == llm.FinishStop && len(resp.Message.Calls) == 0, "%+v, %v", resp, err)
		check.Contains(t, "answer", resp.Message.Text, "OPENAI_API_KEY")
	})
	t.Run("an ended context is an error", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		check.Error(t, check.ErrorOf(llm.NewOffline(0).Generate(ctx, llm.Request{}, nil)), context.Canceled)
	})
}
