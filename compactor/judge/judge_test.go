package judge

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/words"
	"cairn/testkit/chattest"
	"cairn/testkit/check"
	"cairn/transcript"
)

var (
	monday  = chattest.Monday
	said    = chattest.Messages
	harbour = chattest.Harbour
)

func rowOf(text string) transcript.Summary {
	return transcript.Summary{Kind: transcript.Leaf, Span: transcript.Span{From: 1, To: 9}, Text: text, FromTime: monday}
}

// sample is a span with a good summary.
type sample struct {
	lang, summary string
	messages      []chat.Message
}

func readJudgeFile(t *testing.T, name string) string {
	t.Helper()
	return strings.TrimSpace(string(check.Must(os.ReadFile("../../bench/testdata/judge/" + name))(t)))
}

func goodSamples(t *testing.T) (all []sample) {
	for block := range strings.SplitSeq(readJudgeFile(t, "good.txt"), "\n\n") {
		lines := strings.Split(block, "\n")
		at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "= ") })
		all = append(all, sample{lines[0], lines[at][2:], said(slices.Delete(lines, at, at+1)[1:]...)})
	}
	return all
}

// fewSamples is more than the messages of the languages that have one or two samples.
const fewSamples = 10

// judged returns why a text is refused as the summary of messages.
func judged(text string, messages []chat.Message) error {
	items := summarize.ItemsOf(messages, summarize.MaxMessage)
	judge := Of(items)
	if why := judge.Refuses(judge.TextOf(text), "", "", MaxTokens(items)); why != "" {
		return why
	}
	return nil
}

// The judge refuses texts that summarize nothing, and summaries of other spans.
func TestJudgeSeparatesGoodFromBad(t *testing.T) {
	check.SkipUnderRace(t)
	samples := goodSamples(t)
	spans := map[string][][]chat.Message{}
	var refused, unrelated, pairs, texts, accepted int
	for i, s := range samples {
		spans[s.lang] = append(spans[s.lang], s.messages)
		if err := judged(s.summary, s.messages); err != nil {
			refused++
			t.Logf("refused: %s %q: %v", s.lang, s.summary, err)
		}
		for _, other := range slices.Concat(samples[max(i-2, 0):i], samples[i+1:min(i+3, len(samples))]) {
			if s.lang != other.lang {
				continue
			}
			pairs++
			if judged(other.summary, s.messages) == nil {
				unrelated++
				t.Logf("accepted: %s %q for %q", s.lang, other.summary, s.messages[0].Text)
			}
		}
	}
	for line := range strings.SplitSeq(readJudgeFile(t, "bad.txt"), "\n") {
		lang, text, _ := strings.Cut(line, "\t")
		list := spans[lang]
		whole := slices.Concat(list[len(list)/2:]...) // which has the most words
		texts++
		for _, messages := range [][]chat.Message{list[texts%len(list)], whole} {
			if judged(strings.ReplaceAll(text, `\n`, "\n"), messages) == nil {
				accepted++
				t.Logf("accepted: %s %q of %d messages beginning %q", lang, text, len(messages), messages[0].Text)
			}
		}
	}
	check.That(t, len(samples) >= 100 && texts >= 200 && pairs >= 250 && refused <= 1 && accepted <= 2 && unrelated*100 <= pairs,
		"got %d of %d good summaries rejected, %d of %d bad texts accepted, %d of %d unrelated ones", refused, len(samples), accepted, texts, unrelated, pairs)
}

func TestJudgeRejectsEchoesAndShortTexts(t *testing.T) {
	whole := map[string][]chat.Message{}
	for _, s := range goodSamples(t) {
		whole[s.lang] = append(whole[s.lang], s.messages...)
	}
	for lang, messages := range whole {
		if len(messages) < fewSamples {
			continue // so few messages may be repeated
		}
		var lines, choice []string
		for i, m := range messages {
			lines = append(lines, m.Author+": "+m.Text)
			if i%5 == 2 {
				choice = append(choice, lines[i])
			}
		}
		n := len(messages)
		first := messages[0]
		for what, text := range map[string]string{
			"its last message":                  messages[n-1].Text,
			"its last message, with the name":   lines[n-1],
			"its beginning":                     strings.Join(lines[:n/3], "\n"),
			"its end":                           strings.Join(lines[n-n/3:], "\n"),
			"its end, without names":            messages[n-3].Text + " " + messages[n-2].Text + " " + messages[n-1].Text,
			"its labels":                        `<message id="1" time="2026-03-02 09:01" from="` + first.Author + `">` + first.Text + "</message>",
			"a header of the chat":              "[#1 2026-03-02 09:01 " + first.Author + "] " + first.Text,
			"the names of two who speak, alone": first.Author + ", " + messages[1].Author + ".",
		} {
			check.That(t, judged(text, messages) != nil, "%s: span of %d messages: %s accepted as the summary: %q", lang, n, what, text)
		}
		err := judged(strings.Join(choice, "\n"), messages)
		check.That(t, err == nil, "%s: a selection of messages is rejected: %v", lang, err)
	}
}

