package compactor_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/words"
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
	check.That(t, accepted*100 <= pairs, "got %d of %d unrelated summaries accepted", accepted, pairs)
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

// TestJudgeIgnoresCitations: the numbers of messages, which the prompt asks for, are in every span.
func TestJudgeIgnoresCitations(t *testing.T) {
	texts, spans := map[string][2]string{}, map[string][]chat.Message{} // by language: summaries of one half of the samples, and of the other
	for i, s := range goodSamples(t) {
		both := texts[s.lang]
		if both[i%2] += s.summary + "\n"; i%2 == 0 {
			for _, m := range s.messages {
				m.Seq = int64(101 + len(spans[s.lang]))
				m.Turn = m.Seq
				spans[s.lang] = append(spans[s.lang], m)
			}
		}
		texts[s.lang] = both
	}
	for lang, messages := range spans {
		for _, form := range []string{" (#%d, #%d)", "（#%d、#%d）", " [#%d–#%d]"} {
			cited := func(text string) string {
				var b strings.Builder
				for i, sentence := range words.Sentences(text) {
					fmt.Fprintf(&b, "- %s"+form+"\n", sentence, 101+2*i%len(messages), 101+(2*i+1)%len(messages))
				}
				return b.String()
			}
			if err := summarize.Judge(cited(texts[lang][0]), messages); err != nil {
				t.Errorf("%s: a good summary with%s is rejected: %v", lang, form, err)
			}
			if summarize.Judge(cited(texts[lang][1]), messages) == nil {
				t.Errorf("%s: a summary of other messages with%s is accepted", lang, form)
			}
			var lines strings.Builder
			for _, m := range messages[len(messages)/2:] {
				fmt.Fprintf(&lines, "%s: %s"+form+"\n", m.Author, m.Text, m.Seq, m.Seq)
			}
			if summarize.Judge(lines.String(), messages) == nil {
				t.Errorf("%s: the end of the span with%s is accepted as its summary", lang, form)
			}
		}
	}
}
