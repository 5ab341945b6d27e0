package compactor

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/check"
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

// files returns the pictures of messages, in order.
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
	if small < chat.PictureTokens || large < chat.PictureTokens || large > chat.PictureTokens+60 {
		t.Errorf("got %d tokens for a small picture, %d for a large one", small, large)
	}
	if two := chat.TokensOf(picture(1, 1, 1)); two < 2*chat.PictureTokens || two > 2*chat.PictureTokens+80 {
		t.Errorf("got %d tokens for two pictures", two)
	}
	t.Run("a picture that is not stored, or not a person's, costs nothing", func(t *testing.T) {
		for role, file := range map[llm.Role]int64{llm.RoleUser: 0, llm.RoleAssistant: 7} {
			m := picture(1, 1000)
			m.Role, m.Attachments[0].File = role, file
			if got := chat.TokensOf(m); got > 60 || linesOf(m)[0].pictures != 0 {
				t.Errorf("%s: it costs %d tokens", role, got)
			}
		}
	})
	t.Run("the worker counts only the text", func(t *testing.T) {
		items := summarize.ItemsOf([]chat.Message{picture(1, 1000, 1000)}, 100)
		if items[0].Tokens > 80 || !strings.Contains(items[0].Text, "[image: 1-0.png, image/png, 1 kB]") {
			t.Errorf("%d tokens: %s", items[0].Tokens, items[0].Text)
		}
	})
}

func TestPicturesAreDroppedBeforeText(t *testing.T) {
	m := picture(1, 1, 1, 1)
	whole := linesOf(m)[0]
	words := whole.tokens - 3*chat.PictureTokens
	for name, c := range map[string]struct{ clipTo, pictures, tokens int }{
		"all fit":  {whole.tokens, 3, whole.tokens},
		"two fit":  {whole.tokens - 1, 2, words + 2*chat.PictureTokens},
		"one fits": {words + chat.PictureTokens, 1, words + chat.PictureTokens},
		"none do":  {words, 0, words},
	} {
		t.Run(name, func(t *testing.T) {
			if l := lineOf(m, shape{clipTo: c.clipTo}); l.pictures != c.pictures || l.tokens != c.tokens || l.text != whole.text {
				t.Errorf("%d pictures, %d tokens, %q", l.pictures, l.tokens, l.text)
			}
		})
	}
	t.Run("and so is text", func(t *testing.T) {
		m.Text = strings.Repeat("word ", 1000)
		if l := lineOf(m, shape{clipTo: 200}); l.pictures != 0 || l.tokens > 200 || !strings.Contains(l.text, "left out") {
			t.Errorf("%d pictures, %d tokens, %q", l.pictures, l.tokens, l.text)
		}
	})
}

func TestNewestPicturesAreShown(t *testing.T) {
	t.Run("dropped pictures stay dropped, and the prefix changes rarely", func(t *testing.T) {
		var lines []line
		var before []int64
		changes := 0
		for seq := int64(1); seq <= 60; seq++ {
			lines = append(lines, linesOf(picture(seq, 1000), chat.Message{Seq: 100 + seq, Role: llm.RoleAssistant, Text: "nice"})...)
			now := files(rendered("", "", lines, ""))
			if len(now) > maxPictures || now[len(now)-1] != 100*seq || seq > maxPictures && len(now) <= maxPictures/2-1 {
				t.Fatalf("after %d pictures: got %v shown", seq, now)
			}
			check.Require(t, slices.IsSorted(now), "out of order: %v", now)
			if !slices.Equal(now[:len(now)-1], before) {
				changes++
				if kept := before[len(before)-(len(now)-1):]; !slices.Equal(now[:len(now)-1], kept) {
					t.Fatalf("%v became %v", before, now)
				}
			}
			before = now
		}
		if most := 60 / (maxPictures / 2); changes == 0 || changes > most {
			t.Errorf("old messages changed %d times, want at most %d", changes, most)
		}
	})
	t.Run("up to the request's size limit", func(t *testing.T) {
		var lines []line
		for seq := int64(1); seq <= 5; seq++ {
			lines = append(lines, linesOf(picture(seq, 5_000_000))...)
		}
		check.EqualAll(t, "result", files(rendered("", "", lines, "")), []int64{400, 500})
		check.Len(t, "got an oversized picture", files(rendered("", "", linesOf(picture(1, maxPictureBytes+1)), "")), 0)
	})
}

func TestCopiesOfFirstMessagesShareTheirBudget(t *testing.T) {
	sh := shape{clipTo: 4000, maxFirst: 1000, firstKeep: 3, kept: 3}
	long := strings.Repeat("word ", 400)
	h := newHistory(transcript.Snapshot{
		First: []chat.Message{picture(1, 1000, 1000), user(2, long), user(3, long)}, Next: 5,
		Head: Head{Stack: []Compaction{{Span: Span{From: 1, To: 4}, Tokens: 10}}},
	}, sh)
	cost := func(wanted string) {
		t.Helper()
		s := h.view
		if s.headCost > sh.maxFirst+60 || strings.Count(s.headText, "word ") < sh.maxFirst/2 || !strings.Contains(s.headText, wanted) {
			t.Errorf("%d of %d tokens: %s", s.headCost, sh.maxFirst, s.headText)
		}
	}
	cost("[image: 1-0.png")
	sh.maxFirst = 300 // the window has become smaller
	h.reshape(sh)
	cost("word ")
}
