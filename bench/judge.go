package main

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/internal/tokens"

	"cairn/chat"
	"cairn/compactor/judge"
	"cairn/compactor/summarize"
	"cairn/internal/words"
	"cairn/simulate"
)

const judgeHelp = `Judge cuts each recording of DIR into spans of 10, 40 and 160 messages and judges good and bad
summaries of each. At most one in a hundred of each may be misjudged.

Good ones have a fifth of the span's tokens: the extractive summary; a sentence of each message that
has a name or a number, if there are three; the questions that the span alone answers, with their
answers, if there are five. Bad ones are the texts of bench/testdata/judge/bad.txt, in 13 languages;
the extractive summary of another recording; the span's last message; and a part of the span itself.

It also judges single lines, true and false, in 12 languages, each alone as the summary of its span: bench/testdata/judge/lines,
or the files of --lines. A line is dropped if messages contradict it, marked if no message supports it, moved if it rests on
other messages than it cites, or kept. At most one true line in a hundred may be dropped, and 95 of 100 lines with a false
number, amount, date, speaker or citation must not be kept; for speaker, number, amount and date, moved is kept.

` + recordingsHelp

//go:embed testdata/judge/bad.txt
var badTexts string

func newJudge() *benchmark {
	var lines []string
	b := newBenchmark("judge DIR", "Measure how well good summaries are distinguished from bad ones", judgeHelp, func(ctx context.Context, s *screen, dirs []string) (result, error) {
		return measureJudge(ctx, s, dirs[0], lines)
	})
	b.Flags().StringSliceVar(&lines, "lines", nil, "`FILES` or folders with lines to judge, instead of the built-in ones")
	return b
}

// verdicts is the result.
type verdicts struct {
	Kinds           []verdictsOf   `json:"kinds"`
	TrueLinesMarked float64        `json:"true_lines_marked_percent"`
	LineClasses     []lineVerdicts `json:"line_classes"`
	LineLanguages   []lineVerdicts `json:"line_languages"`
	targets
}

// verdictsOf is the result for one kind of text.
type verdictsOf struct {
	Kind    string `json:"kind"`
	Good    bool   `json:"good"`
	Texts   int    `json:"texts"`
	Wrong   int    `json:"wrong"`
	Lines   int    `json:"lines"`
	Dropped int    `json:"dropped"`           // lines that messages contradict, of the good texts
	Example string `json:"example,omitempty"` // a text that was misjudged
}

func (v *verdicts) judge(recording, kind string, good bool, text string, items []summarize.Item, j *judge.Judge) {
	at := slices.IndexFunc(v.Kinds, func(k verdictsOf) bool { return k.Kind == kind })
	if at < 0 {
		at = len(v.Kinds)
		v.Kinds = append(v.Kinds, verdictsOf{Kind: kind, Good: good})
	}
	k := &v.Kinds[at]
	k.Texts++
	if why := j.Refuses(j.TextOf(text), "", "", judge.MaxTokens(items)); (why == "") != good {
		k.Wrong++
		k.Example = fmt.Sprintf("%s, %d messages: %.200q (%v)", recording, len(items), text, why)
	}
	if !good {
		return
	}
	checked := j.Check(text)
	k.Lines += len(checked.Lines) + len(checked.Wrong)
	k.Dropped += len(checked.Wrong)
	if len(checked.Wrong) > 0 {
		k.Example = fmt.Sprintf("%s, %d messages: dropped %s", recording, len(items), checked.Wrong[0])
	}
}

// share returns how many of the good, or of the bad texts were misjudged, in percent.
func (v verdicts) share(good bool) float64 {
	texts := 0
	wrong := 0
	for _, k := range v.Kinds {
		if k.Good == good {
			texts = texts + k.Texts
			wrong = wrong + k.Wrong
		}
	}
	return 100 * float64(wrong) / float64(max(texts, 1))
}

// linesDropped returns how many lines of the good texts the judge drops, in percent.
func (v verdicts) linesDropped() float64 {
	lines := 0
	dropped := 0
	for _, k := range v.Kinds {
		lines += k.Lines
		dropped += k.Dropped
	}
	return percent(dropped, lines)
}

func measureJudge(ctx context.Context, s *screen, dir string, lines []string) (v verdicts, err error) {
	sets, err := readLineSets(lines)
	if err != nil {
		return v, err
	}
	all, err := readRecordings(dir)
	if err != nil {
		return v, err
	}
	v, err = judgeRecordings(ctx, s, all)
	if err != nil {
		return v, err
	}
	v.judgeLines(sets)
	return v, nil
}

