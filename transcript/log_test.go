package transcript_test

import (
	"slices"
	"testing"

	"cairn/internal/check"
	"cairn/transcript"

	"pgregory.net/rapid"
)

// TestLog compares a Log with a plain slice through random changes. None changes a log that was
// there before.
func TestLog(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var l, older transcript.Log
		var was []transcript.Message
		var plain, out []transcript.Message
		next := int64(1)
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			from := rapid.Int64Range(1, next).Draw(rt, "from")
			sp := transcript.Span{From: from, To: rapid.Int64Range(from, next+3).Draw(rt, "to")}
			switch rapid.IntRange(0, 3).Draw(rt, "step") {
			case 0, 1:
				var more []transcript.Message
				for range rapid.IntRange(0, 150).Draw(rt, "appended") {
					more = append(more, transcript.Message{Seq: next})
					next++
				}
				l, plain = l.Append(more...), append(plain, more...)
			case 2:
				l = l.Without(sp)
				out = append(out, slices.DeleteFunc(slices.Clone(plain), func(m transcript.Message) bool { return !sp.Covers(m.Seq) })...)
				plain = slices.DeleteFunc(slices.Clone(plain), func(m transcript.Message) bool { return sp.Covers(m.Seq) })
			case 3:
				slices.SortFunc(out, bySeq)
				l = l.Insert(out)
				plain = append(plain, out...)
				slices.SortFunc(plain, bySeq)
				out = nil
			}
			holds(rt, l, plain, sp)
			holds(rt, older, was, sp)
			if rapid.Bool().Draw(rt, "go on from the older one") {
				l, plain, out = older, slices.Clone(was), nil
			}
			older, was = l, slices.Clone(plain)
		}
	})
}

func bySeq(a, b transcript.Message) int { return int(a.Seq - b.Seq) }

func holds(rt *rapid.T, l transcript.Log, plain []transcript.Message, sp transcript.Span) {
	if !slices.Equal(l, plain) {
		rt.Fatalf("got a log of %d messages\n%v\nwant\n%v", len(l), l, plain)
	}
	inSpan := slices.DeleteFunc(slices.Clone(plain), func(m transcript.Message) bool { return !sp.Covers(m.Seq) })
	if got := l.In(sp); !slices.Equal(got, inSpan) {
		rt.Fatalf("%v in %v: want %v", got, sp, inSpan)
	}
}

func BenchmarkAppend(b *testing.B) {
	const long = 40_000
	s := transcript.New()
	for range long / 100 {
		c, err := s.Append(make([]transcript.Message, 100)...)
		check.NoError(b, err)
		s = s.With(c)
	}
	b.ReportAllocs()
	for b.Loop() {
		c, err := s.Append(transcript.Message{})
		check.NoError(b, err)
		s = s.With(c)
	}
}
