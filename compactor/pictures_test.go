package compactor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/transcript"
)

// picture returns a message with stored pictures of this many bytes each.
func picture(seq int64, sizes ...int64) chat.Message {
	m := user(seq, "look")
	for i, size := range sizes {
		m.Attachments = append(m.Attachments, chat.Attachment{
			Kind: "image", Name: fmt.Sprintf("%d-%d.png", seq, i), Type: "image/png", Size: size, File: 100*seq + int64(i),
		})
	}
	return m
}

func files(messages []llm.Message) (files []int64) {
	for _, m := range messages {
		for _, image := range m.Images {
			files = append(files, image.File)
		}
	}
	return files
}

func TestPictureCostIsConstant(t *testing.T) {
	small, large := chat.TokensOf(picture(1, 1)), chat.TokensOf(picture(1, 4<<20))
	check.That(t, small >= chat.PictureTokens && large >= chat.PictureTokens && large <= chat.PictureTokens+60,
		"got %d tokens for a small picture, %d for a large one", small, large)
	two := chat.TokensOf(picture(1, 1, 1))
	check.That(t, two >= 2*chat.PictureTokens && two <= 2*chat.PictureTokens+80, "got %d tokens for two pictures", two)
	for role, file := range map[llm.Role]int64{llm.RoleUser: 0, llm.RoleAssistant: 7} { // not stored, and not a person's
		m := picture(1, 1000)
		m.Role, m.Attachments[0].File = role, file
		check.That(t, chat.TokensOf(m) <= 60 && linesOf(m)[0].pictures == 0, "%s: it costs %d tokens", role, chat.TokensOf(m))
	}
	item := summarize.ItemsOf([]chat.Message{picture(1, 1000, 1000)}, 100)[0]
	check.Contains(t, "what the worker reads", item.Text, "[image: 1-0.png, image/png, 1 kB]")
	check.That(t, item.Tokens <= 80, "the worker counts more than the text: %d tokens", item.Tokens)
}

func TestPicturesAreDroppedBeforeText(t *testing.T) {
	m := picture(1, 1, 1, 1)
	whole := linesOf(m)[0]
	words := whole.tokens - 3*chat.PictureTokens
	for clipTo, pictures := range map[int]int{whole.tokens: 3, whole.tokens - 1: 2, words + chat.PictureTokens: 1, words: 0} {
		l := lineOf(m, shape{clipTo: clipTo})
		check.That(t, l.pictures == pictures && l.tokens == words+pictures*chat.PictureTokens && l.text == whole.text,
			"in %d tokens: %d pictures, %d tokens, %q", clipTo, l.pictures, l.tokens, l.text)
	}
	m.Text = strings.Repeat("word ", 1000)
	l := lineOf(m, shape{clipTo: 200})
	check.Contains(t, "a long text with pictures", l.text, "left out")
	check.That(t, l.pictures == 0 && l.tokens <= 200, "%d pictures, %d tokens", l.pictures, l.tokens)
}

func TestNewestPicturesAreShown(t *testing.T) {
	var lines []line
	for seq := int64(1); seq <= 60; seq++ {
		lines = append(lines, linesOf(picture(seq, 1000), chat.Message{Seq: 100 + seq, Role: llm.RoleAssistant, Text: "nice"})...)
		now := files(rendered("", "", lines, ""))
		check.Require(t, len(now) <= maxPictures && now[len(now)-1] == 100*seq && (seq <= maxPictures || len(now) >= maxPictures/2) && slices.IsSorted(now),
			"after %d pictures: got %v shown", seq, now)
	}
	lines = nil // up to the request's size limit
	for seq := int64(1); seq <= 5; seq++ {
		lines = append(lines, linesOf(picture(seq, 5_000_000))...)
	}
	check.EqualAll(t, "pictures that fit the request", files(rendered("", "", lines, "")), []int64{400, 500})
	check.Len(t, "oversized pictures", files(rendered("", "", linesOf(picture(1, maxPictureBytes+1)), "")), 0)
}

func TestCopiesOfFirstMessagesShareTheirBudget(t *testing.T) {
	sh := shape{clipTo: 4000, maxFirst: 1000, firstKeep: 3, kept: 3}
	long := strings.Repeat("word ", 400)
	h := newHistory(transcript.Snapshot{
		First: []chat.Message{picture(1, 1000, 1000), user(2, long), user(3, long)}, Next: 5,
		Head: Head{Stack: []Compaction{{Span: Span{From: 1, To: 4}, Tokens: 10}}},
	}, sh)
	for _, most := range []int{1000, 300} { // the window has become smaller
		sh.maxFirst = most
		h.reshape(sh)
		got, words := h.view.headCost, strings.Count(h.view.headText, "word ")
		check.That(t, got <= most+60 && words >= most/2, "%d of %d tokens: %s", got, most, h.view.headText)
		check.That(t, most < 1000 || strings.Contains(h.view.headText, "[image: 1-0.png"), "got no picture: %s", h.view.headText)
	}
}

// Each part of a request costs its tokens once.
func TestEverythingSentIsCountedOnce(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("harbour lantern ", 100))
	most, least := tokens.Estimate(long)+10, tokens.Estimate(long)-10
	plain := chat.Message{Role: llm.RoleUser, Author: "Ada", Text: "hi"}
	call := func(name, arguments string) chat.Message {
		return chat.Message{Role: llm.RoleAssistant, Calls: []llm.Call{{ID: "a", Name: name, Arguments: arguments}}}
	}
	tool := func(name, description, parameters string) []llm.Tool {
		return []llm.Tool{{Name: name, Description: description, Parameters: json.RawMessage(parameters)}}
	}
	shown := func(m chat.Message) int { return lineOf(m, wide).tokens }
	for part, cost := range map[string]int{
		"a message":           shown(chat.Message{Role: llm.RoleUser, Author: "Ada", Text: long}) - shown(plain),
		"a tool's name":       shown(call(long, "{}")) - shown(call("", "{}")),
		"a call's arguments":  shown(call("look", `{"q":"`+long+`"}`)) - shown(call("look", `{"q":""}`)),
		"a result":            shown(resultTo("a", long)) - shown(resultTo("a", "")),
		"reasoning":           shown(chat.Message{Role: llm.RoleAssistant, Text: "so", Native: json.RawMessage(`{"r":"` + long + `"}`)}) - shown(chat.Message{Role: llm.RoleAssistant, Text: "so", Native: json.RawMessage(`{"r":""}`)}),
		"a summary":           Compaction{Kind: Leaf, Text: long}.Cost() - Compaction{Kind: Leaf}.Cost(),
		"the system prompt":   FrameCost(long, nil) - FrameCost("", nil),
		"a tool's definition": FrameCost("", tool("look", long, "{}")) - FrameCost("", tool("look", "", "{}")),
		"its parameters":      FrameCost("", tool("look", "", `{"q":"`+long+`"}`)) - FrameCost("", tool("look", "", `{"q":""}`)),
	} {
		check.That(t, cost >= least && cost <= most, "%s of %d tokens: got a cost of %d", part, tokens.Estimate(long), cost)
	}
}