func judgeRecordings(ctx context.Context, s *screen, all []recording) (v verdicts, err error) {
	for i, r := range all {
		other := all[(i+1)%len(all)].messages()
		said := r.messages()
		for _, size := range []int{10, 40, 160} {
			for from := 0; from+size <= len(said); from += size {
				if ctx.Err() != nil {
					return v, ctx.Err()
				}
				s.progress("%s: %d of %d messages, in spans of %d", r.name, from, len(said), size)
				var foreign []chat.Message
				if i+1 < len(all) || i > 0 {
					begin := from % max(len(other)-size, 1)
					foreign = other[begin:min(begin+size, len(other))]
				}
				v.judgeSpan(r, said[from:from+size], foreign)
			}
		}
	}
	v.Targets = []goal{
		atMost("good texts refused, percent", v.share(true), 1),
		atMost("bad texts accepted, percent", v.share(false), 1),
		atMost("lines of good texts dropped, percent", v.linesDropped(), 1),
	}
	return v, nil
}

// judgeSpan generates the texts for a span and judges them.
func (v *verdicts) judgeSpan(r recording, span, foreign []chat.Message) {
	items := summarize.ItemsOf(span, summarize.MaxMessage)
	tokens := 0
	for _, m := range span {
		tokens += chat.TokensOf(m)
	}
	j := judge.Of(items)
	good := func(kind, text string) {
		if text != "" {
			v.judge(r.name, kind, true, text, items, j)
		}
	}
	bad := func(kind, text string) { v.judge(r.name, kind, false, text, items, j) }
	good("extractive summary", summarize.Extract(span, tokens/5, 0, "").Text)
	good("sentences with names", namedSentences(span, tokens/5))
	good("questions and answers", r.answered(span[0].Seq, span[len(span)-1].Seq))
	for line := range strings.SplitSeq(strings.TrimSpace(badTexts), "\n") {
		_, text, _ := strings.Cut(line, "\t")
		bad("no summary of anything", strings.ReplaceAll(text, `\n`, "\n"))
	}
	if len(foreign) > 0 {
		bad("summary of another recording", summarize.Extract(foreign, tokens/5, 0, "").Text)
	}
	bad("the last message", span[len(span)-1].Text)
	var piece []string
	for _, m := range span[len(span)/2 : len(span)/2+len(span)/5] {
		piece = append(piece, m.Author+": "+m.Text)
	}
	bad("a piece as it is", strings.Join(piece, "\n"))
}

// messages returns the messages of the recording in their stored form.
func (r recording) messages() (all []chat.Message) {
	for _, m := range simulate.FromFile(r.name, r.said, "").Messages {
		all = append(all, m.Message)
	}
	return all
}

// namedSentences returns the longest sentence of each message that contains a name or a number, up
// to n tokens in total; empty if there are fewer than three.
func namedSentences(span []chat.Message, n int) string {
	var b strings.Builder
	lines := 0
	for _, m := range span {
		longest := ""
		for _, sentence := range words.Sentences(m.Text) {
			if len(sentence) > len(longest) && hasName(sentence) {
				longest = sentence
			}
		}
		line := m.Author + " said: " + longest + "\n"
		if longest == "" || tokens.Estimate(b.String()+line) > n {
			continue
		}
		b.WriteString(line)
		lines++
	}
	if lines < 3 {
		return ""
	}
	return b.String()
}

// hasName reports whether a sentence contains a name or a number after its first word.
func hasName(sentence string) bool {
	_, rest, _ := strings.Cut(sentence, " ")
	for word := range strings.FieldsSeq(rest) {
		first, _ := utf8.DecodeRuneInString(word)
		if unicode.IsDigit(first) || unicode.IsUpper(first) && word != "I" && !strings.HasPrefix(word, "I'") {
			return true
		}
	}
	return false
}

// answered returns the questions that a span answers on its own, with their answers; empty if there
// are fewer than five.
func (r recording) answered(from, to int64) string {
	var lines []string
	for _, q := range r.asked {
		if q.Category != simulate.NoAnswer && len(q.seqs) > 0 && q.seqs[0] >= from && q.seqs[len(q.seqs)-1] <= to {
			lines = append(lines, q.Text+" "+q.AnswerText())
		}
	}
	if len(lines) < 5 {
		return ""
	}
	return strings.Join(lines, "\n")
}
