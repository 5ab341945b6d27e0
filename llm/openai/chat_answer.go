// Assembles an answer on chat completions from the chunks of a stream; reads what a server counted, on either wire.

package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"

	"cairn/llm"
	"cairn/llm/provider"
)

// chatAnswer accumulates chunks. It is complete with [DONE], or if a finish_reason was received and the body ended
// regularly: some servers never send [DONE], but none sends a reason before it has finished.
type chatAnswer struct {
	*provider.Answer
	author string

	inPieces bool // its text or calls have come in deltas
	native   gathered
	calls    map[*provider.Call]*gathered // what the provider added to each call
}

// chunk is an event of the stream, or an answer in one piece. An answer whose usage cannot be read is one nevertheless.
type chunk struct {
	Error   json.RawMessage
	Choices []struct {
		Index        int
		Delta        delta
		Message      delta           // all of it: in an answer in one piece, and again behind the pieces of MiniMax
		FinishReason string          `json:"finish_reason"`
		Usage        json.RawMessage // Moonshot
	}
	Usage json.RawMessage
}

// delta is a piece of a message, or all of it.
type delta struct {
	Content   text
	Refusal   string            // the model's own words
	ToolCalls []json.RawMessage `json:"tool_calls"`

	// Kept for the provider. Other fields may be allowed in answers only, and refused in a request.
	Reasoning        json.RawMessage
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	ReasoningDetails json.RawMessage `json:"reasoning_details"`
	ExtraContent     json.RawMessage `json:"extra_content"`
}

// text is a string, or the text of a list of parts.
type text string

func (t *text) UnmarshalJSON(raw []byte) error {
	if len(raw) == 0 || raw[0] != '[' {
		return json.Unmarshal(raw, (*string)(t))
	}
	var parts []struct{ Type, Text string }
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	for _, part := range parts {
		if part.Type == "text" {
			*t += text(part.Text)
		}
	}
	return nil
}

// Add never returns done: the usage follows the finish_reason.
func (a *chatAnswer) Add(event []byte) (bool, error) {
	var c chunk
	err := json.Unmarshal(event, &c)
	if provider.Filled(c.Error) {
		return false, llm.Refused(0, nil, event)
	}
	if err != nil {
		return false, llm.Truncated(err)
	}
	readUsage(c.Usage, &a.Usage)
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		readUsage(choice.Usage, &a.Usage)
		d := choice.Delta
		whole := choice.Message
		a.Started = true
		a.inPieces = a.inPieces || d.Content != "" || d.Refusal != "" || len(d.ToolCalls) > 0
		if a.inPieces {
			whole = delta{}
		}
		if err := cmp.Or(a.addDelta(d), a.addDelta(whole)); err != nil {
			return false, err
		}
		switch reason := strings.ToLower(choice.FinishReason); {
		case reason == "":
		case reason == "model_context_window_exceeded": // Zhipu
			return false, a.Overflow()
		case isGivenUp.MatchString(reason):
			return false, gaveUp
		case strings.Contains(reason, "length"), reason == "max_tokens":
			a.Finish = llm.FinishLength
		case strings.Contains(reason, "filter"), slices.Contains([]string{"safety", "recitation", "prohibited_content", "sensitive"}, reason): // Gemini, Zhipu
			a.Finish = llm.FinishFilter
		default:
			a.Finish = reason
		}
	}
	return false, nil
}

// isGivenUp matches the reasons of answers that are not whole, and may be at the next attempt: of OpenRouter, DeepSeek,
// vLLM and SGLang, and of Gemini, which calls a tool call that it cannot parse filtered.
var isGivenUp = regexp.MustCompile("error|insufficient_system_resource|abort|malformed|unexpected_tool_call")

// gaveUp is the error of a server that says nothing more.
var gaveUp = &llm.Error{Kind: llm.KindOverloaded, Message: "the server gave up in the middle of its answer"}

func (a *chatAnswer) addDelta(d delta) error {
	for field, raw := range map[string]json.RawMessage{
		"reasoning": d.Reasoning, "reasoning_content": d.ReasoningContent,
		"reasoning_details": d.ReasoningDetails, "extra_content": d.ExtraContent,
	} {
		if provider.Filled(raw) && string(raw) != "[]" {
			a.Count(len(raw))
			a.Reasons()
		}
		a.native.add(field, raw)
	}
	a.Reason(cmp.Or(textOf(d.ReasoningContent), textOf(d.Reasoning)))
	for _, raw := range d.ToolCalls {
		if err := a.addCall(raw); err != nil {
			return err
		}
	}
	a.Say(string(d.Content) + d.Refusal)
	return nil
}

