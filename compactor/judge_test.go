package compactor_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/llm"
)

// sample is a span with a good summary.
type sample struct {
	lang, summary string
	messages      []chat.Message
}

func readJudgeFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../bench/testdata/judge/" + name)
	check.NoError(t, err)
	return strings.TrimSpace(string(text))
}

func goodSamples(t *testing.T) (all []sample) {
	for block := range strings.SplitSeq(readJudgeFile(t, "good.txt"), "\n\n") {
		var s sample
		for i, line := range strings.Split(block, "\n") {
			name, text, _ := strings.Cut(line, ": ")
			switch {
			case i == 0:
				s.lang = line
			case strings.HasPrefix(line, "= "):
				s.summary = line[2:]
			default:
				s.messages = append(s.messages, said(i, name, text))
			}
		}
		all = append(all, s)
	}
	return all
}

func said(seq int, name, text string) chat.Message {
	return chat.Message{
		Seq: int64(seq), Turn: int64(seq), Role: llm.RoleUser, Author: name, AuthorID: "u-" + name, Text: text,
		Time: time.Date(2026, 3, 2, 9, seq%60, 0, 0, time.UTC),
	}
}

// badTexts are texts that summarize nothing, by language.
func badTexts(t *testing.T) map[string][]string {
	bad := map[string][]string{}
	for line := range strings.SplitSeq(readJudgeFile(t, "bad.txt"), "\n") {
		lang, text, _ := strings.Cut(line, "\t")
		bad[lang] = append(bad[lang], strings.ReplaceAll(text, `\n`, "\n"))
	}
	return bad
}

func TestJudgeSeparatesGoodFromBad(t *testing.T) {
	check.SkipUnderRace(t)
	samples, bad := goodSamples(t), badTexts(t)
	spans := map[string][][]chat.Message{}
	refused := 0
	for _, s := range samples {
		spans[s.lang] = append(spans[s.lang], s.messages)
		if err := summarize.Judge(s.summary, s.messages); err != nil {
			refused++
			t.Logf("refused: %s %q: %v", s.lang, s.summary, err)
		}
	}
	texts, accepted := 0, 0
	for lang, list := range bad {
		var whole []chat.Message // all spans of a language in one, which has the most words
		for _, messages := range spans[lang] {
			whole = append(whole, messages...)
		}
		for _, text := range list {
			texts++
			for _, messages := range append(spans[lang], whole) {
				if summarize.Judge(text, messages) == nil {
					accepted++
					t.Logf("accepted: %s %q of %d messages beginning %q", lang, text, len(messages), messages[0].Text)
					break
				}
			}
		}
	}
	t.Logf("%d of %d good refused, %d of %d bad accepted", refused, len(samples), accepted, texts)
	if len(samples) < 100 || texts < 200 || refused > 1 || accepted > 2 {
		t.Errorf("got %d of %d good summaries rejected, %d of %d bad texts accepted", refused, len(samples), accepted, texts)
	}
}

func TestJudgeRejectsUnrelatedSummary(t *testing.T) {
	check.SkipUnderRace(t)
	samples := goodSamples(t)
	accepted, pairs := 0, 0
	for _, s := range samples {
		for _, other := range samples {
			if s.summary == other.summary || s.lang != other.lang {
				continue
			}
			pairs++
			if summarize.Judge(other.summary, s.messages) == nil {
				accepted++
				t.Logf("accepted: %s %q for %q", s.lang, other.summary, s.messages[0].Text)
			}
		}
	}
	t.Logf("%d of %d", accepted, pairs)
	if accepted*100 > pairs {
		t.Errorf("got %d of %d unrelated summaries accepted", accepted, pairs)
	}
}

func TestJudgeRejectsEchoesAndShortTexts(t *testing.T) {
	samples, whole := goodSamples(t), map[string][]chat.Message{}
	for _, s := range samples {
		whole[s.lang] = append(whole[s.lang], s.messages...)
	}
	for lang, messages := range whole {
		var lines, choice []string
		for i, m := range messages {
			lines = append(lines, m.Author+": "+m.Text)
			if i%5 == 2 {
				choice = append(choice, m.Author+": "+m.Text)
			}
		}
		n := len(messages)
		for what, text := range map[string]string{
			"its last message":                  messages[n-1].Text,
			"its last message, with the name":   lines[n-1],
			"its beginning":                     strings.Join(lines[:n/3], "\n"),
			"its end":                           strings.Join(lines[n-n/3:], "\n"),
			"its end, without names":            messages[n-3].Text + " " + messages[n-2].Text + " " + messages[n-1].Text,
			"its labels":                        `<message id="1" time="2026-03-02 09:01" from="` + messages[0].Author + `">` + messages[0].Text + "</message>",
			"a header of the chat":              "[#1 2026-03-02 09:01 " + messages[0].Author + "] " + messages[0].Text,
			"the names of two who speak, alone": messages[0].Author + ", " + messages[1].Author + ".",
		} {
			if summarize.Judge(text, messages) == nil {
				t.Errorf("%s: span of %d messages: %s accepted as the summary: %q", lang, n, what, text)
			}
		}
		if err := summarize.Judge(strings.Join(choice, "\n"), messages); err != nil {
			t.Errorf("%s: a selection of messages is rejected: %v", lang, err)
		}
	}
}
