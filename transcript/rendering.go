package transcript

import (
	"slices"

	"cairn/llm"
)

// noResult is the result of a call that has none.
const noResult = "Error: the tool was interrupted and gave no result."

// Rendering makes requests of views: the system prompt, the head, and the verbatim messages with
// the turn contexts behind them. Rendering is a pure function of system prompt and view, so that a restart
// renders the same bytes, and between two changes of the head each request is a prefix of the next
// one, which keeps the provider's prompt cache warm.
//
// A Rendering keeps the last request, so that the cost of the next one depends on what was added and
// not on the window. The zero value has none.
type Rendering struct {
	head     string
	messages []Verbatim     // of the last request; keeps their array alive, so that no other one gets its address
	contexts []contextBlock // likewise
	out      []llm.Message  // the request; requests share it, and none of its elements is ever overwritten
	headLen  int            // system prompt and head
	pictures map[int64][]llm.Image
}

// HeadLen returns how many messages of the last request are the system prompt and the head.
func (r *Rendering) HeadLen() int { return r.headLen }

// Next returns the request for v, extending the last one if possible. The caller may change only
// the pictures of the messages: requests share the rest.
func (r *Rendering) Next(system string, v View) []llm.Message {
	if !r.extends(v) {
		*r = Rendering{head: v.HeadText, pictures: newestPictures(v.Messages)}
		r.out = make([]llm.Message, 0, len(v.Messages)+len(v.Messages)/8+4)
		for _, block := range []llm.Message{{Role: llm.RoleSystem, Text: system}, {Role: llm.RoleUser, Text: v.HeadText}} {
			if block.Text != "" {
				r.out = append(r.out, block)
			}
		}
		r.headLen = len(r.out)
	}
	r.out = appendMessages(r.out, v.Messages[len(r.messages):], v.contexts[len(r.contexts):], r.pictures)
	r.messages = v.Messages
	r.contexts = v.contexts
	if len(r.pictures) == 0 {
		return slices.Clip(r.out)
	}
	all := slices.Clone(r.out)
	for i := range all {
		all[i].Images = slices.Clone(all[i].Images)
	}
	return all
}

// DropsPictures reports whether new pictures in v displace some that the last request showed: that
// changes what was sent, so it needs a new head.
func (r *Rendering) DropsPictures(v View) bool {
	if len(r.pictures) == 0 || len(v.Messages) <= len(r.messages) || !slices.ContainsFunc(v.Messages[len(r.messages):], hasPictures) {
		return false
	}
	next := newestPictures(v.Messages)
	return slices.ContainsFunc(v.Messages, func(m Verbatim) bool { return len(next[m.Seq]) < len(r.pictures[m.Seq]) })
}

func hasPictures(m Verbatim) bool { return m.As.Pictures > 0 }

// extends reports whether v extends the last request: it shows the same messages and contexts, and more
// behind them. No element of a view's messages is ever overwritten, so messages that start at the same
// address and are no shorter start with the same messages. False if a new message has a picture, which
// may displace an older one, or is a tool result, which may replace a missing one.
func (r *Rendering) extends(v View) bool {
	n := len(r.messages)
	k := len(r.contexts)
	if n == 0 || len(v.Messages) < n || &v.Messages[0] != &r.messages[0] || v.HeadText != r.head {
		return false
	}
	if len(v.contexts) < k || k > 0 && &v.contexts[0] != &r.contexts[0] {
		return false
	}
	if len(v.contexts) > k && v.contexts[k].Seq <= r.messages[n-1].Seq {
		return false
	}
	rest := v.Messages[n:]
	return !slices.ContainsFunc(rest, hasPictures) && (len(rest) == 0 || rest[0].Role != llm.RoleTool)
}

// appendMessages writes messages, each with the context that follows it.
func appendMessages(out []llm.Message, messages []Verbatim, contexts []contextBlock, pictures map[int64][]llm.Image) []llm.Message {
	for i := 0; i < len(messages); {
		switch s := &messages[i]; s.Role {
		case llm.RoleUser:
			m := llm.Message{Role: llm.RoleUser, Text: s.As.Text}
			if s.As.Pictures > 0 {
				m.Images = pictures[s.Seq]
			}
			out = append(out, m)
			for len(contexts) > 0 && contexts[0].Seq < s.Seq {
				contexts = contexts[1:]
			}
			if len(contexts) > 0 && contexts[0].Seq == s.Seq {
				out = append(out, llm.Message{Role: llm.RoleUser, Text: contexts[0].text})
				contexts = contexts[1:]
			}
			i++
		case llm.RoleAssistant:
			out, i = appendAssistant(out, messages, i, pictures)
		default: // a result without a call: providers reject it
			i++
		}
	}
	return out
}

// appendAssistant writes an assistant's message and the results of its calls, in the order of the
// calls. A call without a result gets noResult; a call without a name or an id, a result without a
// call and an empty message are left out.
func appendAssistant(out []llm.Message, messages []Verbatim, i int, pictures map[int64][]llm.Image) ([]llm.Message, int) {
	s := messages[i]
	next := i + 1
	for next < len(messages) && messages[next].Role == llm.RoleTool {
		next++
	}
	m := llm.Message{Role: llm.RoleAssistant, Text: s.As.Text, Native: s.Native, Deprived: s.Deprived}
	for _, call := range s.calls {
		if call.ID != "" && call.Name != "" && !slices.ContainsFunc(m.Calls, func(c llm.Call) bool { return c.ID == call.ID }) {
			m.Calls = append(m.Calls, call)
		}
	}
	if m.Text == "" && len(m.Calls) == 0 {
		return out, next
	}
	out = append(out, m)
	for _, call := range m.Calls {
		answer := llm.Message{Role: llm.RoleTool, CallID: call.ID, Tool: call.Name, Text: noResult}
		r := slices.IndexFunc(messages[i+1:next], func(m Verbatim) bool { return m.CallID == call.ID })
		if r >= 0 {
			result := messages[i+1+r]
			answer.Text = result.As.Text
			answer.Images = pictures[result.Seq]
		}
		out = append(out, answer)
	}
	return out, next
}