// textOf returns a JSON string; "" for anything else.
func textOf(raw json.RawMessage) (text string) {
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

type callPiece struct {
	Index    *int
	ID       string
	Function struct {
		Name      string
		Arguments provider.Arguments
	}
}

func (a *chatAnswer) addCall(raw json.RawMessage) error {
	var piece callPiece
	var fields map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(raw, &piece), json.Unmarshal(raw, &fields)); err != nil {
		return llm.Truncated(err)
	}
	call := a.callOf(piece)
	a.Begin(call, piece.ID, piece.Function.Name, string(piece.Function.Arguments))
	if a.calls[call] == nil {
		a.calls[call] = &gathered{}
	}
	for field, value := range fields {
		switch field {
		case "index", "id", "type", "function":
		default:
			if provider.Filled(value) {
				a.Count(len(field) + len(value))
			}
			a.calls[call].add(field, value)
		}
	}
	return nil
}

// callOf returns the call that a piece belongs to, or starts one: a piece continues the latest call of its index. Some
// servers omit the index, or give every call the index 0.
func (a *chatAnswer) callOf(piece callPiece) *provider.Call {
	index := -1
	if piece.Index != nil {
		index = *piece.Index
	}
	for _, before := range slices.Backward(a.Calls) {
		if index < 0 || before.Index == index {
			if continues(before, piece) {
				return before
			}
			break
		}
	}
	return a.AddCall(index)
}

// continues reports whether a piece continues call rather than beginning another. Some servers omit the id, some give
// each piece another one, and some repeat the name.
func continues(call *provider.Call, piece callPiece) bool {
	switch {
	case piece.Function.Name == "" || call.Name == "":
		return true
	case piece.ID != "":
		return call.ID == "" || piece.ID == call.ID
	}
	ended := strings.HasSuffix(call.Arguments.String(), "}") && strings.HasPrefix(string(piece.Function.Arguments), "{")
	return piece.Function.Name == call.Name && !ended
}

// Native implements provider.Reader.
func (a *chatAnswer) Native(calls []llm.Call) json.RawMessage {
	n := native{Provider: a.author, Fields: a.native.object(), Calls: map[string]json.RawMessage{}}
	for i, call := range a.Calls {
		if extra := a.calls[call].object(); extra != nil {
			n.Calls[calls[i].ID] = extra
		}
	}
	if n.Fields == nil && len(n.Calls) == 0 {
		return nil
	}
	return encoded(n)
}

// details is how much of the prompt was read from and written to the cache.
type details struct {
	Cached  provider.Tokens `json:"cached_tokens"`
	Written provider.Tokens `json:"cache_write_tokens"`
}

// readUsage reads the usage of either wire into u, if there is one.
func readUsage(raw json.RawMessage, u *llm.Usage) {
	if len(raw) == 0 { // as in most events
		return
	}
	var counted struct {
		Prompt     provider.Tokens `json:"prompt_tokens"`
		Completion provider.Tokens `json:"completion_tokens"`
		Details    details         `json:"prompt_tokens_details"`
		// Responses.
		Input        provider.Tokens `json:"input_tokens"`
		Output       provider.Tokens `json:"output_tokens"`
		InputDetails details         `json:"input_tokens_details"`
		Hit          provider.Tokens `json:"prompt_cache_hit_tokens"` // DeepSeek
		// Servers in front of Claude.
		Read    provider.Tokens `json:"cache_read_input_tokens"`
		Written provider.Tokens `json:"cache_creation_input_tokens"`
	}
	// A field of another type stays 0.
	_ = json.Unmarshal(raw, &counted)
	read := llm.Usage{
		Prompt:     int(max(counted.Prompt, counted.Input)),
		Completion: int(max(counted.Completion, counted.Output)),
		Cached:     int(max(counted.Details.Cached, counted.InputDetails.Cached, counted.Read, counted.Hit)),
		Written:    int(max(counted.Details.Written, counted.InputDetails.Written, counted.Written)),
	}
	if apart := int(counted.Read + counted.Written); apart > read.Prompt { // counted separately from the prompt
		read.Prompt += apart
	}
	read.Cached = min(read.Cached, read.Prompt)
	read.Written = min(read.Written, read.Prompt-read.Cached)
	*u = cmp.Or(read, *u)
}
