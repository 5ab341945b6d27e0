package compactor

import (
	"maps"
	"slices"
	"testing"

	"cairn/internal/check"
	"cairn/internal/tokens"

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
