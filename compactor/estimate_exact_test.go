package compactor

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/internal/tokens"

	"cairn/chat"
	"cairn/llm"
	"cairn/transcript"

	"github.com/tiktoken-go/tokenizer"
)

// exactTokenizer counts tokens as GPT-4o does.
type exactTokenizer struct {
	t     testing.TB
	codec tokenizer.Codec
}

func newExactTokenizer(t testing.TB) exactTokenizer {
	t.Helper()
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	check.NoError(t, err)
	return exactTokenizer{t, codec}
}

func (e exactTokenizer) count(text string) int {
	e.t.Helper()
	n, err := e.codec.Count(text)
	check.NoError(e.t, err)
	return n
}

// deviation returns the relative error of an estimate.
func deviation(estimate, real int) float64 { return float64(estimate)/float64(real) - 1 }

// TestEstimateOfUniformText: too low an estimate would overflow the windows of people who write one
// kind of text.
func TestEstimateOfUniformText(t *testing.T) {
	check.SkipUnderRace(t)
	e := newExactTokenizer(t)
	texts := ofEachKind(t)
	t.Log("kind       bytes   tokens   estimate  off")
	for _, kind := range slices.Sorted(maps.Keys(texts)) {
		text := texts[kind]
		real := e.count(text)
		by := deviation(tokens.Estimate(text), real)
		t.Logf("%-9s %6d  %7d  %9d  %+.1f %%", kind, len(text), real, tokens.Estimate(text), 100*by)
		if by < -0.12 || by > 0.20 {
			t.Errorf("%s: got an estimate of %d tokens, want %d: %+.1f%%", kind, tokens.Estimate(text), real, 100*by)
		}
	}
}

func TestEstimateOfShortUniformText(t *testing.T) {
	e := newExactTokenizer(t)
	for kind, text := range samples() {
		if by := deviation(tokens.Estimate(text), e.count(text)); by < -0.25 || by > 0.25 {
			t.Errorf("%s: got an error of %+.1f%%", kind, 100*by)
		}
	}
}

// contexts are conversations of one community each, by the number of messages of each kind.
var contexts = map[string]map[string]int{
	"a club that talks English":       {"English": 20, "emoji": 1},
	"programmers":                     {"English": 8, "code": 5, "logs": 2, "JSON": 2},
	"a Chinese team and its programs": {"Chinese": 10, "code": 3, "logs": 2, "JSON": 1},
	"a Japanese group":                {"Japanese": 15, "emoji": 2, "English": 1},
	"a Korean group":                  {"Korean": 15, "emoji": 2, "English": 1},
	"a Russian support desk":          {"Russian": 10, "logs": 3, "JSON": 1, "English": 1},
	"an Arabic group":                 {"Arabic": 15, "emoji": 1, "English": 1},
	"a server that is being repaired": {"English": 4, "logs": 8, "JSON": 3, "base64": 1},
	"people from everywhere":          {"English": 4, "Chinese": 2, "Japanese": 2, "Korean": 2, "Russian": 2, "Arabic": 2, "emoji": 1},
	"a little of everything":          {"English": 1, "code": 1, "JSON": 1, "logs": 1, "base64": 1, "Chinese": 1, "Japanese": 1, "Korean": 1, "Russian": 1, "Arabic": 1, "emoji": 1},
}

// conversation makes messages from pieces of texts: people talk, some messages are answered, and
// some answers use a tool.
func conversationOf(texts map[string]string, mix map[string]int, seed int64) []chat.Message {
	rng := rand.New(rand.NewSource(seed))
	var bag []string
	for _, kind := range slices.Sorted(maps.Keys(mix)) {
		for range mix[kind] {
			bag = append(bag, kind)
		}
	}
	piece := func(most int) string {
		text := texts[bag[rng.Intn(len(bag))]]
		at := rng.Intn(len(text) - most)
		cut := text[at : at+most/4+rng.Intn(most*3/4)]
		if line := strings.IndexByte(cut, '\n'); line > 0 && line < len(cut)/2 {
			cut = cut[line+1:]
		}
		return strings.ToValidUTF8(cut, "")
	}
	var messages []chat.Message
	bytes := 0
	for bytes < 120_000 {
		seq := int64(len(messages) + 1)
		at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC).Add(time.Duration(seq) * 97 * time.Second)
		m := chat.Message{Seq: seq, Turn: seq, Role: llm.RoleUser, AuthorID: "u", Author: []string{"Ada", "Grace Hopper", "tomás", "小林"}[rng.Intn(4)], Time: at, Text: piece(700)}
		messages = append(messages, m)
		if rng.Intn(2) == 0 {
			if rng.Intn(3) == 0 {
				id := fmt.Sprintf("call_%06d", rng.Intn(1e6))
				query, _ := json.Marshal(map[string]string{"query": piece(60)})
				messages = append(messages,
					chat.Message{Seq: seq + 1, Turn: seq, Role: llm.RoleAssistant, Time: at, Calls: []llm.Call{{ID: id, Name: "memory_search", Arguments: string(query)}}},
					chat.Message{Seq: seq + 2, Turn: seq, Role: llm.RoleTool, Time: at, CallID: id, Tool: "memory_search", Text: piece(2500)})
			}
			messages = append(messages, chat.Message{Seq: int64(len(messages) + 1), Turn: seq, Role: llm.RoleAssistant, Time: at, Text: piece(1500)})
		}
		for _, m := range messages[seq-1:] {
			bytes += len(m.Text)
		}
	}
	return messages
}

// request counts a request as GPT-4o does: each message costs its role and two separators beside
// its text, a call its name and arguments and as much again.
func (e exactTokenizer) request(messages []llm.Message) (tokens int) {
	for _, m := range messages {
		tokens += 4 + e.count(m.Text)
		for _, call := range m.Calls {
			tokens += 4 + e.count(call.ID) + e.count(call.Name) + e.count(call.Arguments)
		}
		if m.CallID != "" {
			tokens += e.count(m.CallID)
		}
	}
	return tokens
}

func TestEstimateOfRequests(t *testing.T) {
	check.SkipUnderRace(t)
	e := newExactTokenizer(t)
	texts := ofEachKind(t)
	for i, name := range slices.Sorted(maps.Keys(contexts)) {
		messages := conversationOf(texts, contexts[name], int64(i))
		h := newHistory(transcript.Snapshot{Messages: messages, Next: int64(len(messages) + 1)}, DefaultPolicy().shape(1_000_000))
		s := h.view
		real := e.request(joined(renderMessages("", s)))
		by := deviation(s.cost(), real)
		t.Logf("%-32s %4d messages  %6d tokens  %6d estimated  %+.1f %%", name, len(messages), real, s.cost(), 100*by)
		if by < -0.05 || by > 0.05 {
			t.Errorf("%s: got an estimate of %d tokens, want %d: %+.1f%%", name, s.cost(), real, 100*by)
		}
	}
}
