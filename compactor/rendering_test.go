package compactor

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"cairn/chat"
	"cairn/llm"

	"pgregory.net/rapid"
)

// TestRenderingIsPure holds what is rendered by what was added against what is
// rendered afresh, over random histories, and that nobody sees a request change that
// was handed out before.
func TestRenderingIsPure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sh := DefaultPolicy().shape(20_000)
		h := newHistory(State{Next: 1}, sh)
		var r rendering
		version := int64(0)
		type handed struct {
			messages []llm.Message
			was      string
		}
		var before []handed
		say := func(role llm.Role, m chat.Message) {
			m.Seq, m.Role = h.Next(), role
			m.Turn, m.Time, m.Author = m.Seq, time.Unix(m.Seq*60, 0), "Ada"
			h.Append(m)
		}
		steps := map[string]func(*rapid.T){
			"people": func(t *rapid.T) {
				say(llm.RoleUser, chat.Message{Text: "hello", Addressed: rapid.Bool().Draw(t, "addressed")})
			},
			"a picture": func(t *rapid.T) {
				file := rapid.Int64Range(1, 99).Draw(t, "file")
				say(llm.RoleUser, chat.Message{Attachments: []chat.Attachment{{Kind: "image", File: file, Size: 1000}}})
			},
			"the bot":           func(*rapid.T) { say(llm.RoleAssistant, chat.Message{Text: "yes"}) },
			"the bot, silently": func(*rapid.T) { say(llm.RoleAssistant, chat.Message{}) },
			"a tool": func(t *rapid.T) {
				id := fmt.Sprint("c", h.Next())
				say(llm.RoleAssistant, chat.Message{Calls: []llm.Call{{ID: id, Name: "look", Arguments: "{}"}}})
				if rapid.Bool().Draw(t, "answers") {
					say(llm.RoleTool, chat.Message{CallID: id, Tool: "look", Text: strings.Repeat("found\n", rapid.IntRange(1, 200).Draw(t, "found"))})
				}
			},
			"a lost result": func(*rapid.T) { say(llm.RoleTool, chat.Message{CallID: "lost", Tool: "look", Text: "found"}) },
			"begin": func(t *rapid.T) {
				h.Begin(Context{Text: rapid.SampledFrom([]string{"", "time: now"}).Draw(t, "context")})
			},
			"answered": func(t *rapid.T) {
				if rapid.Bool().Draw(t, "stored") {
					h.Context()
				}
				h.Answered()
			},
			"clear": func(t *rapid.T) { h.clearRunning(rapid.IntRange(10, 500).Draw(t, "limit")) },
			"truncate": func(t *rapid.T) {
				if s := h.view; len(s.lines) > 0 {
					h.Truncate(rapid.Int64Range(s.lines[0].Seq, h.Next()).Draw(t, "seq"))
				}
			},
			"delete": func(t *rapid.T) { h.deleted([]int64{rapid.Int64Range(1, h.Next()).Draw(t, "seq")}) },
			"edit": func(t *rapid.T) {
				if s := h.view; len(s.lines) > 0 {
					m := rapid.SampledFrom(s.lines).Draw(t, "line").Message
					m.Text, m.Tokens = m.Text+" edited", 0
					h.edited(m)
				}
			},
			"land": func(t *rapid.T) {
				s := h.view
				if len(s.lines) == 0 {
					return
				}
				version++
				last := rapid.SampledFrom(s.lines).Draw(t, "last")
				h.swap(Head{Version: version, Stack: []Compaction{{
					ID: version, Kind: Leaf, Span: Span{From: 1, To: last.Seq}, Text: fmt.Sprint("summary ", rapid.IntRange(1, 3).Draw(t, "text")),
				}}, ClearedTo: rapid.Int64Range(0, h.Next()).Draw(t, "cleared")})
			},
			"heal": func(t *rapid.T) { // no line leaves
				if s := h.view; len(s.lines) > 0 && s.lines[0].Seq > 1 {
					version++
					h.swap(Head{Version: version, Stack: []Compaction{{
						ID: version, Kind: Leaf, Span: Span{From: 1, To: s.lines[0].Seq - 1}, Text: fmt.Sprint("healed ", version),
					}}, ClearedTo: s.clearedTo})
				}
			},
			"": func(t *rapid.T) {
				s := h.view
				got, want := r.next("be kind", s), renderMessages("be kind", s)
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("with what was there:\n%+v\nafresh:\n%+v", got, want)
				}
				for _, b := range before {
					if fmt.Sprintf("%+v", b.messages) != b.was {
						t.Fatalf("a request has changed: %+v\nit was %s", b.messages, b.was)
					}
				}
				if rapid.Bool().Draw(t, "pictures are loaded") {
					for i := range got {
						for j := range got[i].Images {
							got[i].Images[j].Data = []byte("loaded")
						}
					}
				}
				if rapid.Bool().Draw(t, "something is appended") {
					got = append(got, llm.Message{Role: llm.RoleAssistant, Text: "no, wait"})
				}
				before = append(before, handed{got, fmt.Sprintf("%+v", got)})
				before = before[max(len(before)-3, 0):]
			},
		}
		t.Repeat(steps)
	})
}
