package transcript

import (
	"encoding/json"
	"testing"

	"cairn/chat"
	"cairn/llm"
	"cairn/testkit/check"
)

// turnWith is a view with a running turn: a question, a call after some reasoning, its result, and what a person said then.
func turnWith(steering chat.Message) View {
	question := asks("what is tea?")
	question.Addressed = true
	steering.Addressed = true
	call := calls("c")
	call.Native = json.RawMessage(`{"reasoning":"long and winding"}`)
	v := NewView(Snapshot{Next: 1}, Shape{ClipTo: 4000, MaxCopies: 1000, KeepFirst: 3, ResultsKept: 3}, nil)
	for i, m := range []chat.Message{question, call, resultTo("c", "a drink"), steering} {
		m.Seq = int64(i + 1)
		m.Turn = 1
		if i == 1 {
			v = v.BeginTurn(Context{Text: "time: now"})
		}
		v = v.Append(m)
	}
	return v
}

func TestWhatPeopleSayDuringATurn(t *testing.T) {
	t.Run("is behind the results of tools, and the context of the turn stays behind its question", func(t *testing.T) {
		v := turnWith(asks("in French"))
		request := new(Rendering).Next("", v)
		var roles []llm.Role
		for _, m := range request {
			roles = append(roles, m.Role)
		}
		check.EqualAll(t, "roles", roles, []llm.Role{llm.RoleUser, llm.RoleUser, llm.RoleAssistant, llm.RoleTool, llm.RoleUser})
		check.Contains(t, "the context", request[1].Text, "time: now")
		check.Equal(t, "the open turn", v.Open, int64(1))
	})
	t.Run("leaves the reasoning before it in the turn, and that ends with the turn", func(t *testing.T) {
		v := turnWith(asks("in French"))
		check.That(t, len(v.Messages[1].Native) > 0, "the reasoning is gone")
		before := v.MessageCost
		v = v.EndTurn()
		check.That(t, len(v.Messages[1].Native) == 0 && v.MessageCost < before, "the reasoning stays: %d of %d tokens", v.MessageCost, before)
	})
	t.Run("is no first message of the conversation after a failed attempt", func(t *testing.T) {
		v := turnWith(asks("in French"))
		check.Len(t, "first messages", v.first, 2)
		check.Len(t, "first messages", v.Truncate(2).first, 1)
	})
}