// The numbers of messages, which the prompt asks for, are in every span.
func TestJudgeIgnoresCitations(t *testing.T) {
	texts := map[string][2]string{}
	spans := map[string][]chat.Message{} // by language: summaries of one half of the samples, and of the other
	for i, s := range goodSamples(t) {
		both := texts[s.lang]
		both[i%2] += s.summary + "\n"
		if i%2 == 0 {
			for _, m := range s.messages {
				m.Seq = int64(101 + len(spans[s.lang]))
				spans[s.lang] = append(spans[s.lang], m)
			}
		}
		texts[s.lang] = both
	}
	for lang, messages := range spans {
		if len(messages) < fewSamples {
			continue
		}
		for _, form := range []string{" (#%d, #%d)", "（#%d、#%d）", " [#%d–#%d]"} {
			cited := func(sentences []string) string {
				var b strings.Builder
				for i, sentence := range sentences {
					fmt.Fprintf(&b, "- %s"+form+"\n", sentence, 101+2*i%len(messages), 101+(2*i+1)%len(messages))
				}
				return b.String()
			}
			err := judged(cited(words.Sentences(texts[lang][0])), messages)
			check.That(t, err == nil, "%s: a good summary with%s is rejected: %v", lang, form, err)
			check.That(t, judged(cited(words.Sentences(texts[lang][1])), messages) != nil, "%s: a summary of other messages with%s is accepted", lang, form)
			var end []string
			for _, m := range messages[len(messages)/2:] {
				end = append(end, m.Author+": "+m.Text)
			}
			check.That(t, judged(cited(end), messages) != nil, "%s: the end of the span with%s is accepted as its summary", lang, form)
		}
	}
}

// Small models write JSON where none is asked for, and other arguments than the tool has.
func TestSummaryIsTakenOutOfJSON(t *testing.T) {
	const text = "Zoë took notes 1 to 9."
	for _, answer := range []string{
		text, `{"summary": "Zo\u00eb took notes 1 to 9."}`, "```json\n{\"summary\": \"" + text + "\"}\n```",
		`{"text": "` + text + `"}`, `{"summary": "` + text + `", "from": 1}`, `"` + text + `"`,
		"<thought>Who is Zoë?</thought>" + text + "<|im_end|>\n<|im_start|>user", "[Compaction Summary] messages #1 to #9, 3 May 2026\n" + text,
		`{"summary": "[THINK]Who is Zoë?[/THINK]` + text + `<|eot_id|>"}`, text + "\n\n<now>\ntime: 14:05\n</now>",
		`{"summary": "<think>Who is Zoë?</think>` + text + `"}`, `{"summary": "Who is Zoë?</think>\n` + text + `"}`,
	} {
		check.Equal(t, answer, Of(nil).TextOf(answer), text)
	}
	check.Equal(t, "an empty object", Of(nil).TextOf("{}"), "")
	check.Equal(t, "words in brackets", Of(nil).TextOf("[1 to 9] "+text), "[1 to 9] "+text)
}

func TestRefusalsHaveReasons(t *testing.T) {
	for why, texts := range map[Refusal][]string{
		RefusedEmpty:    {"", " \n\t", "<think>I should sum up", "<think>I should sum up</think>", "[thinking] I should sum up [/thinking]", "I should sum up</think>"},
		refusedNothing:  {"...", "Summary unavailable", "[summary]"},
		RefusedDeclined: {"I'm unable to help with that request.", "Please provide the transcript you would like me to summarize.", "抱歉，我无法总结这段对话。"},
		refusedTools:    {`summarize({"summary": "Ada took notes."})`, `<tool_call>{"name": "summarize", "arguments": {"summary": "x"}}</tool_call>`},
	} {
		for _, text := range texts {
			check.Error(t, judged(text, harbour), why)
		}
	}
}
