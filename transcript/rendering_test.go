package transcript

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"cairn/chat"
	"cairn/llm"
	"cairn/testkit/check"

	"pgregory.net/rapid"
)

// renderedView is a view that changes in random order, with its renderings.
type renderedView struct {
	v       View
	r       Rendering
	version int64
	stored  int64 // messages up to this seq are on disk
	before  []handedOver
	earlier []earlierView
}

// earlierView is a view that others were made from, and its text at that time.
type earlierView struct {
	v   View
	was string
}

// handedOver is a prompt that a model may still read, and its text when it was rendered.
type handedOver struct {
	messages []llm.Message
	was      string
}

// small is the shape of a small window.
var small = Shape{
	ClipTo: 5000, MaxCopies: 1000, KeepFirst: 1, ResultsKept: 3, ResultMinChars: 200, ResultMaxLines: 60,
	MaxStack: 10_000, MaxPast: 1500, MaxSessions: 3,
}

// TestRenderingIsPure compares incremental with fresh rendering over random histories, and checks
// that neither a request that was handed out nor an earlier view ever changes.
func TestRenderingIsPure(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &renderedView{v: NewView(Snapshot{Next: 1}, small, nil)}
		t.Repeat(m.steps())
	})
}

func (m *renderedView) say(role llm.Role, one chat.Message) {
	one.Seq = m.v.Next
	one.Role = role
	one.Turn = one.Seq
	one.Time = time.Unix(one.Seq*60, 0)
	one.Author = "Ada"
	m.v = m.v.Append(one)
}

func (m *renderedView) steps() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"": m.check,
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
			id := fmt.Sprint("c", m.v.Next)
			m.say(llm.RoleAssistant, chat.Message{Calls: []llm.Call{{ID: id, Name: "look", Arguments: "{}"}}})
			if rapid.Bool().Draw(t, "answers") {
				m.say(llm.RoleTool, chat.Message{CallID: id, Tool: "look", Text: strings.Repeat("found\n", rapid.IntRange(1, 200).Draw(t, "found"))})
			}
		},
		"a lost result": func(*rapid.T) { m.say(llm.RoleTool, chat.Message{CallID: "lost", Tool: "look", Text: "found"}) },
		"begin": func(t *rapid.T) {
			m.v = m.v.BeginTurn(Context{Text: rapid.SampledFrom([]string{"", "time: now"}).Draw(t, "context")})
		},
		"answered": func(t *rapid.T) {
			if !rapid.Bool().Draw(t, "stored") {
				m.v = m.v.DropRunningContext()
			}
			m.v = m.v.EndTurn()
			m.stored = m.v.Next - 1
		},
		"clear": func(t *rapid.T) { m.v = m.v.ClearRunning(rapid.IntRange(10, 500).Draw(t, "limit")) },
		"truncate": func(t *rapid.T) {
			if len(m.v.Messages) > 0 {
				m.v = m.v.Truncate(rapid.Int64Range(m.v.Messages[0].Seq, m.v.Next).Draw(t, "seq"))
			}
		},
		"people edit and delete": func(t *rapid.T) {
			m.version++
			now := Snapshot{Head: m.v.Head, Next: m.stored + 1, Running: m.v.Since(m.stored + 1)}
			now.Head.Version = m.version
			for _, shown := range m.v.Messages[:m.v.IndexOf(now.Next)] {
				one := *shown.Message
				if rapid.IntRange(0, 4).Draw(t, "edited") == 4 {
					one.Text = one.Text + " edited"
					one.Tokens = 0
				}
				if rapid.IntRange(0, 4).Draw(t, "deleted") < 4 {
					now.Messages = append(now.Messages, one)
				}
			}
			m.v = m.v.Reload(now)
		},
		"apply": func(t *rapid.T) {
			if len(m.v.Messages) == 0 {
				return
			}
			m.version++
			last := rapid.SampledFrom(m.v.Messages).Draw(t, "last")
			m.v = m.v.WithHead(Head{Version: m.version, Stack: []Summary{{
				ID: m.version, Kind: Leaf, Span: Span{From: 1, To: last.Seq}, Text: fmt.Sprint("summary ", rapid.IntRange(1, 3).Draw(t, "text")),
			}}, ClearedTo: rapid.Int64Range(0, m.v.Next).Draw(t, "cleared")})
		},
		"repair": func(*rapid.T) { // no message is removed
			if v := m.v; len(v.Messages) > 0 && v.Messages[0].Seq > 1 {
				m.version++
				m.v = v.WithHead(Head{Version: m.version, Stack: []Summary{{
					ID: m.version, Kind: Leaf, Span: Span{From: 1, To: v.Messages[0].Seq - 1}, Text: fmt.Sprint("repaired ", m.version),
				}}, ClearedTo: v.clearedTo})
			}
		},
		"back to an earlier view": func(t *rapid.T) {
			if len(m.earlier) > 0 {
				m.v = rapid.SampledFrom(m.earlier).Draw(t, "earlier").v
				m.stored = min(m.stored, m.v.Next-1)
			}
		},
	}
}

// check compares the incremental rendering with a new one, and checks that no earlier prompt changes.
func (m *renderedView) check(t *rapid.T) {
	got := m.r.Next("be kind", m.v)
	want := new(Rendering).Next("be kind", m.v)
	check.Require(t, reflect.DeepEqual(got, want), "with what was there:\n%+v\nafresh:\n%+v", got, want)
	for _, b := range m.before {
		check.Require(t, fmt.Sprintf("%+v", b.messages) == b.was, "a request has changed: %+v\nit was %s", b.messages, b.was)
	}
	for _, e := range m.earlier {
		check.Require(t, fmt.Sprintf("%+v", new(Rendering).Next("be kind", e.v)) == e.was, "an earlier view has changed, it was %s", e.was)
	}
	m.earlier = append(m.earlier, earlierView{m.v, fmt.Sprintf("%+v", want)})
	m.earlier = m.earlier[max(len(m.earlier)-5, 0):]
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
