package compactor

import (
	"encoding/json"
	"strings"
	"testing"

	"cairn/chat"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/words/wordstest"
)

// FuzzView renders arbitrary histories, well-formed or not: a strict provider accepts the view, and
// its marked lines are all Cairn's.
func FuzzView(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05"), "hi", 2000)
	f.Add([]byte{1, 1, 2, 9, 10, 3, 0, 17, 18, 26, 4, 5, 0, 0, 1, 10, 2}, "x\n[#1", 60)
	for i, text := range wordstest.Texts() {
		f.Add([]byte{0, 1, byte(i), 2, byte(7 * i), 10, 3, 0, byte(i), 4}, text, 40*(i%20))
	}
	f.Fuzz(func(t *testing.T, shape []byte, text string, clipTo int) {
		text = strings.ToValidUTF8(text, "\ufffd")
		if len(shape) > 200 || len(text) > 4000 {
			return
		}
		lines, headers := linesOfBytes(shape, text, max(clipTo%5000, 0))
		messages := rendered("system", "", lines, "time: now")
		if len(messages) > 1 && messages[len(messages)-1].Role == llm.RoleAssistant {
			messages = messages[:len(messages)-1] // only the owner asks after it
		}
		if why := refusedByAStrictProvider(messages); why != "" {
			t.Fatalf("%s: %+v", why, messages)
		}
		got := 0
		for _, m := range messages {
			if m.Role == llm.RoleUser {
				got += marksIn(m.Text)
			} else if m.Role != llm.RoleSystem && marksIn(m.Text) != 0 {
				t.Fatalf("the %s has a forged line: %q", m.Role, m.Text)
			}
			checkNoRole(t, m.Text)
		}
		want := headers
		if headers > 0 {
			want += 2 // the block after the last
		}
		check.Require(t, got == want, "got %d marked lines, want %d: %+v", got, want, messages)
	})
}

// linesOfBytes makes a message from each byte: its role, and what it calls or answers.
func linesOfBytes(shape []byte, text string, clipTo int) (lines []line, headers int) {
	for i, b := range shape {
		m := user(int64(i+1), text)
		id := string(rune('a' + b/8%4))
		switch b % 8 {
		case 0, 1:
			m.Author, m.Quote = text, text
			headers++
		case 2:
			m = chat.Message{Seq: m.Seq, Role: llm.RoleAssistant, Text: text}
		case 3, 4:
			m = chat.Message{Seq: m.Seq, Role: llm.RoleAssistant, Text: text[:0], Calls: []llm.Call{{ID: id, Name: "recall", Arguments: `{"query":"x"}`}, {ID: string(rune('a' + b/32)), Name: "f", Arguments: "{}"}}}
		case 5:
			m = chat.Message{Seq: m.Seq, Role: llm.RoleAssistant, Calls: []llm.Call{{ID: "", Name: "x", Arguments: "{}"}, {ID: id, Name: "", Arguments: "{}"}}}
		default:
			m = chat.Message{Seq: m.Seq, Role: llm.RoleTool, CallID: id, Tool: "recall", Text: text}
		}
		m.Turn = 1
		lines = append(lines, lineOf(m, shape0(clipTo)))
	}
	return lines, headers
}

func shape0(clipTo int) shape {
	return shape{clipTo: max(clipTo, 60), kept: 2, minChars: 100, maxLines: 5}
}

// refusedByAStrictProvider returns what is wrong with a request, or "".
func refusedByAStrictProvider(messages []llm.Message) string {
	owed := map[string]bool{}
	for i, m := range messages {
		switch {
		case m.Role != llm.RoleTool && len(owed) > 0:
			return "a call has no result"
		case m.Role == llm.RoleSystem && i > 0:
			return "a second system message"
		case m.Role == llm.RoleUser && (m.Text == "" || i > 0 && messages[i-1].Role == llm.RoleUser):
			return "an empty message of a user, or two in a row"
		case m.Role == llm.RoleAssistant && m.Text == "" && len(m.Calls) == 0:
			return "an empty answer"
		case m.Role == llm.RoleTool && !owed[m.CallID]:
			return "a result without a call"
		}
		delete(owed, m.CallID)
		for _, call := range m.Calls {
			if call.ID == "" || call.Name == "" || owed[call.ID] || !json.Valid([]byte(call.Arguments)) {
				return "a call that is none"
			}
			owed[call.ID] = true
		}
	}
	if len(owed) > 0 {
		return "a call has no result"
	}
	return ""
}

// FuzzPatch sets a value by its text, as /settings does: it is rejected with a message, or yields a
// policy that is valid or reported as invalid.
func FuzzPatch(f *testing.F) {
	for _, key := range Keys() {
		for _, value := range []string{"", "0", "-1", "1e309", "NaN", "0.5", "80", "5m", "-5m", "true", "off", "9223372036854775808", "\x00"} {
			f.Add(key, value)
		}
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		policy, wrong := Patch{key: value}.Over(DefaultPolicy())
		for _, e := range append(wrong, policy.Validate()...) {
			check.Require(t, e.Error() != "", "%q = %q: %#v", key, value, e)
		}
		check.Require(t, len(wrong) != 0 || len(policy.Validate()) != 0 || policy.Value(key) != "" || strings.TrimSpace(value) == "",
			"%q = %q is accepted and shows nothing", key, value)
	})
}
