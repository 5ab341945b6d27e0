package tokens

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"cairn/testkit/check"
	"cairn/testkit/wordstest"

	"github.com/tiktoken-go/tokenizer"
)

// samples are texts of one kind each, written for this test or once generated.
func samples(t check.Tester) map[string]string {
	all := map[string]string{}
	for _, file := range check.Must(filepath.Glob("testdata/*.txt"))(t) {
		all[strings.TrimSuffix(filepath.Base(file), ".txt")] = string(check.Must(os.ReadFile(file))(t))
	}
	return all
}

func TestEstimate(t *testing.T) {
	// Too low an estimate would overflow the windows of people who write one kind of text.
	codec := check.Must(tokenizer.Get(tokenizer.O200kBase))(t) // GPT-4o's
	for kind, text := range samples(t) {
		by := float64(Estimate(text))/float64(check.Must(codec.Count(text))(t)) - 1
		check.That(t, by >= -0.12 && by <= 0.25, "%s: got an error of %+.1f%%", kind, 100*by)
	}
	check.Equal(t, "estimate of an empty text", Estimate(""), 0)
	for _, text := range []string{" ", "\n", "a", ".", "\xff", "猫"} {
		check.That(t, Estimate(text) >= 1, "Estimate(%q) = %d", text, Estimate(text))
	}
	for kind, per := range map[string]float64{"base64": 0.64, "hex": 0.54} {
		text := samples(t)[kind]
		check.That(t, float64(Estimate(text)) >= per*float64(len(text)), "%s: %d for %d characters", kind, Estimate(text), len(text))
	}
	costs := func(claim, text string, least, most int) {
		t.Helper()
		check.That(t, Estimate(text) >= least && Estimate(text) <= most, "%s: got %d", claim, Estimate(text))
	}
	costs("a thousand Han cost at least 600", strings.Repeat("我", 1000), 600, 2000)
	costs("long words are no data", strings.Repeat("donaudampfschifffahrt", 10), 1, 70)
	costs("a number does not include the blank before it", "1 2 3 4", Estimate("a b c d")+2, 100)
	costs("a sign between two words joins the next word", "fmt.Errorf.Wrap.Unwrap", 1, Estimate("fmt . Errorf . Wrap . Unwrap")-1)
	text := samples(t)["English"] + samples(t)["Chinese"]
	check.Equal(t, "allocations", testing.AllocsPerRun(10, func() { Estimate(text) }), 0)
}

func TestClip(t *testing.T) {
	check.SkipUnderRace(t)
	english := samples(t)["English"]
	check.Equal(t, "text clipped to its own size", Clip(english, Estimate(english)), english)
	check.Equal(t, "text clipped to nothing", Clip(english, 0)+Clip(english, -5), "")
	small := Clip(english, 6)
	check.That(t, small != "" && strings.HasPrefix(english, small), "a small budget keeps the beginning: got %q", small)
	// Both ends are kept, and the line between counts the removed characters.
	text := "HEAD" + strings.Repeat(" word", 5000) + " TAIL"
	got := Clip(text, 200)
	head, rest, _ := strings.Cut(got, "\n[… ")
	count, tail, ok := strings.Cut(rest, " characters left out …]\n")
	check.Require(t, ok && strings.HasPrefix(head, "HEAD") && strings.HasSuffix(tail, "TAIL"), "got %q", got)
	check.Equal(t, "removed characters", count, fmt.Sprint(len(text)-len(head)-len(tail)))
	check.That(t, Estimate(got) <= 200 && Estimate(got) >= 170, "got %d tokens, want at most 200", Estimate(got))
	for name, unit := range map[string]string{"letters": "a", "blanks": " ", "accents": "\u0301", "Han": "猫", "joined emoji": "👩‍💻", "invalid bytes": "\xff", "base64": "QmFzZTY0c3RyaW5n9"} {
		t.Run("much on one line is clipped: "+name, func(t *testing.T) { checkClip(t, strings.Repeat(unit, 1<<18/len(unit)), 500) })
	}
}

func checkClip(t *testing.T, text string, cost int) {
	t.Helper()
	got := Clip(text, cost)
	n := Estimate(got)
	check.That(t, n <= max(cost, 0), "Clip(%.40q, %d) costs %d: %.200q", text, cost, n, got)
	check.That(t, utf8.ValidString(got), "Clip(%.40q, %d) is no valid UTF-8: %.200q", text, cost, got)
	check.That(t, got != "" || cost < 30 || text == "", "Clip(%.40q, %d) left nothing", text, cost)
}

func FuzzClip(f *testing.F) {
	for _, text := range samples(f) {
		f.Add(text, 40)
	}
	f.Add("\xff\xe7\x8c", 1)
	f.Add(strings.Repeat("👩‍💻", 90), -1)
	for _, text := range wordstest.Texts() {
		f.Add(text, 30)
	}
	f.Fuzz(checkClip)
}
