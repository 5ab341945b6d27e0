package transcript_test

import (
	"fmt"
	"slices"
	"testing"

	"cairn/testkit/check"
	"cairn/transcript"

	"pgregory.net/rapid"
)

// TestLog compares a Log with a plain slice through random changes. None changes a log that was there before.
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
				more := make([]transcript.Message, rapid.IntRange(0, 150).Draw(rt, "appended"))
				for i := range more {
					more[i].Seq = next
					next = next + 1
				}
				l = l.Append(more...)
				plain = append(plain, more...)
			case 2:
				l = l.Without(sp)
				out = append(out, within(plain, sp)...)
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
				l = older
				plain = slices.Clone(was)
				out = nil
			}
			older = l
			was = slices.Clone(plain)
		}
	})
}

func within(all []transcript.Message, sp transcript.Span) []transcript.Message {
	return slices.DeleteFunc(slices.Clone(all), func(m transcript.Message) bool { return !sp.Covers(m.Seq) })
}

func bySeq(a, b transcript.Message) int { return int(a.Seq - b.Seq) }

func holds(rt *rapid.T, l transcript.Log, plain []transcript.Message, sp transcript.Span) {
	check.EqualAll(rt, "a log", l, plain)
	check.EqualAll(rt, fmt.Sprintf("what is in %v", sp), l.In(sp), within(plain, sp))
}

func BenchmarkAppend(b *testing.B) {
	const long = 40_000
	s := transcript.New()
	for range long / 100 {
		s = s.With(check.Must(s.Append(make([]transcript.Message, 100)...))(b))
	}
	b.ReportAllocs()
	for b.Loop() {
		s = s.With(check.Must(s.Append(transcript.Message{}))(b))
	}
}
