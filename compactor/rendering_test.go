package compactor

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"cairn/chat"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/transcript"

	"pgregory.net/rapid"
)

// renderedHistory is a history that changes in random order, with its renderings.
type renderedHistory struct {
	h       *History
	r       rendering
	version int64
	before  []handedOver
}

// handedOver is a prompt that a model may still read, and its text when it was rendered.
type handedOver struct {
	messages []llm.Message
	was      string
}

// TestRenderingIsPure compares incremental with fresh rendering over random histories, and checks
// that a request that was handed out never changes.
func TestRenderingIsPure(t *testing.T) {
	check.SkipUnderRace(t)
	rapid.Check(t, func(t *rapid.T) {
		m := &renderedHistory{h: newHistory(transcript.Snapshot{Next: 1}, DefaultPolicy().shape(20_000))}
		steps := m.messages()
		maps.Copy(steps, m.changes())
		steps[""] = m.check
		t.Repeat(steps)
	})
}

func (m *renderedHistory) say(role llm.Role, one chat.Message) {
	one.Seq, one.Role = m.h.Next(), role
	one.Turn, one.Time, one.Author = one.Seq, time.Unix(one.Seq*60, 0), "Ada"
	m.h.Append(one)
}

// messages are the steps that add to the history.
func (m *renderedHistory) messages() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"people": func(t *rapid.T) {
			m.say(llm.RoleUser, chat.Message{Text: "hello", Addressed: rapid.Bool().Draw(t, "addressed")})
		},
		"a picture": func(t *rapid.T) {
			file := rapid.Int64Range(1, 99).Draw(t, "file")
			m.say(llm.RoleUser, chat.Message{Attachments: []chat.Attachment{{Kind: "image", File: file, Size: 1000}}})
		},
		"the bot":           func(*rapid.T) { m.say(llm.RoleAssistant, chat.Message{Text: "yes"}) },
		"the bot, silently": func(*rapid.T) { m.say(llm.RoleAssistant, chat.Message{}) },
		"a tool": func(t *rapid.T) {
			id := fmt.Sprint("c", m.h.Next())
			m.say(llm.RoleAssistant, chat.Message{Calls: []llm.Call{{ID: id, Name: "look", Arguments: "{}"}}})
			if rapid.Bool().Draw(t, "answers") {
				m.say(llm.RoleTool, chat.Message{CallID: id, Tool: "look", Text: strings.Repeat("found\n", rapid.IntRange(1, 200).Draw(t, "found"))})
			}
		},
		"a lost result": func(*rapid.T) { m.say(llm.RoleTool, chat.Message{CallID: "lost", Tool: "look", Text: "found"}) },
		"begin": func(t *rapid.T) {
			m.h.Begin(Context{Text: rapid.SampledFrom([]string{"", "time: now"}).Draw(t, "context")})
		},
		"answered": func(t *rapid.T) {
			if rapid.Bool().Draw(t, "stored") {
				m.h.Context()
			}
			m.h.Answered()
		},
	}
}

// changes are the steps that change what is shown.
func (m *renderedHistory) changes() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"clear": func(t *rapid.T) { m.h.clearRunning(rapid.IntRange(10, 500).Draw(t, "limit")) },
		"truncate": func(t *rapid.T) {
			if s := m.h.view; len(s.lines) > 0 {
				m.h.Truncate(rapid.Int64Range(s.lines[0].Seq, m.h.Next()).Draw(t, "seq"))
			}
		},
		"delete": func(t *rapid.T) { m.h.deleted([]int64{rapid.Int64Range(1, m.h.Next()).Draw(t, "seq")}) },
		"edit": func(t *rapid.T) {
			if s := m.h.view; len(s.lines) > 0 {
				edited := *rapid.SampledFrom(s.lines).Draw(t, "line").Message
				edited.Text, edited.Tokens = edited.Text+" edited", 0
				m.h.edited(edited)
			}
		},
		"apply": func(t *rapid.T) {
			s := m.h.view
			if len(s.lines) == 0 {
				return
			}
			m.version++
			last := rapid.SampledFrom(s.lines).Draw(t, "last")
			m.h.swap(Head{Version: m.version, Stack: []Compaction{{
				ID: m.version, Kind: Leaf, Span: Span{From: 1, To: last.Seq}, Text: fmt.Sprint("summary ", rapid.IntRange(1, 3).Draw(t, "text")),
			}}, ClearedTo: rapid.Int64Range(0, m.h.Next()).Draw(t, "cleared")})
		},
		"repair": func(t *rapid.T) { // no line is removed
			if s := m.h.view; len(s.lines) > 0 && s.lines[0].Seq > 1 {
				m.version++
				m.h.swap(Head{Version: m.version, Stack: []Compaction{{
					ID: m.version, Kind: Leaf, Span: Span{From: 1, To: s.lines[0].Seq - 1}, Text: fmt.Sprint("repaired ", m.version),
				}}, ClearedTo: s.clearedTo})
			}
		},
	}
}

// check compares the incremental rendering with a new one, and checks that no earlier prompt
// changes.
func (m *renderedHistory) check(t *rapid.T) {
	s := m.h.view
	got, want := m.r.next("be kind", s), renderMessages("be kind", s)
	check.Require(t, reflect.DeepEqual(got, want), "with what was there:\n%+v\nafresh:\n%+v", got, want)
	for _, b := range m.before {
		check.Require(t, fmt.Sprintf("%+v", b.messages) == b.was, "a request has changed: %+v\nit was %s", b.messages, b.was)
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
	m.before = append(m.before, handedOver{got, fmt.Sprintf("%+v", got)})
	m.before = m.before[max(len(m.before)-3, 0):]
}
