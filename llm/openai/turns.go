// Messages in a form that every template accepts: roles alternate, and a user is first.

package openai

import (
	"strings"

	"cairn/llm"
	"cairn/llm/internal/provider"
)

// turn is what becomes one message of the request: neighbours of users, or of an assistant up to the
// first one with calls; all others are single.
type turn struct {
	llm.Message         // the last of them
	content     []piece // of all of them, without empty texts
}

// piece is a text or a picture.
type piece struct {
	provider.Part
	marked bool // a breakpoint follows it
}

func (p piece) isPicture() bool { return p.MediaType != "" }

// turns converts messages, of which the first head ones are the head. Blank messages of an assistant are
// left out: many servers refuse them. If no user is first a placeholder is: templates of Gemma, Mistral
// and Llama 2 refuse such prompts.
//
// Users and tools have breakpoints: after the head, and after everything that was the end of an earlier
// request. A request writes only the latest three, and reads from any.
func turns(messages []llm.Message, head int) []turn {
	all := make([]turn, 0, len(messages)+1)
	headTurn, headPiece := -1, 0 // the end of the head
	var before llm.Message
	at := -1 // its index
	for i, m := range messages {
		joins := m.Role == llm.RoleUser || m.Role == llm.RoleAssistant && len(before.Calls) == 0
		switch {
		case m.Role == llm.RoleAssistant && len(m.Calls) == 0 && strings.TrimSpace(m.Text) == "":
			continue
		case m.Role == before.Role && joins:
		case m.Role != llm.RoleUser && m.Role != llm.RoleSystem && (before.Role == "" || before.Role == llm.RoleSystem):
			all = append(all, turn{llm.Message{Role: llm.RoleUser}, []piece{{Part: provider.Part{Text: "(continued)"}}}}, turn{})
		default:
			if at >= head {
				markEnd(all, m.Role)
			}
			all = append(all, turn{})
		}
		t := &all[len(all)-1]
		t.Message, before, at = m, m, i
		for _, part := range provider.Parts(m) {
			if part != (provider.Part{}) {
				t.content = append(t.content, piece{Part: part})
			}
		}
		if n := len(t.content); i < head && n > 0 && m.Role != llm.RoleAssistant && m.Role != llm.RoleSystem {
			headTurn, headPiece = len(all)-1, n-1
		}
	}
	if at >= head {
		markEnd(all, llm.RoleAssistant)
	}
	if headTurn >= 0 {
		all[headTurn].content[headPiece].marked = true
	}
	return all
}

// markEnd marks the end of the last turn if next, who follows it, answers it.
func markEnd(all []turn, next llm.Role) {
	t := &all[len(all)-1]
	if n := len(t.content); n > 0 && (t.Role == llm.RoleUser && next == llm.RoleAssistant || t.Role == llm.RoleTool && next != llm.RoleTool) {
		t.content[n-1].marked = true
	}
}

// text returns the texts, separated by blank lines.
func (t turn) text() string {
	texts := make([]string, len(t.content))
	for i, p := range t.content {
		texts[i] = p.Text
	}
	return strings.Join(texts, "\n\n")
}
