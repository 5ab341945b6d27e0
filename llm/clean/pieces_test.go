package clean

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"cairn/testkit/check"
	"cairn/testkit/wordstest"
)

// texts are all texts of the tests, in the same order each time.
func texts() (all []string) {
	for _, c := range removed {
		all = append(all, c.text)
	}
	for text := range unreadable {
		all = append(all, text)
	}
	all = append(all, kept...)
	for _, c := range callTexts {
		all = append(all, c.text)
	}
	const longest = 2000
	all = append(all, slices.DeleteFunc(wordstest.Texts(), func(text string) bool { return len(text) > longest })...)
	slices.Sort(all) // some of them are in maps
	return all
}

// inPieces cleans a text in random pieces, and checks that nothing is shown that is taken back later.
func inPieces(t *testing.T, f *Filter, text string, seed uint64) string {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	shown := ""
	for rest := text; rest != ""; {
		n := min(len(rest), 1+random.IntN(1+random.IntN(9)))
		shown += f.Next(rest[:n])
		rest = rest[n:]
	}
	whole := f.End()
	if !f.TakenBack {
		check.HasPrefix(t, fmt.Sprintf("%q", text), whole, strings.TrimRightFunc(shown, unicode.IsSpace))
		check.Equal(t, fmt.Sprintf("shown of %q", text), strings.TrimSpace(shown+f.Rest()), strings.TrimSpace(whole))
	}
	return whole
}

func TestPiecesAndWholeTextsGiveTheSame(t *testing.T) {
	all := texts()
	random := rand.New(rand.NewPCG(7, 7))
	for range 150 {
		all = append(all, all[random.IntN(len(all))]+[]string{"", "\n", " "}[random.IntN(3)]+all[random.IntN(len(all))])
	}
	for i, text := range all {
		whole := newFilter()
		whole.Next(text)
		want := whole.End()
		for seed := range uint64(4) {
			f := newFilter()
			check.Equal(t, fmt.Sprintf("%q in pieces", text), inPieces(t, f, text, seed+uint64(i)), want)
			check.EqualAll(t, fmt.Sprintf("calls of %q", text), f.Calls, whole.Calls)
			check.Equal(t, fmt.Sprintf("reasoning of %q", text), f.Reasoned, whole.Reasoned)
		}
	}
}

func FuzzClean(f *testing.F) {
	for i, text := range texts() {
		f.Add(text, uint64(i))
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		whole := newFilter()
		whole.Next(text)
		want := whole.End()
		check.That(t, len(want) <= len(text)+2*strings.Count(text, "<|message|>"), "%q became longer: %q", text, want)
		if f := newFilter(); inPieces(t, f, text, seed) != want || len(f.Calls) != len(whole.Calls) {
			t.Errorf("%q: in pieces %q, whole %q", text, f.Text(), want)
		}
		for _, call := range whole.Calls {
			check.That(t, call.Name != "", "a call of %q has no name", text)
		}
	})
}

// Time must not grow faster than the text, whatever the pieces.
func TestLargeTextsAreCheap(t *testing.T) {
	check.SkipUnderRace(t)
	const size = 1 << 18
	for name, unit := range map[string]string{
		"words": "The tea is ready. ", "marks": "<", "brackets": "[a", "an open thought": "<think>hm ", "mentions": "a <|im_end|> b\n",
		"ends of thoughts": "<think> a </think> b ", "backticks": "`a ", "fences": "```\n", "white space": " \n", "objects": `{"name": `,
		"blocks": "\n<now>\n", "doubtful thoughts": "A.\n<think> x\n", "calls": "\n<tool_call>", "lists": "[[", "names": "lookup(", "tokens": "<|a|>",
		"triangles": "◁", "elements": "<invoke name=\"a\">", "arguments": "<function=lookup><parameter=a>b", "arg keys": "<tool_call>lookup<arg_key>a</arg_key><arg_value>b",
		"nested objects": `{"function":`, "lists of calls": `[{"tool_calls":`, "Python": "[lookup(word=[", "roles": "a.<|im_end|>\nuse", "bare": "analysisX", "headers": "<|start|>assistant ", "elements of a tool": "A.\n<lookup>x", "actions": "A.\nAction: lookup\nAction Input: x\n", "flowers": "✿FUNCTION✿: now ", "closed elements": "<lookup>x</lookup>",
		"announced thoughts": "**Thinking:** x\n", "broken characters": "\xff", "escapes": "\x1b[", "roles of turns": "a.\n<|user|> B",
		"ends of answers": "<p>a</answer>", "tokens in a line": "a.<|im_end|> b {", "headers of messages": "a.\n[#1 14:05 Ada] b\n", "misspelt ends": "<think>\n</ think>\n", "calls in a thought": "<think>\n<tool_call>{\n",
		"citations": "<co>x ", "closed blocks": "<now>\n</now>\nx\n",
	} {
		text := strings.Repeat(unit, size/len(unit))
		for _, piece := range []int{len(text), 3} {
			begin := time.Now()
			f := newFilter()
			for rest := text; rest != ""; {
				n := min(piece, len(rest))
				f.Next(rest[:n])
				rest = rest[n:]
			}
			f.End()
			took := time.Since(begin)
			t.Logf("%s in pieces of %d: %v", name, piece, took.Round(time.Millisecond))
			check.That(t, took < 2*time.Second, "%s in pieces of %d bytes took %v", name, piece, took)
		}
	}
}
